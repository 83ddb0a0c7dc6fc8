/** A channel rule as a form holds it, and as people read it. */
import {
  CHANNEL_RULES_MAX,
  GRACE_SECONDS_MAX,
  HISTORY_MESSAGES_MAX,
  HISTORY_SECONDS_MAX,
} from "../../../src/protocol/limits.ts";
import type { ChannelRule, Retention } from "../../../src/protocol/patterns/channel-rules.ts";
import { whole } from "../text/format.ts";
import { patternProblem } from "./scope.ts";

export { CHANNEL_RULES_MAX, type ChannelRule, GRACE_SECONDS_MAX, HISTORY_MESSAGES_MAX, type Retention };

/** Seconds of each unit, as the value of a select. */
export const UNITS = [
  ["86400", "days"],
  ["3600", "hours"],
  ["60", "minutes"],
  ["1", "seconds"],
] as const;
export type Unit = (typeof UNITS)[number][0];

/** The largest unit that divides it: nothing is rounded. */
const unitOf = (seconds: number) => UNITS.find(([size]) => seconds % Number(size) === 0) ?? UNITS[3];

export const counted = (count: number, what: string): string =>
  `${whole(count)} ${count === 1 ? what.slice(0, -1) : what}`;

/** 604800 → "7 days". */
export function span(seconds: number): string {
  const [size, name] = unitOf(seconds);
  return counted(seconds / Number(size), name);
}

export const retentionText = ({ messages, seconds }: Retention): string =>
  `${counted(messages, "messages")}, ${span(seconds)}`;

export interface RuleDraft {
  readonly pattern: string;
  readonly isKept: boolean;
  readonly messages: string;
  readonly length: string;
  readonly unit: Unit;
  readonly grace: string;
}

const USUAL: Retention = { messages: 500, seconds: 604_800 };

/** Without a rule: what a new one begins with. */
export function draftOf(
  { pattern, history, graceSec }: ChannelRule = { pattern: "", history: USUAL, graceSec: 0 },
): RuleDraft {
  const { messages, seconds } = history ?? USUAL;
  const [unit] = unitOf(seconds);
  return {
    pattern,
    isKept: history !== undefined,
    messages: String(messages),
    length: String(seconds / Number(unit)),
    unit,
    grace: String(graceSec),
  };
}

export const ruleOf = ({ pattern, isKept, messages, length, unit, grace }: RuleDraft): ChannelRule => ({
  pattern: pattern.trim(),
  ...(isKept && { history: { messages: Number(messages), seconds: Number(length) * Number(unit) } }),
  graceSec: Number(grace),
});

/** What is wrong with each field; a pattern that is not there yet is no problem to show, but `isComplete` says no. */
export function problemsOf(draft: RuleDraft) {
  const { pattern, history, graceSec } = ruleOf(draft);
  const problems = {
    pattern: pattern === "" ? undefined : patternProblem([pattern]),
    messages:
      history && outside(draft.messages, history.messages, 1, HISTORY_MESSAGES_MAX, whole(HISTORY_MESSAGES_MAX)),
    length: history && outside(draft.length, history.seconds, 1, HISTORY_SECONDS_MAX, span(HISTORY_SECONDS_MAX)),
    grace: outside(draft.grace, graceSec, 0, GRACE_SECONDS_MAX, `${GRACE_SECONDS_MAX}`),
  };
  return { ...problems, isComplete: pattern !== "" && Object.values(problems).every((one) => one === undefined) };
}

const outside = (typed: string, value: number, min: number, max: number, most: string): string | undefined =>
  typed.trim() !== "" && Number.isInteger(value) && value >= min && value <= max
    ? undefined
    : `A whole number, at least ${min} and at most ${most}.`;
