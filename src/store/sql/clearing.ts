/** Removes for good, on SQL: the rest of deleted applications, and rows that are too old. */
import type { SQL } from "bun";
import type { AppId } from "../../base/ids.ts";
import type { ClearingStore, DeletedApp, Walk, Walked } from "../contract/clearing.ts";
import type { Database } from "../engines/database.ts";
import { appId, type DbRow } from "../engines/rows.ts";
import type { SqlMeetings } from "./meetings/meetings.ts";
import type { SqlWebhooks } from "./webhooks/webhooks.ts";

/** Rows of an application, each found by an index; `$1` is the application. */
interface Clearing {
  readonly table: string;
  readonly where: string;
  /** With the application it identifies a row. Absent: they are few, and removed at once. */
  readonly key?: string;
  /** What the index has behind the application, if it is not the key. */
  readonly order?: string;
}

/** In this order: rows that others refer to come last. */
const CLEARINGS: readonly Clearing[] = [
  // The deletion has removed them, unless a node of an earlier version made it.
  { table: "key_secrets", where: "key_id IN (SELECT id FROM keys WHERE app = $1)" },
  { table: "webhook_secrets", where: "webhook IN (SELECT id FROM webhooks WHERE app = $1)" },
  { table: "webhooks", where: "app = $1" },
  { table: "webhook_apps", where: "app = $1" },
  { table: "tracked_connections", where: "app = $1", key: "id" },
  { table: "tracked_members", where: "app = $1", key: "channel, peer_id, node" },
  { table: "said_members", where: "app = $1", key: "channel, peer_id" },
  { table: "said_channels", where: "app = $1", key: "channel" },
  { table: "said_quotas", where: "app = $1" },
  { table: "blocks", where: "app = $1", key: "peer_id" },
  { table: "rooms", where: "app = $1 AND archived IS NOT NULL", key: "id" },
  // A node that did not know of the deletion yet may have added one.
  { table: "rooms", where: "app = $1 AND archived IS NULL", key: "id" },
  { table: "room_counters", where: "app = $1" },
  { table: "recording_extras", where: "app = $1", key: "id" },
  { table: "deleted_recordings", where: "app = $1 AND removed IS NOT NULL", key: "id", order: "seq" },
  {
    table: "recording_counters",
    where: `app = $1 AND NOT EXISTS (SELECT 1 FROM recordings WHERE app = $1)
      AND NOT EXISTS (SELECT 1 FROM uploads WHERE app = $1)`,
  },
  {
    table: "meeting_counters",
    where: "app = $1 AND NOT EXISTS (SELECT 1 FROM meetings WHERE app = $1)",
    key: "room",
  },
];

/** Selected first, and in the order of the index: otherwise PostgreSQL reads the table from its beginning, with all rows that were removed before. */
async function clearSome(
  tx: SQL,
  { table, where, key, order = key }: Clearing,
  app: AppId,
  limit: number,
): Promise<number> {
  if (key === undefined)
    return (await tx.unsafe<DbRow[]>(`DELETE FROM ${table} WHERE ${where} RETURNING 1 AS n`, [app])).length;
  if (key.includes(",")) {
    // A key of several columns: the rows that come first in the index.
    const first = `SELECT ${key} FROM ${table} WHERE ${where} ORDER BY app, ${key} LIMIT ${limit}`;
    const text = `DELETE FROM ${table} WHERE app = $1 AND (${key}) IN (${first}) RETURNING 1 AS n`;
    return (await tx.unsafe<DbRow[]>(text, [app])).length;
  }
  const some = `SELECT ${key} AS id FROM ${table} WHERE ${where} ORDER BY app, ${order} LIMIT ${limit}`;
  const found: DbRow[] = await tx.unsafe(some, [app]);
  if (found.length === 0) return 0;
  const holes = found.map((_, at) => `$${at + 2}`).join(", ");
  const values = [app, ...found.map(({ id }) => String(id))];
  await tx.unsafe(`DELETE FROM ${table} WHERE app = $1 AND ${key} IN (${holes})`, values);
  return found.length;
}

