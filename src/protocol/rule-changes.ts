/** What a change of an application's channel rules may cost. */
import type { ChannelRule } from "./channel-rules.ts";

type Rule = Pick<ChannelRule, "pattern" | "history">;

/**
 * Whether some channel could lose messages, also one that is not in use. Nothing is lost while the rules that were there stay in
 * front, in their order, and none of them keeps less.
 */
export const mayLose = (before: readonly Rule[], after: readonly Rule[]): boolean =>
  before.some(({ history }) => history) &&
  !before.every((old, at) => {
    const now = after[at];
    if (now?.pattern !== old.pattern) return false;
    const [had, has] = [old.history, now.history];
    return !had || (has !== undefined && has.messages >= had.messages && has.seconds >= had.seconds);
  });
