/** The store on SQL, with statements that SQLite and PostgreSQL both accept. What differs is in open.ts and engines/. */
import { randomUUID } from "node:crypto";
import { type AppId, asAppId } from "../../base/ids.ts";
import type { EarlierLease, Leases } from "../contract/leases.ts";
import {
  type AppRow,
  type BlockRow,
  type Change,
  REVOKED_KEYS_KNOWN_MAX,
  type Revisions,
  type Snapshot,
  type Store,
  type UsageRow,
  type UsageWrite,
} from "../contract/store.ts";
import { type Database, OneConnection } from "../engines/database.ts";
import { longReads } from "../engines/long-reads.ts";
import {
  type DbRow,
  searchable,
  toApp,
  toBlock,
  toKey,
  toOperator,
  toSecret,
  toSession,
  toUsage,
} from "../engines/rows.ts";
import { SqlAmounts } from "./amounts.ts";
import { SqlAudit } from "./audit.ts";
import { SqlChange } from "./changes.ts";
import { SqlClearing } from "./clearing.ts";
import { SqlHeldMembers } from "./held-members.ts";
import { SqlMeetings } from "./meetings/meetings.ts";
import { SqlReads } from "./reads.ts";
import { LocalLeases } from "./recordings/local-leases.ts";
import { PostgresLeases } from "./recordings/postgres-leases.ts";
import { SqlRecordings } from "./recordings/recordings.ts";
import { WorkerLeases } from "./recordings/worker-leases.ts";
import { SqlRooms } from "./rooms.ts";
import { Outbox } from "./webhooks/outbox.ts";
import { toWebhook, toWebhookSecret } from "./webhooks/rows.ts";
import { SqlTracking } from "./webhooks/tracking.ts";
import { SqlWebhooks } from "./webhooks/webhooks.ts";

/** Ids of the rows of `revisions`. */
const KEYS = 1;
const BLOCKS = 2;
/** A test write has about 64 KiB: a smaller one may still fit on a disk that is too full for other changes. */
const TEST_WRITE_REPEATS = 1820;
/** A process that has written no usage for longer is taken for ended. Longer than an outage of the store, after which a write is repeated. */
const USAGE_WRITER_MAX_MS = 7 * 86_400_000;

export class SqlStore extends SqlReads implements Store {
  /** Changes of this process are queued here; changes of other processes wait for the row of the revision. */
  private lastChange: Promise<unknown> = Promise.resolve();
  readonly rooms: SqlRooms;
  readonly meetings: SqlMeetings;
  readonly recordings: SqlRecordings;
  readonly audit: SqlAudit;
  readonly heldMembers: SqlHeldMembers;
  readonly clearing: SqlClearing;
  readonly amounts: SqlAmounts;
  readonly tracking: SqlTracking;
  readonly webhooks: SqlWebhooks;
  readonly leases: Leases;
  private readonly outbox: Outbox;
  /** For a server of the embedded store (remote/), instead of `leases`. */
  readonly workerLeases: WorkerLeases;

  constructor(
    private readonly database: Database,
    earlierLeases?: Map<string, EarlierLease>,
  ) {
    super(database.run);
    this.outbox = new Outbox(database.isShared);
    this.rooms = new SqlRooms(database, this.outbox);
    const queue = longReads(database);
    this.recordings = new SqlRecordings(database, queue, this.outbox);
    this.meetings = new SqlMeetings(database, queue, () => this.recordings.forgetAll(), this.outbox);
    this.audit = new SqlAudit(database, queue);
    this.heldMembers = new SqlHeldMembers(database);
    this.webhooks = new SqlWebhooks(database, this.outbox);
    this.tracking = new SqlTracking(database, this.outbox);
    this.clearing = new SqlClearing(database, this.meetings, this.webhooks);
    this.amounts = new SqlAmounts(database);
    this.leases = database.isShared ? new PostgresLeases(database) : new LocalLeases(earlierLeases);
    this.workerLeases = new WorkerLeases(database, (id) => this.recordings.forget(id));
  }

  /** The connection to the file, if the store is embedded. */
  get file(): Pick<OneConnection, "keepInLog" | "writeToFile"> | undefined {
    return this.database instanceof OneConnection ? this.database : undefined;
  }

