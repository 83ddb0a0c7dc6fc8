/** The log of a webhook, and what is sent on request: shapes and rules that the application API and the control plane share. */
import { z } from "zod";
import type { AppId } from "../../base/ids.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import { Problem } from "../../protocol/codes.ts";
import type { AttemptSearch, WebhookAttemptRow, WebhookState } from "../../store/contract/webhooks.ts";
import { EVENT_TYPES } from "../../webhooks/events/types.ts";
import { idOf } from "../../webhooks/signing/request.ts";
import { toSeconds, unixSeconds, whole, wholeNumber } from "./schemas.ts";
import type { Sight } from "./webhook-schemas.ts";

/** What became of a test. */
export interface TestOutcome {
  /** null: there was no answer. */
  readonly status: number | null;
  readonly ms: number;
  readonly response: string | null;
  readonly error: string | null;
}

/** What webhooks have done, and what is sent on request. */
export interface WebhookDeliveries {
  states(ids: readonly string[]): Promise<readonly WebhookState[]>;
  attempts(id: string, search: AttemptSearch): Promise<readonly WebhookAttemptRow[]>;
  attempt(id: string, nr: number): Promise<WebhookAttemptRow | undefined>;
  test(id: string): Promise<TestOutcome>;
  /** false: the event is not kept any more. */
  resend(id: string, seq: number): Promise<boolean>;
  /** How many events are sent again. */
  replay(id: string, sinceMs: number): Promise<number>;
}

const PAGE_MAX = 100;
const PAGE_DEFAULT = 50;
/** The last second of the year 9999: a larger one was probably meant as milliseconds. */
const UNIX_SECONDS_MAX = 253_402_300_799;
const ATTEMPT_NR = /^[1-9]\d{0,14}$/;

const cursor = (describedAs: string) =>
  z
    .string()
    .regex(ATTEMPT_NR, `is not the ${describedAs} of an earlier page`)
    .optional()
    .describe(`${describedAs} of the page before`);

const filters = lazily(() =>
  z.object({
    status: z.enum(["succeeded", "failed"]).optional(),
    event: z.enum(EVENT_TYPES).optional().describe("A type of events"),
    limit: wholeNumber(1, PAGE_MAX)
      .optional()
      .transform((value) => value ?? PAGE_DEFAULT)
      .describe(`Attempts per page; ${PAGE_DEFAULT} if it is absent`),
  }),
);

export const deliveryQuery = lazily(() => filters().extend({ after: cursor("next") }));
export const applicationDeliveryQuery = lazily(() => filters().extend({ endId: cursor("currEndId") }));

export const delivery = lazily(() =>
  z
    .object({
      _id: z.string().describe("Of this attempt"),
      webhookId: z.string().describe("The webhook-id of the event: the same over all its attempts"),
      seq: z.int().describe("data.seq of the event"),
      type: z.string(),
      attempt: z.int().describe("1 is the first attempt to send this event"),
      at: unixSeconds(),
      tookMs: z.int(),
      succeeded: z.boolean(),
      status: z.int().nullable().describe("Status of the response; null: there was none"),
      error: z.string().nullable(),
      response: z
        .string()
        .nullable()
        .optional()
        .describe("The beginning of the response; hidden from operators with the role read"),
      data: z
        .unknown()
        .optional()
        .describe(
          "What was sent as data; only if operators may see the application's messages, and not for the role read",
        ),
    })
    .meta({ id: "WebhookDelivery" }),
);

export const replayRequest = lazily(() =>
  z.strictObject({
    since: whole(0, UNIX_SECONDS_MAX).describe(
      "Unix seconds: events that have happened then or later, and have not succeeded",
    ),
  }),
);
export const replayed = lazily(() =>
  z.object({ events: z.int().describe("How many are sent again") }).meta({ id: "ReplayedWebhook" }),
);
export const resent = lazily(() => z.object({ webhookId: z.string() }).meta({ id: "ResentWebhookEvent" }));

export const tested = lazily(() =>
  z
    .object({
      succeeded: z.boolean(),
      status: z.int().nullable().describe("Status of the response; null: there was none"),
      ms: z.int(),
      response: z.string().nullable().describe("The beginning of the response"),
      error: z.string().nullable().describe("Why it did not succeed"),
    })
    .meta({ id: "TestedWebhook" }),
);

const shownDelivery = (webhook: string, row: WebhookAttemptRow, sight: Sight): Infer<typeof delivery> => ({
  _id: String(row.nr),
  webhookId: idOf({ webhook, seq: row.seq }),
  seq: row.seq,
  type: row.type,
  attempt: row.attempt,
  at: toSeconds(row.at),
  tookMs: row.tookMs,
  succeeded: row.isSuccess,
  status: row.status,
  error: row.error,
  ...(sight.secrets && { response: row.response }),
  ...(sight.secrets && sight.payloads && row.data !== null && { data: JSON.parse(row.data) as unknown }),
});

export interface DeliveryPage {
  readonly data: Infer<typeof delivery>[];
  /** null: this is the last page. */
  readonly next: string | null;
}

/** A page of the log, newest first. */
export async function deliveryPage(
  deliveries: WebhookDeliveries,
  webhook: string,
  { status, event, limit, after }: Infer<typeof deliveryQuery>,
  sight: Sight,
): Promise<DeliveryPage> {
  const rows = await deliveries.attempts(webhook, {
    isSuccess: status === undefined ? undefined : status === "succeeded",
    type: event,
    limit: limit + 1,
    after: after === undefined ? undefined : Number(after),
  });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    data: page.map((row) => shownDelivery(webhook, row, sight)),
    next: rows.length > limit && last ? String(last.nr) : null,
  };
}

const GONE = "This delivery is not, or no longer, in the log. GET …/deliveries lists the available ones.";

/** Sends the event of an attempt again. */
export async function resend(
  deliveries: WebhookDeliveries,
  webhook: string,
  nr: string,
): Promise<{ webhookId: string }> {
  const found = ATTEMPT_NR.test(nr) ? await deliveries.attempt(webhook, Number(nr)) : undefined;
  if (!found) throw new Problem("not_found", GONE);
  if (!(await deliveries.resend(webhook, found.seq))) throw new Problem("not_found", GONE);
  return { webhookId: idOf({ webhook, seq: found.seq }) };
}

/** Tests of a node: one at a time for each endpoint, because each may take as long as a request may. */
export class WebhookTests {
  /** Endpoints that are being tested, and whose they are. Bound: RUNNING_MAX. */
  private readonly running = new Map<string, AppId>();

  constructor(private readonly deliveries: Pick<WebhookDeliveries, "test">) {}

  async run(id: string, app: AppId): Promise<Infer<typeof tested>> {
    const ofApp = this.running.values().reduce((count, one) => count + Number(one === app), 0);
    if (this.running.has(id) || ofApp >= RUNNING_PER_APP_MAX || this.running.size >= RUNNING_MAX)
      throw new Problem("rate_limited", "A test of this webhook, or too many other tests, are still running.", 1);
    this.running.set(id, app);
    try {
      const { status, ms, response, error } = await this.deliveries.test(id);
      return { succeeded: status !== null && status >= 200 && status < 300, status, ms, response, error };
    } finally {
      this.running.delete(id);
    }
  }
}

/** Tests that a node runs at the same time. */
const RUNNING_MAX = 32;
/** One application may run this many: the others have places then. */
const RUNNING_PER_APP_MAX = 5;
