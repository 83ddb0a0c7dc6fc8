/**
 * Events that were not given to endpoints yet. They are written by the transaction of the change that they tell of, and only for applications of
 * `webhook_apps`: a statement which that transaction makes anyway also returns `is_hooked`.
 *
 * Their order is `nr`. Each is larger than those of all events that are committed when it is written: the changes of one subject wait for each
 * other, so its events are in the order of its changes, whatever the clock does.
 */
import { randomUUID } from "node:crypto";
import type { SQL } from "bun";
import { systemClock } from "../../../base/clock.ts";
import type { AppId } from "../../../base/ids.ts";
import { type NewWebhookEvent, ROOM_WEBHOOKS } from "../../contract/webhooks.ts";
import type { DbRow } from "../../engines/rows.ts";
import { jsonTable, storable, withRows } from "./json-table.ts";

/** In SQLite all transactions follow each other. In PostgreSQL others are under way, so that most numbers differ by the clock. */
const nextNr = (isShared: boolean): string =>
  isShared
    ? `GREATEST((EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint, COALESCE((SELECT MAX(nr) FROM webhook_events), 0) + 1)`
    : "(SELECT COALESCE(MAX(nr), 0) + 1 FROM webhook_events)";

const insertOf = (isShared: boolean): string => `
  INSERT INTO webhook_events (id, nr, app, type, subject, happened, fact, webhook)
  SELECT v.id, v.place + ${nextNr(isShared)}, v.app, v.type, v.subject, v.happened, v.fact, v.webhook
  FROM ${jsonTable(isShared, { id: "text", place: "bigint", app: "text", type: "text", subject: "text", happened: "bigint", fact: "text", webhook: "text" })}
  WHERE EXISTS (SELECT 1 FROM webhook_apps w WHERE w.app = v.app)
  ORDER BY v.place
  RETURNING id`;

/** Whether an endpoint of its own is in one of its fields. */
const hasWebhook = (fields: Readonly<Record<string, unknown>>): boolean =>
  Object.keys(ROOM_WEBHOOKS).some((name) => typeof fields[name] === "string" && fields[name] !== "");

export class Outbox {
  private readonly insert: string;
  /** Bound: registered at the start. */
  private readonly listeners: (() => void)[] = [];

  constructor(
    isShared: boolean,
    /** For changes whose caller names no time. */
    readonly nowMs: () => number = systemClock.wallMs,
  ) {
    this.insert = insertOf(isShared);
  }

  /** Calls back when an event was written by a transaction that may still be open. */
  onEvent(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Within the transaction of the change. Those of an application without anyone to tell are left out. */
  async add(tx: SQL, ...events: readonly NewWebhookEvent[]): Promise<void> {
    if (events.length === 0) return;
    const rows = events.map(({ app, subject, happened, fact, webhook }, place) => ({
      id: randomUUID(),
      place,
      app,
      type: fact.type,
      subject: storable(subject),
      happened,
      fact: JSON.stringify(fact),
      webhook,
    }));
    const written: DbRow[] = await withRows(tx, this.insert, rows);
    if (written.length > 0) for (const listener of this.listeners) listener();
  }

  /** From then on there is someone to tell. */
  async hook(tx: SQL, app: AppId): Promise<void> {
    await tx`
      INSERT INTO webhook_apps (app) SELECT id FROM apps WHERE id = ${app} AND deleted IS NULL
      ON CONFLICT (app) DO NOTHING`;
  }

  /** The same, if the room has a field with an address. Returns whether it has. */
  async hookRoom(tx: SQL, app: AppId, fields: Readonly<Record<string, unknown>>): Promise<boolean> {
    const isHooked = hasWebhook(fields);
    if (isHooked) await this.hook(tx, app);
    return isHooked;
  }
}
