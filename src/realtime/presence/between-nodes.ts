/**
 * Until when members linger, between nodes. Within a node these are times of its steady clock. Nodes tell each other how much is
 * left, because their clocks differ; the Unix time beside it is for nodes of a version that knows nothing else.
 */
import type { Clock } from "../../base/clock.ts";
import type { Lingers, MemberState } from "../../engine/engine.ts";
import { GRACE_SECONDS_MAX } from "../../protocol/limits.ts";

type Clocks = Pick<Clock, "wallMs" | "steadyMs">;

/** As other nodes get it. */
export function forOthers(state: MemberState, clock: Clocks): MemberState {
  const { lingers } = state;
  if (!lingers) return state;
  const leftMs = Math.max(0, Math.ceil(lingers.untilMs - clock.steadyMs()));
  return { ...state, lingers: { ...lingers, untilMs: clock.wallMs() + leftMs, leftMs } };
}

/** By the clock of this node. What another node says is not trusted to end soon. */
export function fromOther({ leftMs, ...lingers }: Lingers, clock: Clocks): Lingers {
  const left = Math.min(leftMs ?? lingers.untilMs - clock.wallMs(), GRACE_SECONDS_MAX * 1000);
  return { ...lingers, untilMs: clock.steadyMs() + left };
}
