/** What may be asked for: types of events, and patterns of them. */
import { nearest } from "../../protocol/did-you-mean.ts";
import { groupOf, WEBHOOK_EVENTS } from "../../protocol/webhook-events.ts";
import type { WebhookEventType } from "../../store/contract/webhooks.ts";

type AskedFor = Exclude<WebhookEventType, "webhook.test">;

/** Every type of the store's contract is in it: one that is missing is a type error. */
export const EVENT_TYPES: readonly AskedFor[] =
  WEBHOOK_EVENTS satisfies AskedFor extends (typeof WEBHOOK_EVENTS)[number] ? readonly AskedFor[] : never;

/** Types, groups of types, and `*`. */
const EVENT_PATTERNS: readonly string[] = ["*", ...new Set(EVENT_TYPES.map(groupOf)), ...EVENT_TYPES];

/** Why this is no pattern of events; undefined: it is one. */
export function whyNoPattern(text: string): string | undefined {
  if (EVENT_PATTERNS.includes(text)) return undefined;
  const near = nearest(text, EVENT_PATTERNS);
  return `there is no such event${near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`} There are: ${EVENT_PATTERNS.join(", ")}.`;
}
