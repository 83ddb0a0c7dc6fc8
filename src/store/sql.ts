/** The store on SQL, with statements that SQLite and PostgreSQL both accept. What differs is in open.ts and database.ts. */
import { randomUUID } from "node:crypto";
import type { SQL } from "bun";
import type { Database, Run } from "./database.ts";
import { type EarlierLease, type Leases, LocalLeases } from "./leases.ts";
import type { OperatorRow, SessionRow } from "./operators.ts";
import { PostgresLeases } from "./postgres-leases.ts";
import { type DbRow, searchable, toApp, toBlock, toKey, toOperator, toSecret, toSession, toUsage } from "./rows.ts";
import { SqlAudit } from "./sql-audit.ts";
import { SqlHeldMembers } from "./sql-held-members.ts";
import { SqlMeetings } from "./sql-meetings.ts";
import { SqlRecordings } from "./sql-recordings.ts";
import { SqlRooms } from "./sql-rooms.ts";
import type {
  AppRow,
  BlockRow,
  Change,
  KeyRow,
  Reads,
  Revisions,
  SecretRow,
  Snapshot,
  Store,
  UsageRow,
} from "./store.ts";
import { WorkerLeases } from "./worker-leases.ts";

/** Ids of the rows of `revisions`. */
const KEYS = 1;
const BLOCKS = 2;
/** A test write has about 64 KiB: a smaller one may still fit on a disk that is too full for other changes. */
const TEST_WRITE_REPEATS = 1820;

class SqlReads implements Reads {
  constructor(protected readonly run: Run) {}

  async app(idOrName: string): Promise<AppRow | undefined> {
    const rows: DbRow[] = await this.run(
      (sql) =>
        sql`SELECT * FROM apps WHERE deleted IS NULL AND (id = ${searchable(idOrName)} OR name = ${searchable(idOrName)})`,
    );
    // A name may be equal to another application's id: the id takes precedence.
    return rows.map(toApp).sort((a) => (a.id === idOrName ? -1 : 1))[0];
  }

  async apps(): Promise<AppRow[]> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT * FROM apps WHERE deleted IS NULL ORDER BY id`);
    return rows.map(toApp);
  }

  async appsPage(limit: number, after: string): Promise<AppRow[]> {
    const rows: DbRow[] = await this.run(
      (sql) => sql`
        SELECT * FROM apps WHERE deleted IS NULL AND id > ${searchable(after)} ORDER BY id LIMIT ${limit}`,
    );
    return rows.map(toApp);
  }

  async key(id: string): Promise<KeyRow | undefined> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT * FROM keys WHERE id = ${searchable(id)}`);
    return rows.map(toKey)[0];
  }

  async keys(app?: string): Promise<KeyRow[]> {
    const rows: DbRow[] = await this.run((sql) =>
      app === undefined
        ? sql`SELECT * FROM keys ORDER BY created, id`
        : sql`SELECT * FROM keys WHERE app = ${app} ORDER BY created, id`,
    );
    return rows.map(toKey);
  }

  async keysPage(limit: number, app?: string, after?: string): Promise<KeyRow[]> {
    const last = after === undefined ? undefined : await this.key(after);
    const created = last?.created ?? 0;
    const id = last?.id ?? "";
    const rows: DbRow[] = await this.run((sql) =>
      app === undefined
        ? sql`
          SELECT * FROM keys WHERE created > ${created} OR (created = ${created} AND id > ${id})
          ORDER BY created, id LIMIT ${limit}`
        : sql`
          SELECT * FROM keys WHERE app = ${app} AND (created > ${created} OR (created = ${created} AND id > ${id}))
          ORDER BY created, id LIMIT ${limit}`,
    );
    return rows.map(toKey);
  }

  async secrets(keyId: string): Promise<SecretRow[]> {
    const rows: DbRow[] = await this.run(
      (sql) => sql`SELECT * FROM key_secrets WHERE key_id = ${keyId} ORDER BY seq DESC`,
    );
    return rows.map(toSecret);
  }

  async meta(name: string): Promise<string | undefined> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT value FROM meta WHERE name = ${name}`);
    return rows[0] === undefined ? undefined : String(rows[0].value);
  }

  async operators(): Promise<OperatorRow[]> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT * FROM operators WHERE revoked IS NULL ORDER BY id`);
    return rows.map(toOperator);
  }

  async operator(id: string): Promise<OperatorRow | undefined> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT * FROM operators WHERE id = ${searchable(id)}`);
    return rows.map(toOperator)[0];
  }

  async sessions(): Promise<SessionRow[]> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT * FROM dashboard_sessions ORDER BY created, digest`);
    return rows.map(toSession);
  }
}

