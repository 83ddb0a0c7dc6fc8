/** What a change of an application's channel rules does, before it is saved. */
import { ChannelRules } from "../../../src/protocol/patterns/channel-rules.ts";
import type { ChannelRule } from "./rule-draft.ts";

export { mayLose, shadowOf } from "../../../src/protocol/patterns/rule-changes.ts";

type Rules = readonly ChannelRule[];

/** Which rule applies to a channel: its place in the list, from 0. */
export function appliedTo(rules: Rules, channel: string): number {
  const rule = new ChannelRules(rules).ruleFor(channel);
  return rule ? rules.indexOf(rule) : -1;
}

export interface Effect {
  /** Channels whose history ends. */
  readonly lost: number;
  /** Channels that keep fewer messages, or for a shorter time. */
  readonly less: number;
  /** Channels that begin to keep history. */
  readonly begun: number;
  /** Channels that are no streams any more. */
  readonly ended: number;
}

/** What a change does to these channels. */
export function effectOn(channels: readonly string[], saved: Rules, changed: Rules): Effect {
  const [old, now] = [new ChannelRules(saved), new ChannelRules(changed)];
  const effect = { lost: 0, less: 0, begun: 0, ended: 0 };
  for (const channel of channels) {
    const [before, after] = [old.ruleFor(channel), now.ruleFor(channel)];
    const [had, has] = [before?.history, after?.history];
    if (before?.stream && !after?.stream) effect.ended++;
    if (had && !has) effect.lost++;
    else if (!had && has) effect.begun++;
    else if (had && has && (has.messages < had.messages || has.seconds < had.seconds)) effect.less++;
  }
  return effect;
}

/** The place of the rule that a refusal names, such as `channelRules.2.pattern: …`; -1 if it names none. */
export const placeOf = (message: string): number => Number(/channelRules\D{0,2}(\d+)/.exec(message)?.[1] ?? -1);