  get isShared(): boolean {
    return this.database.isShared;
  }

  async revisions(): Promise<Revisions> {
    const { servers } = this.database;
    const rows: DbRow[] = await this.database.probe((sql) =>
      servers
        ? sql.unsafe(`SELECT id, revision, ${servers.columns} FROM revisions`)
        : sql`SELECT id, revision FROM revisions`,
    );
    const of = (id: number): number => Number(rows.find((row) => Number(row.id) === id)?.revision);
    return { keys: of(KEYS), blocks: of(BLOCKS), ...(servers && { server: servers.accept(rows[0]) }) };
  }

  snapshot(): Promise<Snapshot> {
    return this.database.consistentRead(async (tx) => {
      const revisions: DbRow[] = await tx`SELECT revision FROM revisions WHERE id = ${KEYS}`;
      const apps: DbRow[] = await tx`SELECT * FROM apps WHERE deleted IS NULL`;
      const keys: DbRow[] = await tx`SELECT * FROM keys WHERE revoked IS NULL`;
      const secrets: DbRow[] = await tx`
        SELECT s.* FROM key_secrets s JOIN keys k ON k.id = s.key_id WHERE k.revoked IS NULL ORDER BY s.key_id, s.seq DESC`;
      const revokedKeys: DbRow[] = await tx`
        SELECT k.id, k.app FROM keys k JOIN apps a ON a.id = k.app WHERE k.revoked IS NOT NULL AND a.deleted IS NULL
        ORDER BY k.revoked DESC, k.id LIMIT ${REVOKED_KEYS_KNOWN_MAX}`;
      const operators: DbRow[] = await tx`SELECT * FROM operators WHERE revoked IS NULL`;
      const sessions: DbRow[] = await tx`SELECT * FROM dashboard_sessions`;
      const webhooks: DbRow[] = await tx`
        SELECT w.* FROM webhooks w JOIN apps a ON a.id = w.app WHERE a.deleted IS NULL`;
      const webhookSecrets: DbRow[] = await tx`SELECT * FROM webhook_secrets ORDER BY webhook, seq DESC`;
      const meta: DbRow[] = await tx`SELECT * FROM meta`;
      return {
        revision: Number(revisions[0]?.revision),
        apps: apps.map(toApp),
        keys: keys.map(toKey),
        secrets: secrets.map(toSecret),
        revokedKeys: revokedKeys.map(({ id, app }) => ({ id: String(id), app: asAppId(String(app)) })),
        operators: operators.map(toOperator),
        sessions: sessions.map(toSession),
        webhooks: webhooks.map(toWebhook),
        webhookSecrets: webhookSecrets.map(toWebhookSecret),
        meta: new Map(meta.map(({ name, value }) => [String(name), String(value)])),
      };
    });
  }

  change<T>(work: (change: Change) => Promise<T>, committed?: (result: T, revision: number) => void): Promise<T> {
    const change = this.lastChange.then(async () => {
      let revision = 0;
      const result = await this.database.transaction(async (tx) => {
        const rows: DbRow[] = await tx`
          UPDATE revisions SET revision = revision + 1 WHERE id = ${KEYS} RETURNING revision`;
        revision = Number(rows[0]?.revision);
        return work(new SqlChange(tx, this.rooms, this.outbox));
      });
      committed?.(result, revision);
      return result;
    });
    this.lastChange = change.catch(() => undefined);
    return change;
  }

  async deletedApp(id: string): Promise<AppRow | undefined> {
    const rows: DbRow[] = await this.run(
      (sql) => sql`SELECT * FROM apps WHERE id = ${searchable(id)} AND deleted IS NOT NULL AND name <> ''`,
    );
    return rows.map(toApp)[0];
  }

