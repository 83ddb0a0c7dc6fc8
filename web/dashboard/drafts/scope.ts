/** What a key covers, decided by the same code as in the service. */
import { isChannelName, isReserved } from "../../../src/protocol/names.ts";
import { normalizeOrigin, originAllowed } from "../../../src/protocol/origin.ts";
import { type Glob, parseGlob } from "../../../src/protocol/patterns/glob.ts";
import { Scope } from "../../../src/protocol/patterns/scope.ts";

/** The entries of a field with one per line. */
export const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** What is wrong with the first pattern that is not valid. */
export function patternProblem(patterns: readonly string[]): string | undefined {
  for (const pattern of patterns) {
    const glob = parseGlob(pattern);
    if (typeof glob === "string") return `${pattern}: ${glob}.`;
  }
  return undefined;
}

export function originProblem(origins: readonly string[]): string | undefined {
  const wrong = origins.find((one) => normalizeOrigin(one) === undefined);
  return wrong && `${wrong}: an origin is https://example.com, https://*.example.com or *, without a path.`;
}

/** The same for origins that may frame meetings: `*` is not one of them. */
export function frameOriginProblem(origins: readonly string[]): string | undefined {
  const wrong = origins.find((one) => one === "*" || !/^https?:/.test(normalizeOrigin(one) ?? ""));
  return wrong && `${wrong}: an origin is https://example.com or https://*.example.com, without a path.`;
}

export interface Verdict {
  readonly isCovered: boolean;
  /** A whole sentence. */
  readonly text: string;
}

const no = (text: string): Verdict => ({ isCovered: false, text });
const yes = (text: string): Verdict => ({ isCovered: true, text });

/** The pattern that matches one channel: a backslash escapes, and a name has no asterisk. */
export const patternOf = (channel: string): string => channel.replaceAll("\\", "\\\\");

/** The patterns that match a channel's name. */
export const matching = (patterns: readonly string[], channel: string): string[] =>
  patterns.filter((pattern) => {
    const glob = parseGlob(pattern);
    return typeof glob !== "string" && new Scope([glob]).matches(channel);
  });

/** Why no key can cover this channel; undefined: it is a name like others. */
export function channelProblem(channel: string): string | undefined {
  if (isReserved(channel)) return "This name is reserved for the service: no pattern covers it, not even **.";
  if (channel.includes("*")) return "A channel has no * in its name; only patterns have.";
  return isChannelName(channel)
    ? undefined
    : "This is not a valid channel name: use 1 to 256 bytes without control characters.";
}

export function channelVerdict(patterns: readonly string[], channel: string): Verdict {
  const problem = channelProblem(channel);
  if (problem !== undefined) return no(problem);
  const [first] = matching(patterns, channel);
  if (first !== undefined) return yes(`Covered by ${first}`);
  return no(patterns.length === 0 ? "There are no patterns, so no channel is covered." : "No pattern covers it.");
}

export function originVerdict(origins: readonly string[], origin: string): Verdict {
  const allowed = origins.flatMap((one) => normalizeOrigin(one) ?? []);
  const by = allowed.find((one) => originAllowed(origin, [one]));
  if (by !== undefined) return yes(`Allowed by ${by}`);
  if (normalizeOrigin(origin) === undefined)
    return no("This is not an origin: use a scheme, a host and optionally a port, without a path.");
  return no(allowed.length === 0 ? "The list is empty, so no browser is allowed." : "No entry allows it.");
}

/** Patterns of which a pattern of `before` is not covered any more: what an edit takes away. */
export function narrowed(before: readonly string[], after: readonly string[]): string[] {
  const scope = new Scope(after.map(parseGlob).filter((one): one is Glob => typeof one !== "string"));
  return before.filter((pattern) => {
    const glob = parseGlob(pattern);
    return typeof glob !== "string" && scope.covers(glob) !== true;
  });
}

/** A channel that a pattern covers, for examples. */
export const exampleChannel = (patterns: readonly string[]): string => {
  const [first = "chat/42"] = patterns.filter((pattern) => !isReserved(pattern));
  if (/^\*+$/.test(first)) return "chat/42";
  return first.replace(/\\([*\\])|\*+/g, (_, literal: string | undefined) => literal ?? "42");
};
