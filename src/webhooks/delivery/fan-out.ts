/** Gives events to the endpoints that ask for them: each gets a message of its own. */
import type { AppId } from "../../base/ids.ts";
import { asksFor } from "../../protocol/webhook-events.ts";
import type { RoomRow, RoomStore } from "../../store/contract/rooms.ts";
import {
  type Lost,
  type NewWebhookMessage,
  ROOM_WEBHOOKS,
  WEBHOOK_ROWS_AT_ONCE,
  type WebhookEventRow,
  type WebhookFact,
  type WebhookLease,
  type WebhookStore,
} from "../../store/contract/webhooks.ts";
import type { Log } from "../../telemetry/log.ts";
import { type AppName, channelOf, dataOf, isLossy, type Records } from "../events/data.ts";
import { BACKLOG_MAX, GIVEN_AT_ONCE_MAX_BYTES } from "../limits.ts";
import type { Recipient } from "../signing/recipient.ts";
import type { WebhookMetrics } from "./metrics.ts";

interface FanOutParts {
  readonly store: Pick<WebhookStore, "events" | "enter">;
  readonly rooms: Pick<RoomStore, "roomById" | "archivedRoom">;
  readonly recipients: (app: AppId) => readonly Recipient[];
  /** The endpoint of a URL in a field of a room. undefined: the application is deleted. */
  readonly ofRoomUrl: (app: AppId, url: string) => Promise<Recipient | undefined>;
  /** undefined: the application is deleted. */
  readonly app: (id: AppId) => AppName | undefined;
  readonly records: Records;
  readonly nowMs: () => number;
  readonly metrics: WebhookMetrics;
  readonly log: Pick<Log, "warn" | "error">;
}

export class FanOut {
  constructor(private readonly parts: FanOutParts) {}

  /** Gives the oldest events to endpoints. "more": there may be further ones. */
  async run(lease: WebhookLease): Promise<Lost | "more" | "done"> {
    const events = await this.parts.store.events(WEBHOOK_ROWS_AT_ONCE, GIVEN_AT_ONCE_MAX_BYTES);
    if (events.length === 0) return "done";
    const messages: NewWebhookMessage[] = [];
    const done: string[] = [];
    let chars = 0;
    for (const event of events) {
      if (messages.length >= WEBHOOK_ROWS_AT_ONCE || chars >= GIVEN_AT_ONCE_MAX_BYTES) break;
      const made = await this.messagesOf(event);
      chars += made.reduce((sum, { data }) => sum + data.length, 0);
      messages.push(...made);
      done.push(event.id);
    }
    const dropped = await this.parts.store.enter(lease, messages, done, { backlogMax: BACKLOG_MAX });
    if (dropped === "lost") return "lost";
    this.sayDropped(dropped);
    return "more";
  }

  private async messagesOf(event: WebhookEventRow): Promise<NewWebhookMessage[]> {
    const app = this.parts.app(event.app);
    if (!app) return [];
    const recipients = await this.recipientsOf(event);
    if (recipients.length === 0) return [];
    const { fact, subject, happened } = event;
    const data = this.dataOf(event, app);
    if (data === undefined) return [];
    const common = { app: event.app, type: fact.type, subject, happened, data, isLossy: isLossy(fact) };
    return recipients.map(({ row }) => ({ webhook: row.id, ...common }));
  }

  /** undefined: nothing can be made of it. All others would wait for it without end. */
  private dataOf({ app, fact }: WebhookEventRow, name: AppName): string | undefined {
    try {
      return dataOf(fact, name, this.parts.records);
    } catch (err) {
      this.parts.log.error({ err, app, type: fact.type }, "an event for webhooks cannot be written, and is dropped");
      return undefined;
    }
  }

  private async recipientsOf({ app, fact, webhook }: WebhookEventRow): Promise<Recipient[]> {
    const all = this.parts.recipients(app).filter(({ row }) => row.kind !== "room" && row.disabled === null);
    if (webhook !== null) return all.filter(({ row }) => row.id === webhook);
    const asking = all.filter((one) => wants(one, fact));
    const ofRoom = await this.ofRoom(app, fact);
    return ofRoom ? [...asking, ofRoom] : asking;
  }

  /** The URL in a field of the room, as it is now, or was when it was archived: its meeting ends with it. */
  private async ofRoom(app: AppId, fact: WebhookFact): Promise<Recipient | undefined> {
    const id = "stay" in fact ? fact.stay.room : "meeting" in fact ? fact.meeting.room : undefined;
    const [field] = Object.entries(ROOM_WEBHOOKS).find(([, type]) => type === fact.type) ?? [];
    if (id === undefined || field === undefined) return undefined;
    const { rooms, nowMs } = this.parts;
    const room: RoomRow | undefined = (await rooms.roomById(app, id, nowMs())) ?? (await rooms.archivedRoom(app, id));
    const url = room?.fields[field];
    if (typeof url !== "string" || url === "") return undefined;
    const recipient = await this.parts.ofRoomUrl(app, url);
    return recipient?.row.disabled === null ? recipient : undefined;
  }

  private sayDropped(dropped: ReadonlyMap<string, number>): void {
    for (const [webhook, count] of dropped) {
      if (count === 0) continue;
      this.parts.metrics.dropped.inc(count);
      this.parts.log.warn(
        { webhook, count },
        `events for a webhook were dropped, because more than ${BACKLOG_MAX} were waiting; each leaves a gap in data.seq`,
      );
    }
  }
}

function wants({ row, channels }: Recipient, fact: WebhookFact): boolean {
  if (!asksFor(row.events, fact.type)) return false;
  const channel = channelOf(fact);
  return channel === undefined || channels?.matches(channel) === true;
}