  async usage(period: number): Promise<UsageRow[]> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT * FROM usage WHERE period = ${period}`);
    return rows.map(toUsage);
  }

  async usageOf(app: AppId, from: number): Promise<UsageRow[]> {
    const rows: DbRow[] = await this.run(
      (sql) => sql`SELECT * FROM usage WHERE app = ${app} AND period >= ${from} ORDER BY period DESC`,
    );
    return rows.map(toUsage);
  }

  addUsage(rows: readonly UsageRow[], { writer, seq, atMs }: UsageWrite): Promise<void> {
    // In a fixed order: two nodes that write the same rows in different orders would deadlock.
    const inOrder = rows.toSorted((a, b) => (a.app < b.app ? -1 : a.app > b.app ? 1 : a.period - b.period));
    return this.database.transaction(async (tx) => {
      // Also waits for an earlier attempt at the same write that is still under way.
      const raised: DbRow[] = await tx`
        INSERT INTO usage_writers (writer, seq, written) VALUES (${writer}, ${seq}, ${atMs})
        ON CONFLICT (writer) DO UPDATE SET seq = excluded.seq, written = excluded.written
          WHERE usage_writers.seq < excluded.seq RETURNING seq`;
      if (raised.length === 0) return;
      // With each new writer old ones go, so that restarts do not fill the table.
      if (seq === 1) await tx`DELETE FROM usage_writers WHERE written < ${atMs - USAGE_WRITER_MAX_MS}`;
      for (const { app, period, messages, guestMessages, peakConnections } of inOrder) {
        await tx`
          INSERT INTO usage (app, period, messages, guest_messages, peak_connections)
          VALUES (${app}, ${period}, ${messages}, ${guestMessages}, ${peakConnections})
          ON CONFLICT (app, period) DO UPDATE SET messages = usage.messages + excluded.messages,
            guest_messages = usage.guest_messages + excluded.guest_messages,
            peak_connections = CASE WHEN usage.peak_connections > excluded.peak_connections
              THEN usage.peak_connections ELSE excluded.peak_connections END`;
      }
    });
  }

  async touchOperator(id: string, atMs: number): Promise<void> {
    await this.run((sql) => sql`UPDATE operators SET last_used = ${atMs} WHERE id = ${id}`);
  }

  async blocks(nowMs: number): Promise<BlockRow[]> {
    const rows: DbRow[] = await this.database.probe((sql) => sql`SELECT * FROM blocks WHERE until_ms > ${nowMs}`);
    return rows.map(toBlock);
  }

  putBlock({ app, peerId, untilMs }: BlockRow, nowMs: number): Promise<void> {
    return this.database.transaction(async (tx) => {
      await tx`UPDATE revisions SET revision = revision + 1 WHERE id = ${BLOCKS}`;
      await tx`DELETE FROM blocks WHERE until_ms <= ${nowMs}`;
      await tx`
        INSERT INTO blocks (app, peer_id, until_ms) VALUES (${app}, ${peerId}, ${untilMs})
        ON CONFLICT (app, peer_id) DO UPDATE SET until_ms = excluded.until_ms`;
    });
  }

  removeBlock(app: AppId, peerId: string, nowMs: number): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      // In the order of `putBlock`, so that the two never wait for each other.
      await tx`UPDATE revisions SET revision = revision + 1 WHERE id = ${BLOCKS}`;
      const rows: DbRow[] = await tx`DELETE FROM blocks WHERE app = ${app} AND peer_id = ${peerId} RETURNING *`;
      return rows.map(toBlock).some(({ untilMs }) => untilMs > nowMs);
    });
  }

  async forgetBlocks(nowMs: number): Promise<void> {
    await this.run((sql) => sql`DELETE FROM blocks WHERE until_ms <= ${nowMs}`);
  }

  async tryWrite(): Promise<void> {
    // A new value each time: SQLite does not write a page that has not changed.
    const filler = randomUUID().repeat(TEST_WRITE_REPEATS);
    await this.database.probe(
      (sql) => sql`
        INSERT INTO trials (id, filler) VALUES (1, ${filler}) ON CONFLICT (id) DO UPDATE SET filler = excluded.filler`,
    );
  }

  lock(name: string): Promise<() => Promise<void>> {
    return this.database.lock(name);
  }

  async close(): Promise<void> {
    this.leases.close();
    // Not awaited on PostgreSQL: if the server does not answer, the change would not end. Closing the pool has a time limit.
    if (!this.isShared) await this.lastChange;
    await this.database.close();
  }
}
