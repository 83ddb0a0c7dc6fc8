/** `parley webhooks test`, `deliveries`, `resend` and `replay`: what a webhook was sent, and what it is to be sent. */
import { controlPlane } from "../../calls/client.ts";
import type { CommandResult } from "../../line/command.ts";
import { DELIVERIES_LISTED_DEFAULT } from "../../line/defaults.ts";
import { UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { fields, table, time } from "../../terminal/output.ts";
import { webhookPath } from "./webhooks.ts";

interface Delivery {
  readonly _id: string;
  readonly webhookId: string;
  readonly seq: number;
  readonly type: string;
  readonly attempt: number;
  readonly at: number;
  readonly tookMs: number;
  readonly succeeded: boolean;
  readonly status: number | null;
  readonly error: string | null;
}

interface Page {
  readonly data: readonly Delivery[];
  readonly next: string | null;
}

interface Tested {
  readonly succeeded: boolean;
  readonly status: number | null;
  readonly ms: number;
  readonly response: string | null;
  readonly error: string | null;
}

const PAGE_MAX = 100;

export async function test(input: Input): Promise<CommandResult> {
  const tested = await controlPlane(input).post<Tested>(`${webhookPath(input)}/test`);
  const text = fields({
    succeeded: tested.succeeded ? "yes" : "no",
    status: tested.status ?? undefined,
    milliseconds: tested.ms,
    error: tested.error ?? undefined,
    answer: tested.response || undefined,
  });
  return { value: tested, text, refused: !tested.succeeded };
}

export async function deliveries(input: Input): Promise<CommandResult> {
  const wanted = input.whole("limit") ?? DELIVERIES_LISTED_DEFAULT;
  if (wanted < 1) throw new UsageError("--limit must be at least 1");
  const query = new URLSearchParams();
  const status = input.oneOf("status", ["succeeded", "failed"]);
  const event = input.text("event");
  if (status !== undefined) query.set("status", status);
  if (event !== undefined) query.set("event", event);
  const server = controlPlane(input);
  const data: Delivery[] = [];
  for (let next: string | null = ""; next !== null && data.length < wanted; ) {
    query.set("limit", String(Math.min(PAGE_MAX, wanted - data.length)));
    if (next !== "") query.set("after", next);
    const page: Page = await server.get<Page>(`${webhookPath(input)}/deliveries?${query}`);
    data.push(...page.data);
    next = page.next;
  }
  if (data.length === 0) return { value: data, text: "", notes: ["No deliveries match."] };
  const rows = data.map((one) => [
    one._id,
    time(one.at),
    one.type,
    one.seq,
    one.attempt,
    one.succeeded ? "ok" : "failed",
    one.status,
    `${one.tookMs} ms`,
    one.error,
  ]);
  const head = ["DELIVERY", "AT", "EVENT", "SEQ", "ATTEMPT", "RESULT", "STATUS", "TOOK", { prose: "ERROR" }];
  return { value: data, text: table(head, rows) };
}

export async function resend(input: Input): Promise<CommandResult> {
  const delivery = input.operand(1);
  if (!/^\d+$/.test(delivery)) throw new UsageError(`${JSON.stringify(delivery)} is not the number of a delivery`);
  const sent = await controlPlane(input).post<{ webhookId: string }>(
    `${webhookPath(input)}/deliveries/${delivery}/resend`,
  );
  return { value: sent, text: fields({ "is sent again": sent.webhookId }) };
}

export async function replay(input: Input): Promise<CommandResult> {
  const since = input.timeOrNone("since", "ago");
  if (typeof since !== "number") throw new UsageError("--since must be a time");
  const replayed = await controlPlane(input).post<{ events: number }>(`${webhookPath(input)}/replay`, { since });
  return { value: replayed, text: fields({ "events sent again": replayed.events }) };
}
