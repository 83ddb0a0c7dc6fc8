/** For tests: endpoints, messages and what becomes of them. */
import { anAppId } from "../../base/testing/ids.ts";
import type { Store } from "../contract/store.ts";
import type {
  NewWebhookEvent,
  NewWebhookMessage,
  WebhookEventRow,
  WebhookLease,
  WebhookOutcome,
  WebhookRow,
} from "../contract/webhooks.ts";

const A = anAppId("a");

export const webhookRow = (id: string, fields: Partial<WebhookRow> = {}): WebhookRow => ({
  id,
  app: A,
  kind: "control",
  url: "https://example.com/hook",
  events: ["*"],
  channelPatterns: null,
  description: null,
  headerNames: [],
  headersSealed: null,
  created: 1_800_000_000_123,
  disabled: null,
  disabledWhy: null,
  ...fields,
});

export const aMessage = (subject: string, fields: Partial<NewWebhookMessage> = {}): NewWebhookMessage => ({
  webhook: "w1",
  app: A,
  type: "channel.occupied",
  subject,
  happened: 1000,
  data: '{"text":"ü\'\\"\\\\ \\u0000"}',
  isLossy: false,
  ...fields,
});

/** Its first attempt has succeeded. */
export const anOutcome = (seq: number, subject: string, fields: Partial<WebhookOutcome> = {}): WebhookOutcome => ({
  webhook: "w1",
  app: A,
  seq,
  type: "channel.occupied",
  subject,
  attempt: 1,
  at: 2000,
  tookMs: 12,
  isSuccess: true,
  status: 204,
  error: null,
  response: null,
  next: null,
  isBlocking: false,
  slowUntil: null,
  ...fields,
});

export const aFailure = (seq: number, subject: string, fields: Partial<WebhookOutcome> = {}): WebhookOutcome =>
  anOutcome(seq, subject, {
    isSuccess: false,
    status: 500,
    error: "it answered 500",
    response: "no",
    next: 7000,
    isBlocking: true,
    ...fields,
  });

export const quotaEvent = (subject: string, fields: Partial<NewWebhookEvent> = {}): NewWebhookEvent => ({
  app: A,
  subject,
  happened: 1000,
  fact: { type: "quota.reached", kind: "messages", limit: 5, period: 7 },
  webhook: null,
  ...fields,
});

/** Endpoints of the application `a`. */
export async function withWebhooks(store: Store, ...ids: readonly string[]): Promise<void> {
  await store.change(async (change) => {
    for (const id of ids) await change.putWebhook(webhookRow(id));
  });
}

export async function leaseOf(store: Store, holder = "holder"): Promise<WebhookLease> {
  const lease = await store.webhooks.takeLease(holder);
  if (!lease) throw new Error("another one has it");
  return lease;
}

/** Types of the events that wait, in their order. */
export const typesOf = (events: readonly WebhookEventRow[]): string[] => events.map(({ fact }) => fact.type);
