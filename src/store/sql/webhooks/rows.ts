/** Converts rows of webhooks to the rows of the contract. */
import type {
  DisabledWhy,
  WebhookAttemptRow,
  WebhookCursorRow,
  WebhookEventRow,
  WebhookEventType,
  WebhookFact,
  WebhookKind,
  WebhookMessageRow,
  WebhookRow,
  WebhookSecretRow,
  WebhookState,
} from "../../contract/webhooks.ts";
import { appId, type DbRow, number, numberOrNull, text, textOrNull } from "../../engines/rows.ts";

const texts = (value: DbRow[string] | undefined): string[] => JSON.parse(text(value)) as string[];

export const toWebhook = (row: DbRow): WebhookRow => ({
  id: text(row.id),
  app: appId(row.app),
  kind: text(row.kind) as WebhookKind,
  url: text(row.url),
  events: texts(row.events),
  channelPatterns: row.channel_patterns === null ? null : texts(row.channel_patterns),
  description: textOrNull(row.description),
  headerNames: texts(row.header_names),
  headersSealed: textOrNull(row.headers_sealed),
  created: number(row.created),
  disabled: numberOrNull(row.disabled),
  disabledWhy: textOrNull(row.disabled_why) as DisabledWhy | null,
});

export const toWebhookSecret = (row: DbRow): WebhookSecretRow => ({
  webhook: text(row.webhook),
  seq: number(row.seq),
  sealed: text(row.sealed),
  created: number(row.created),
  ends: numberOrNull(row.ends),
});

export const toEvent = (row: DbRow): WebhookEventRow => ({
  id: text(row.id),
  app: appId(row.app),
  subject: text(row.subject),
  happened: number(row.happened),
  fact: JSON.parse(text(row.fact)) as WebhookFact,
  webhook: textOrNull(row.webhook),
});

export const toMessage = (row: DbRow): WebhookMessageRow => ({
  webhook: text(row.webhook),
  seq: number(row.seq),
  app: appId(row.app),
  type: text(row.type) as WebhookEventType,
  subject: text(row.subject),
  happened: number(row.happened),
  data: text(row.data),
  state: text(row.state) as WebhookMessageRow["state"],
  attempts: number(row.attempts),
  due: number(row.due),
});

export const toState = (row: DbRow): WebhookState => ({
  webhook: text(row.webhook),
  app: appId(row.app),
  lastSeq: number(row.last_seq),
  backlog: number(row.backlog),
  dropped: number(row.dropped),
  delivered: number(row.delivered),
  failed: number(row.failed),
  attemptedAt: numberOrNull(row.attempted_at),
  succeededAt: numberOrNull(row.succeeded_at),
  failingSince: numberOrNull(row.failing_since),
  lastStatus: numberOrNull(row.last_status),
  lastError: textOrNull(row.last_error),
  slowUntil: numberOrNull(row.slow_until),
});

export const toAttempt = (row: DbRow): WebhookAttemptRow => ({
  webhook: text(row.webhook),
  nr: number(row.nr),
  seq: number(row.seq),
  type: text(row.type) as WebhookEventType,
  attempt: number(row.attempt),
  at: number(row.at),
  tookMs: number(row.took_ms),
  isSuccess: number(row.is_success) === 1,
  status: numberOrNull(row.status),
  error: textOrNull(row.error),
  response: textOrNull(row.response),
  data: textOrNull(row.data),
});

export const toCursor = (row: DbRow): WebhookCursorRow => ({
  webhook: text(row.webhook),
  app: appId(row.app),
  channel: text(row.channel),
  epoch: text(row.epoch),
  position: number(row.position),
  used: number(row.used),
});
