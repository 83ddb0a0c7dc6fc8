/** What a change of an application's channel rules may cost, and which rules have no effect. */
import type { ChannelRule } from "./channel-rules.ts";
import { parseGlob } from "./glob.ts";
import { Scope } from "./scope.ts";

type Rule = Pick<ChannelRule, "pattern" | "history" | "stream">;

/**
 * Whether some channel could lose messages, also one that is not in use. Nothing is lost while the rules that were there stay in
 * front, in their order, and none of them keeps less. Streams keep their own limits: they are lost with their rule only.
 */
export const mayLose = (before: readonly Rule[], after: readonly Rule[]): boolean =>
  before.some(({ history, stream }) => history ?? stream) &&
  !before.every((old, at) => {
    const now = after[at];
    if (now?.pattern !== old.pattern) return false;
    if (old.stream && !now.stream) return false;
    const [had, has] = [old.history, now.history];
    return !had || (has !== undefined && has.messages >= had.messages && has.seconds >= had.seconds);
  });

/** The place of the first rule that covers all channels of a later one, which therefore never applies; -1: there is none. */
export function shadowOf(rules: readonly Pick<ChannelRule, "pattern">[], at: number): number {
  const glob = parseGlob(rules[at]?.pattern ?? "");
  if (typeof glob === "string") return -1;
  return rules.slice(0, at).findIndex(({ pattern }) => {
    const earlier = parseGlob(pattern);
    return typeof earlier !== "string" && new Scope([earlier]).covers(glob) === true;
  });
}
