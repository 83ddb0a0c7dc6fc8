/** The stay of a member without a connection: why it is still shown, and until when. */
import type { Lingers, MemberState } from "../../engine/engine.ts";

export interface Stay {
  /** Without `lingers`: its connection has ended, but messages of it are still to be delivered before it is shown to leave. */
  readonly state: MemberState;
  /** Its connection was on a node that is gone: every node that knew of it keeps it, and none announces it. */
  readonly isInherited: boolean;
  /** Unix ms until which it counts as lost after it was held. */
  readonly graceUntilMs: number;
}

export const isLive = (state: MemberState): boolean => state.lingers === undefined;

/** The same member from `untilMs` on with another reason. */
export const lingering = (
  { isArriving: _, isReturning: __, ...state }: MemberState,
  lingers: Lingers,
): MemberState => ({
  ...state,
  lingers,
});
