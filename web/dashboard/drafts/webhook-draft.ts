/** A webhook as a form holds it: which events are chosen, channels where those need them, headers whose values are not shown again. */
import { isWebAddress } from "../../../src/protocol/web-address.ts";
import {
  asksFor,
  groupOf,
  isOfChannels,
  WEBHOOK_EVENTS,
  type WebhookEvent,
} from "../../../src/protocol/webhook-events.ts";
import type { Webhook } from "../api/webhook-types.ts";
import { linesOf, patternProblem } from "./scope.ts";

/** All types, also those of later versions. */
export const ALL = "*";

export interface HeaderDraft {
  /** Identifies the line while it is edited. */
  readonly id: number;
  readonly name: string;
  /** Empty for a header that is kept: its value stays. */
  readonly value: string;
  readonly isKept: boolean;
}

export interface WebhookDraft {
  readonly url: string;
  readonly description: string;
  /** As the call takes them. */
  readonly events: readonly string[];
  readonly patterns: string;
  readonly headers: readonly HeaderDraft[];
}

export const EMPTY: WebhookDraft = { url: "", description: "", events: [], patterns: "", headers: [] };

export const draftOf = ({ url, description, events, channelPatterns, headers }: Webhook): WebhookDraft => ({
  url,
  description: description ?? "",
  events,
  patterns: channelPatterns?.join("\n") ?? "",
  headers: Object.keys(headers).map((name, id) => ({ id, name, value: "", isKept: true })),
});

/** The types that these patterns ask for. */
export const chosen = (events: readonly string[]): readonly WebhookEvent[] =>
  WEBHOOK_EVENTS.filter((type) => asksFor(events, type));

/** Chooses types, or no longer: a group that is chosen whole becomes its pattern, so that it has types of later versions, too. */
export function withTypes(events: readonly string[], types: readonly WebhookEvent[], isOn: boolean): string[] {
  const wanted = WEBHOOK_EVENTS.filter((type) => (types.includes(type) ? isOn : asksFor(events, type)));
  const whole = new Set(
    WEBHOOK_EVENTS.map(groupOf).filter((group) =>
      WEBHOOK_EVENTS.every((type) => groupOf(type) !== group || wanted.includes(type)),
    ),
  );
  return [...new Set(wanted.map((type) => (whole.has(groupOf(type)) ? groupOf(type) : type)))];
}

/** Some of the chosen events are of channels: patterns must say of which. */
export const needsChannels = (events: readonly string[]): boolean => chosen(events).some(isOfChannels);

export const urlProblem = (url: string): string | undefined =>
  url === "" || isWebAddress(url) ? undefined : "An address begins with https:// or http:// and a host.";

export function channelsProblem({ events, patterns }: WebhookDraft): string | undefined {
  if (!needsChannels(events)) return undefined;
  const lines = linesOf(patterns);
  return lines.length === 0 ? "Enter at least one; ** stands for all channels." : patternProblem(lines);
}

const isComplete = ({ name, value, isKept }: HeaderDraft): boolean => name.trim() !== "" && (isKept || value !== "");

export const isValid = (draft: WebhookDraft): boolean =>
  isWebAddress(draft.url.trim()) &&
  draft.events.length > 0 &&
  channelsProblem(draft) === undefined &&
  draft.headers.every(isComplete);

const channelsOf = ({ events, patterns }: WebhookDraft): readonly string[] | null =>
  needsChannels(events) ? linesOf(patterns) : null;

/** What the call that creates takes. */
export const bodyOf = (draft: WebhookDraft) => ({
  url: draft.url.trim(),
  events: draft.events,
  channelPatterns: channelsOf(draft),
  description: draft.description.trim() || null,
  headers: Object.fromEntries(draft.headers.map(({ name, value }) => [name.trim(), value])),
});

/** Only what differs, as the call that edits takes it: null removes a header, and those that are not named stay. */
export function changesOf(before: WebhookDraft, after: WebhookDraft): Readonly<Record<string, unknown>> {
  const next = bodyOf(after);
  const left = new Set(after.headers.map(({ name }) => name.trim().toLowerCase()));
  const headers = {
    ...Object.fromEntries(
      before.headers.filter(({ name }) => !left.has(name.toLowerCase())).map(({ name }) => [name, null]),
    ),
    ...Object.fromEntries(
      after.headers.filter(({ value }) => value !== "").map(({ name, value }) => [name.trim(), value]),
    ),
  };
  const differs = (one: unknown, other: unknown): boolean => JSON.stringify(one) !== JSON.stringify(other);
  return {
    ...(before.url !== next.url && { url: next.url }),
    ...(differs(before.events, next.events) && { events: next.events }),
    ...(differs(channelsOf(before), next.channelPatterns) && { channelPatterns: next.channelPatterns }),
    ...(before.description !== (next.description ?? "") && { description: next.description }),
    ...(Object.keys(headers).length > 0 && { headers }),
  };
}
