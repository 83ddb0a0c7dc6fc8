/** A channel rule as a form holds it, and as people read it. */
import {
  CHANNEL_RULES_MAX,
  GRACE_SECONDS_MAX,
  HISTORY_MESSAGES_MAX,
  HISTORY_SECONDS_MAX,
  STREAM_MAX_BYTES,
  STREAM_MIN_BYTES,
  STREAM_SECONDS_MAX,
} from "../../../src/protocol/limits.ts";
import type { ChannelRule, Retention, StreamRule } from "../../../src/protocol/patterns/channel-rules.ts";
import { bytes, whole } from "../text/format.ts";
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

export const streamText = ({ bytes: most, seconds }: StreamRule): string =>
  `streams of up to ${bytes(most)}, deleted when unused for ${span(seconds)}`;

/** What becomes of the messages of its channels. */
export const KINDS = [
  ["none", "Not stored"],
  ["history", "History"],
  ["stream", "Streams"],
] as const;
export type RuleKind = (typeof KINDS)[number][0];

export interface RuleDraft {
  readonly pattern: string;
  readonly kind: RuleKind;
  readonly messages: string;
  /** MiB of one stream. */
  readonly size: string;
  /** How long messages are kept, or a stream may be unused. */
  readonly length: string;
  readonly unit: Unit;
  readonly grace: string;
}

const USUAL: Retention = { messages: 500, seconds: 604_800 };
const USUAL_MIB = 16;
export const MIB = 1024 * 1024;

/** Without a rule: what a new one begins with. */
export function draftOf(
  { pattern, history, stream, graceSec }: ChannelRule = { pattern: "", history: USUAL, graceSec: 0 },
): RuleDraft {
  const { seconds } = history ?? stream ?? USUAL;
  const [unit] = unitOf(seconds);
  return {
    pattern,
    kind: history ? "history" : stream ? "stream" : "none",
    messages: String((history ?? USUAL).messages),
    size: String(stream ? stream.bytes / MIB : USUAL_MIB),
    length: String(seconds / Number(unit)),
    unit,
    grace: String(graceSec),
  };
}

export function ruleOf({ pattern, kind, messages, size, length, unit, grace }: RuleDraft): ChannelRule {
  const seconds = Number(length) * Number(unit);
  return {
    pattern: pattern.trim(),
    ...(kind === "history" && { history: { messages: Number(messages), seconds } }),
    ...(kind === "stream" && { stream: { seconds, bytes: Math.round(Number(size) * MIB) } }),
    graceSec: Number(grace),
  };
}

/** What is wrong with each field; a pattern that is not there yet is no problem to show, but `isComplete` says no. */
export function problemsOf(draft: RuleDraft) {
  const { pattern, history, stream, graceSec } = ruleOf(draft);
  const isSized = stream && stream.bytes >= STREAM_MIN_BYTES && stream.bytes <= STREAM_MAX_BYTES;
  const problems = {
    pattern: pattern === "" ? undefined : patternProblem([pattern]),
    messages:
      history && outside(draft.messages, history.messages, 1, HISTORY_MESSAGES_MAX, whole(HISTORY_MESSAGES_MAX)),
    size:
      stream && !isSized ? `At least ${bytes(STREAM_MIN_BYTES)} and at most ${bytes(STREAM_MAX_BYTES)}.` : undefined,
    length:
      (history && outside(draft.length, history.seconds, 1, HISTORY_SECONDS_MAX, span(HISTORY_SECONDS_MAX))) ??
      (stream && outside(draft.length, stream.seconds, 1, STREAM_SECONDS_MAX, span(STREAM_SECONDS_MAX))),
    grace: outside(draft.grace, graceSec, 0, GRACE_SECONDS_MAX, `${GRACE_SECONDS_MAX}`),
  };
  return { ...problems, isComplete: pattern !== "" && Object.values(problems).every((one) => one === undefined) };
}

const outside = (typed: string, value: number, min: number, max: number, most: string): string | undefined =>
  typed.trim() !== "" && Number.isInteger(value) && value >= min && value <= max
    ? undefined
    : `A whole number, at least ${min} and at most ${most}.`;
