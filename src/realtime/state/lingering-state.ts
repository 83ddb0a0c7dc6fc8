/** What is shown of a member without a connection: why it lingers, and until when. */
import type { Lingers, MemberState } from "../../engine/engine.ts";
import { isNewer } from "./newest.ts";

export interface LingeringState {
  /** Without `lingers`: its connection has ended, but messages of it are still to be delivered before it is shown to leave. */
  readonly state: MemberState;
  /** Its connection was on a node that is gone: every node that knew of it keeps it, and none announces it. */
  readonly isInherited: boolean;
  /** Steady ms until which it counts as lost after it was held. */
  readonly graceUntilMs: number;
}

/** Steady ms; one that waits for messages to be stored has no end yet. */
const endOf = ({ state: { lingers }, graceUntilMs }: LingeringState): number =>
  lingers ? Math.max(lingers.untilMs, graceUntilMs) : Number.POSITIVE_INFINITY;

/** A peer may have lost several connections. Every node must choose the same of two that end together. */
export function isLonger(one: LingeringState, than: LingeringState): boolean {
  const moreMs = endOf(one) - endOf(than);
  return moreMs > 0 || (moreMs === 0 && isNewer(one.state, than.state));
}

/** The same member from `untilMs` on with another reason. */
export const lingering = (
  { isArriving: _, isReturning: __, ...state }: MemberState,
  lingers: Lingers,
): MemberState => ({
  ...state,
  lingers,
});
