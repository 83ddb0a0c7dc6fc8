/** What few members need. Apart from Member, where each field takes 8 bytes of every member whether it is used or not. */
import type { MemberState } from "../../engine/engine.ts";
import type { LingeringState } from "./lingering-state.ts";
import type { Subscription } from "./subscription.ts";
import type { UpToDate } from "./up-to-date.ts";

/** A connection that went with its node, while the member had another one. */
export interface GoneConnection {
  readonly state: MemberState;
  /** Steady ms. */
  readonly atMs: number;
}

/** Since when it has no connection; its return is still to be shown (presence/returns.ts). */
export interface Loss {
  /** As a time of connections; 0 if the channel was not shown the member on this node before, so that no one has to be shown its return. */
  readonly sinceMs: number;
  /** Those that were shown its return before the others, with a direct message. Bound: the connections of RECEIVERS_MAX peers. */
  shownTo: Set<Subscription> | undefined;
}

export class MemberExtras {
  lingeringState: LingeringState | undefined;
  loss: Loss | undefined;
  upToDate: UpToDate | undefined;
  isStateAhead = false;
  lastGone: GoneConnection | undefined;

  constructor(public shownState: string) {}
}