/** What `isClear` looks for: all that an application may have, except what is kept. */
const LEFT = [
  "blocks",
  "rooms",
  "room_counters",
  "uploads",
  "recordings",
  "recording_extras",
  "recording_counters",
  "deleted_recordings",
  "files_to_remove",
  "meetings",
  "meeting_counters",
  "held_places",
  "lobby_tickets",
  "webhooks",
  "webhook_apps",
  "webhook_events",
  "webhook_states",
  "tracked_connections",
  "tracked_members",
  "said_members",
  "said_channels",
  "said_quotas",
];

export class SqlClearing implements ClearingStore {
  constructor(
    private readonly database: Database,
    private readonly meetings: Pick<SqlMeetings, "clearApp" | "lockForgetting">,
    private readonly webhooks: Pick<SqlWebhooks, "clearApp">,
  ) {}

  /** What a loss of power brings back is removed again. */
  private removing<T>(work: (tx: SQL) => Promise<T>): Promise<T> {
    return this.database.quickTransaction(async (tx) => {
      await this.meetings.lockForgetting(tx);
      return work(tx);
    });
  }

  private async removed(statement: (tx: SQL) => Promise<DbRow[]>): Promise<number> {
    return (await this.removing(statement)).length;
  }

  async uncleared(limit: number, after = ""): Promise<DeletedApp[]> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        SELECT id, name, deleted FROM apps WHERE deleted IS NOT NULL AND cleared IS NULL AND id > ${after}
        ORDER BY id LIMIT ${limit}`,
    );
    return rows.map((row) => ({ id: appId(row.id), name: String(row.name), deleted: Number(row.deleted) }));
  }

  async clear(app: AppId, limit: number): Promise<number> {
    const removed = await this.removing(async (tx) => {
      const [deleted]: DbRow[] = await tx`SELECT id FROM apps WHERE id = ${app} AND deleted IS NOT NULL`;
      if (!deleted) return undefined;
      for (const clearing of CLEARINGS) {
        const count = await clearSome(tx, clearing, app, limit);
        if (count > 0) return count;
      }
      return 0;
    });
    // No application comes back, so that it is enough to have asked once.
    if (removed !== 0) return removed ?? 0;
    const ofMeetings = await this.meetings.clearApp(app, limit);
    return ofMeetings === 0 ? this.webhooks.clearApp(app, limit) : ofMeetings;
  }

  async isClear(app: AppId): Promise<boolean> {
    const found = LEFT.map((table) => `EXISTS (SELECT 1 FROM ${table} WHERE app = $1)`).join(" OR ");
    const rows: DbRow[] = await this.database.run((sql) =>
      sql.unsafe(`SELECT CASE WHEN ${found} THEN 1 ELSE 0 END AS is_left`, [app]),
    );
    return Number(rows[0]?.is_left) === 0;
  }

  async setCleared(app: AppId, nowMs: number): Promise<void> {
    await this.database.run(
      (sql) => sql`
        UPDATE apps SET cleared = ${nowMs}, secret_sealed = '', secret_digest = '', previous_secrets = '[]',
          plan_name = '', channel_rules = '[]', allowed_frame_origins = '[]'
        WHERE id = ${app} AND deleted IS NOT NULL AND cleared IS NULL`,
    );
  }

  async forgetDeletedApps(before: number, limit: number): Promise<number> {
    const usage = await this.removed(
      (tx) => tx`
        DELETE FROM usage WHERE (app, period) IN (
          SELECT u.app, u.period FROM usage u JOIN apps a ON a.id = u.app
          WHERE a.cleared IS NOT NULL AND a.deleted < ${before} LIMIT ${limit}) RETURNING app`,
    );
    if (usage > 0) return usage;
    return this.removed(
      (tx) => tx`
        UPDATE apps SET name = '' WHERE id IN (
          SELECT id FROM apps WHERE cleared IS NOT NULL AND deleted < ${before} AND name <> '' LIMIT ${limit}) RETURNING id`,
    );
  }

  forgetUsage(beforePeriod: number, limit: number): Promise<number> {
    return this.removed(
      (tx) => tx`
        DELETE FROM usage WHERE (app, period) IN (
          SELECT app, period FROM usage WHERE period < ${beforePeriod} LIMIT ${limit}) RETURNING app`,
    );
  }

  async forgetKeys(before: number, limit: number): Promise<number> {
    // A node of an earlier version keeps them.
    const secrets = await this.removed(
      (tx) => tx`
        DELETE FROM key_secrets WHERE key_id IN (
          SELECT s.key_id FROM keys k JOIN key_secrets s ON s.key_id = k.id WHERE k.revoked IS NOT NULL LIMIT ${limit})
        RETURNING key_id`,
    );
    const keys = await this.removed(
      (tx) => tx`
        DELETE FROM keys WHERE id IN (
          SELECT id FROM keys k WHERE k.revoked IS NOT NULL AND k.revoked < ${before}
            AND NOT EXISTS (SELECT 1 FROM key_secrets s WHERE s.key_id = k.id) LIMIT ${limit})
        RETURNING id`,
    );
    return secrets + keys;
  }

  forgetOperators(before: number, limit: number): Promise<number> {
    return this.removed(
      (tx) => tx`
        DELETE FROM operators WHERE id IN (
          SELECT id FROM operators WHERE revoked IS NOT NULL AND revoked < ${before} LIMIT ${limit}) RETURNING id`,
    );
  }

  forgetRooms(before: number, limit: number, from: Walk = START): Promise<Walked> {
    return this.removing(async (tx) => {
      const found: DbRow[] = await tx`
        SELECT id, archived AS at FROM rooms
        WHERE archived IS NOT NULL AND archived < ${before} AND (archived, id) > (${from.at}, ${from.id})
        ORDER BY archived, id LIMIT ${limit}`;
      if (found.length === 0) return NOTHING;
      const removed: DbRow[] = await tx`
        DELETE FROM rooms WHERE id IN ${tx(found.map(({ id }) => String(id)))}
          AND NOT EXISTS (SELECT 1 FROM recordings r WHERE r.app = rooms.app AND r.room = rooms.id)
          AND id NOT IN (SELECT u.room FROM uploads u WHERE u.ended IS NULL)
        RETURNING id`;
      return { removed: removed.length, next: nextOf(found, limit) };
    });
  }

  forgetRecordingExtras(limit: number, from: Walk = START): Promise<Walked> {
    return this.removing(async (tx) => {
      const found: DbRow[] = await tx`
        SELECT id, 0 AS at FROM recording_extras WHERE id > ${from.id} ORDER BY id LIMIT ${limit}`;
      if (found.length === 0) return NOTHING;
      const removed: DbRow[] = await tx`
        DELETE FROM recording_extras WHERE id IN ${tx(found.map(({ id }) => String(id)))}
          AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.id = recording_extras.id AND u.ended IS NULL)
          AND NOT EXISTS (SELECT 1 FROM recordings r WHERE r.id = recording_extras.id)
        RETURNING id`;
      return { removed: removed.length, next: nextOf(found, limit) };
    });
  }

  forgetRecordingNumbers(before: number, kept: number, limit: number, from: Walk = START): Promise<Walked> {
    return this.removing(async (tx) => {
      const found: DbRow[] = await tx`
        SELECT id, removed AS at FROM deleted_recordings
        WHERE removed IS NOT NULL AND removed < ${before} AND (removed, id) > (${from.at}, ${from.id})
        ORDER BY removed, id LIMIT ${limit}`;
      if (found.length === 0) return NOTHING;
      const removed: DbRow[] = await tx`
        DELETE FROM deleted_recordings WHERE id IN ${tx(found.map(({ id }) => String(id)))}
          AND seq <= (SELECT c.last_seq FROM recording_counters c WHERE c.app = deleted_recordings.app) - ${kept}
        RETURNING id`;
      return { removed: removed.length, next: nextOf(found, limit) };
    });
  }
}

const START: Walk = { at: -1, id: "" };
const NOTHING: Walked = { removed: 0, next: undefined };

function nextOf(found: readonly DbRow[], limit: number): Walk | undefined {
  const last = found.at(-1);
  return last && found.length >= limit ? { at: Number(last.at), id: String(last.id) } : undefined;
}