/** The reads and writes of one transaction. */
class SqlChange extends SqlReads implements Change {
  constructor(
    private readonly sql: SQL,
    private readonly rooms: SqlRooms,
  ) {
    super((work) => work(sql));
  }

  async putApp(row: AppRow): Promise<void> {
    await this.sql`
      INSERT INTO apps (id, name, secret_sealed, secret_digest, secret_seq, previous_secrets, plan_name,
        max_concurrent_connections, max_messages_per_period, retention_days, console_payloads, channel_rules,
        max_history_bytes, allowed_frame_origins, meeting_retention_days, max_recording_bytes_total, created,
        deleted)
      VALUES (${row.id}, ${row.name}, ${row.secretSealed}, ${row.secretDigest}, ${row.secretSeq},
        ${JSON.stringify(row.previousSecrets)}, ${row.planName}, ${row.maxConcurrentConnections}, ${row.maxMessagesPerPeriod}, ${row.retentionDays}, ${row.consolePayloads ? 1 : 0},
        ${JSON.stringify(row.channelRules)}, ${row.maxHistoryBytes}, ${JSON.stringify(row.allowedFrameOrigins)},
        ${row.meetingRetentionDays}, ${row.maxRecordingBytesTotal}, ${row.created}, ${row.deleted})
      ON CONFLICT (id) DO UPDATE SET name = excluded.name, secret_sealed = excluded.secret_sealed,
        secret_digest = excluded.secret_digest, secret_seq = excluded.secret_seq,
        previous_secrets = excluded.previous_secrets, plan_name = excluded.plan_name,
        max_concurrent_connections = excluded.max_concurrent_connections,
        max_messages_per_period = excluded.max_messages_per_period, retention_days = excluded.retention_days,
        console_payloads = excluded.console_payloads, channel_rules = excluded.channel_rules,
        max_history_bytes = excluded.max_history_bytes, allowed_frame_origins = excluded.allowed_frame_origins,
        meeting_retention_days = excluded.meeting_retention_days,
        max_recording_bytes_total = excluded.max_recording_bytes_total, deleted = excluded.deleted`;
  }

  async putKey(row: KeyRow): Promise<void> {
    const origins = row.allowedOrigins === null ? null : JSON.stringify(row.allowedOrigins);
    await this.sql`
      INSERT INTO keys (id, app, type, label, channel_patterns, actions, allowed_origins, turn, created, rotated,
        revoked)
      VALUES (${row.id}, ${row.app}, ${row.type}, ${row.label}, ${JSON.stringify(row.channelPatterns)},
        ${JSON.stringify(row.actions)}, ${origins}, ${row.turn ? 1 : 0}, ${row.created}, ${row.rotated}, ${row.revoked})
      ON CONFLICT (id) DO UPDATE SET label = excluded.label, channel_patterns = excluded.channel_patterns,
        actions = excluded.actions, allowed_origins = excluded.allowed_origins, turn = excluded.turn, rotated = excluded.rotated,
        revoked = excluded.revoked`;
  }

  async putSecret(row: SecretRow): Promise<void> {
    await this.sql`
      INSERT INTO key_secrets (key_id, seq, sealed, digest, created, ends)
      VALUES (${row.keyId}, ${row.seq}, ${row.sealed}, ${row.digest}, ${row.created}, ${row.ends})
      ON CONFLICT (key_id, seq) DO UPDATE SET ends = excluded.ends`;
  }

  async removeSecret(keyId: string, seq: number): Promise<void> {
    await this.sql`DELETE FROM key_secrets WHERE key_id = ${keyId} AND seq = ${seq}`;
  }

  async archiveRooms(app: string, nowMs: number): Promise<void> {
    await this.sql`UPDATE room_counters SET live = 0 WHERE app = ${app}`;
    await this.sql`
      UPDATE rooms SET archived = ${nowMs}, version = version + 1 WHERE app = ${app} AND archived IS NULL`;
    this.rooms.changed();
  }

