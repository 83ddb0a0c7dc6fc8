/** What few members need. Apart from Member, where each field takes 8 bytes of every member whether it is used or not. */
import type { MemberState } from "../engine/engine.ts";
import type { Loss } from "./lingering/returns.ts";
import type { Stay } from "./lingering/stay.ts";
import type { UpToDate } from "./up-to-date.ts";

/** A connection that went with its node, while the member had another one. */
export interface GoneConnection {
  readonly state: MemberState;
  /** Unix ms. */
  readonly atMs: number;
}

export class MemberExtras {
  stay: Stay | undefined;
  loss: Loss | undefined;
  upToDate: UpToDate | undefined;
  isStateAhead = false;
  lastGone: GoneConnection | undefined;

  constructor(public shownState: string) {}
}