  async putMeta(name: string, value: string): Promise<void> {
    await this.sql`
      INSERT INTO meta (name, value) VALUES (${name}, ${value})
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
  }

  async putOperator(row: OperatorRow): Promise<void> {
    await this.sql`
      INSERT INTO operators (id, name, role, digest, created, last_used, revoked)
      VALUES (${row.id}, ${row.name}, ${row.role}, ${row.digest}, ${row.created}, ${row.lastUsed}, ${row.revoked})
      ON CONFLICT (id) DO UPDATE SET revoked = excluded.revoked`;
  }

  async putSession(row: SessionRow): Promise<void> {
    await this.sql`
      INSERT INTO dashboard_sessions (digest, operator, credential, created, ends)
      VALUES (${row.digest}, ${row.operator}, ${row.credential}, ${row.created}, ${row.ends})`;
  }

  async removeSession(digest: string): Promise<void> {
    await this.sql`DELETE FROM dashboard_sessions WHERE digest = ${digest}`;
  }
}

export class SqlStore extends SqlReads implements Store {
  /** Changes of this process are queued here; changes of other processes wait for the row of the revision. */
  private lastChange: Promise<unknown> = Promise.resolve();
  readonly rooms: SqlRooms;
  readonly meetings: SqlMeetings;
  readonly recordings: SqlRecordings;
  readonly audit: SqlAudit;
  readonly heldMembers: SqlHeldMembers;
  readonly leases: Leases;
  /** For a server of the embedded store (remote/), instead of `leases`. */
  readonly workerLeases: WorkerLeases;

  constructor(
    private readonly database: Database,
    earlierLeases?: Map<string, EarlierLease>,
  ) {
    super(database.run);
    this.rooms = new SqlRooms(database);
    this.recordings = new SqlRecordings(database);
    this.meetings = new SqlMeetings(database, () => this.recordings.forgetAll());
    this.audit = new SqlAudit(database);
    this.heldMembers = new SqlHeldMembers(database);
    this.leases = database.isShared ? new PostgresLeases(database) : new LocalLeases(earlierLeases);
    this.workerLeases = new WorkerLeases(database, (id) => this.recordings.forget(id));
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
      const operators: DbRow[] = await tx`SELECT * FROM operators WHERE revoked IS NULL`;
      const sessions: DbRow[] = await tx`SELECT * FROM dashboard_sessions`;
      const meta: DbRow[] = await tx`SELECT * FROM meta`;
      return {
        revision: Number(revisions[0]?.revision),
        apps: apps.map(toApp),
        keys: keys.map(toKey),
        secrets: secrets.map(toSecret),
        operators: operators.map(toOperator),
        sessions: sessions.map(toSession),
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
        return work(new SqlChange(tx, this.rooms));
      });
      committed?.(result, revision);
      return result;
    });
    this.lastChange = change.catch(() => undefined);
    return change;
  }

  async usage(period: number): Promise<UsageRow[]> {
    const rows: DbRow[] = await this.run((sql) => sql`SELECT * FROM usage WHERE period = ${period}`);
    return rows.map(toUsage);
  }

  async usageOf(app: string, from: number): Promise<UsageRow[]> {
    const rows: DbRow[] = await this.run(
      (sql) => sql`SELECT * FROM usage WHERE app = ${app} AND period >= ${from} ORDER BY period DESC`,
    );
    return rows.map(toUsage);
  }

  addUsage(rows: readonly UsageRow[]): Promise<void> {
    // In a fixed order: two nodes that write the same rows in different orders would deadlock.
    const inOrder = rows.toSorted((a, b) => (a.app < b.app ? -1 : a.app > b.app ? 1 : a.period - b.period));
    return this.database.transaction(async (tx) => {
      for (const { app, period, messages, peakConnections } of inOrder) {
        await tx`
          INSERT INTO usage (app, period, messages, peak_connections)
          VALUES (${app}, ${period}, ${messages}, ${peakConnections})
          ON CONFLICT (app, period) DO UPDATE SET messages = usage.messages + excluded.messages,
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

  claim(name: string): Promise<() => Promise<void>> {
    return this.database.claim(name);
  }

  async close(): Promise<void> {
    this.leases.close();
    // Not awaited on PostgreSQL: if the server does not answer, the change would not end. Closing the pool has a time limit.
    if (!this.isShared) await this.lastChange;
    await this.database.close();
  }
}
