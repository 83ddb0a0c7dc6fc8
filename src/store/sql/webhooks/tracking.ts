/** What nodes write of their connections and memberships, on SQL. */
import type { SQL } from "bun";
import { systemClock } from "../../../base/clock.ts";
import type { AppId } from "../../../base/ids.ts";
import type {
  ClosedConnection,
  Derived,
  DeriveOptions,
  LeftMember,
  MemberRow,
  OpenedConnection,
  TrackedChanges,
  TrackedKind,
  TrackingStore,
} from "../../contract/tracking.ts";
import type { Lost, WebhookLease } from "../../contract/webhooks.ts";
import type { Database } from "../../engines/database.ts";
import { appId, type DbRow } from "../../engines/rows.ts";
import { derive } from "./deriving.ts";
import { storable } from "./json-table.ts";
import type { Outbox } from "./outbox.ts";
import { QuietTime } from "./quiet-time.ts";
import { reconcile } from "./reconciling.ts";
import { StoreTime } from "./tracking-time.ts";
import { Tuples } from "./tuples.ts";

/** Rows that are counted at most: more than an application may have. */
const COUNTED_MAX = 200_000;

export class SqlTracking implements TrackingStore {
  private readonly time: StoreTime;
  private readonly quiet: QuietTime;

  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    /** For a file: the clock of the one process that has it open. */
    wallMs: () => number = systemClock.wallMs,
  ) {
    this.time = new StoreTime(database, wallMs);
    this.quiet = new QuietTime(database, wallMs);
  }

  async begin(node: string): Promise<void> {
    await this.database.quickRun((sql) =>
      sql.unsafe(`INSERT INTO tracked_nodes (node, beat) VALUES ($1, ${this.time.now})`, [node]),
    );
  }

  async beat(node: string): Promise<"beaten" | "gone"> {
    return (await this.database.quickRun((sql) => this.raise(sql, node))) ? "beaten" : "gone";
  }

  /** The holder gives a node up by the same row: what is written behind this is written before it, or not at all. */
  private async raise(sql: SQL, node: string): Promise<boolean> {
    const rows: DbRow[] = await sql.unsafe(
      `UPDATE tracked_nodes SET beat = ${this.time.now} WHERE node = $1 AND beat > 0 RETURNING node`,
      [node],
    );
    return rows.length > 0;
  }

  async leave(node: string): Promise<void> {
    await this.database.quickRun((sql) => {
      this.quiet.end();
      return sql`UPDATE tracked_nodes SET beat = 0 WHERE node = ${node}`;
    });
  }

  write(node: string, changes: TrackedChanges): Promise<"written" | "gone"> {
    const { isKnown, opened, closed, members, left } = changes;
    return this.database.quickTransaction(async (tx) => {
      this.quiet.end();
      if (!(await this.raise(tx, node))) return "gone";
      if (opened.length > 0) await putConnections(tx, node, opened, isKnown);
      for (const one of closed) await closeConnection(tx, one);
      if (members.length > 0) await putMembers(tx, node, members, isKnown);
      for (const one of left) await this.endMember(tx, node, one);
      return "written";
    });
  }

  private async endMember(tx: SQL, node: string, { app, channel, peerId, afterMs }: LeftMember): Promise<void> {
    await tx.unsafe(
      `UPDATE tracked_members SET until = ${this.time.now} + $1
       WHERE node = $2 AND app = $3 AND channel = $4 AND peer_id = $5 AND until IS NULL`,
      [Math.max(0, Math.ceil(afterMs)), node, app, channel, peerId],
    );
  }

  async count(app: AppId): Promise<number> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM tracked_connections WHERE app = ${app} LIMIT ${COUNTED_MAX}) c)
          + (SELECT COUNT(*) FROM (SELECT 1 FROM tracked_members WHERE app = ${app} LIMIT ${COUNTED_MAX}) m) AS n`,
    );
    return Number(rows[0]?.n ?? 0);
  }

  async clear(node: string, app: AppId, kind: TrackedKind): Promise<void> {
    await this.database.quickRun((sql) =>
      kind === "connections"
        ? sql`DELETE FROM tracked_connections WHERE node = ${node} AND app = ${app}`
        : sql`DELETE FROM tracked_members WHERE node = ${node} AND app = ${app}`,
    );
  }

  async derive(lease: WebhookLease, options: DeriveOptions): Promise<Derived | Lost> {
    const asking = { ...options, number: lease.number };
    if (this.quiet.lastsFor(asking)) return { events: 0, more: false };
    return this.database.quickTransaction(async (tx) => {
      const nowMs = await this.time.heldAt(tx, lease);
      if (nowMs === undefined) return "lost";
      const derived = await derive(tx, this.outbox, nowMs, options);
      if (derived.more) this.quiet.end();
      else await this.quiet.begin(tx, nowMs, asking);
      return derived;
    });
  }

  reconcile(lease: WebhookLease, app: AppId, options: Pick<DeriveOptions, "asked">): Promise<Derived | Lost> {
    return this.database.quickTransaction(async (tx) => {
      this.quiet.end();
      const nowMs = await this.time.heldAt(tx, lease);
      return nowMs === undefined ? "lost" : reconcile(tx, this.outbox, app, nowMs, options);
    });
  }

  async trackedApps(): Promise<readonly AppId[]> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        SELECT a.id FROM apps a WHERE EXISTS (SELECT 1 FROM tracked_connections t WHERE t.app = a.id)
          OR EXISTS (SELECT 1 FROM tracked_members t WHERE t.app = a.id)
          OR EXISTS (SELECT 1 FROM said_members t WHERE t.app = a.id)
          OR EXISTS (SELECT 1 FROM said_channels t WHERE t.app = a.id)`,
    );
    return rows.map(({ id }) => appId(id));
  }

  async forgetRows(app: AppId, kind: TrackedKind, limit: number): Promise<boolean> {
    if (kind === "connections") return this.forgetSome("tracked_connections", "id", "id", app, limit);
    const hasMembers = await this.forgetSome(
      "tracked_members",
      "(node, app, channel, peer_id)",
      "node, app, channel, peer_id",
      app,
      limit,
    );
    const hasSaid = await this.forgetSome(
      "said_members",
      "(app, channel, peer_id)",
      "app, channel, peer_id",
      app,
      limit,
    );
    const hasChannels = await this.forgetSome("said_channels", "(app, channel)", "app, channel", app, limit);
    return hasMembers || hasSaid || hasChannels;
  }

  private async forgetSome(table: string, row: string, columns: string, app: AppId, limit: number): Promise<boolean> {
    const rows: DbRow[] = await this.database.quickRun((sql) =>
      sql.unsafe(
        `DELETE FROM ${table} WHERE ${row} IN (SELECT ${columns} FROM ${table} WHERE app = $1 LIMIT $2) RETURNING app`,
        [app, limit],
      ),
    );
    return rows.length === limit;
  }

  quotaReached(
    app: AppId,
    kind: "messages" | "connections",
    limit: number,
    period: number,
    nowMs: number,
  ): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const said: DbRow[] = await tx`
        INSERT INTO said_quotas (app, period, kind) VALUES (${app}, ${period}, ${kind})
        ON CONFLICT (app, period, kind) DO NOTHING RETURNING app`;
      if (said.length === 0) return false;
      await tx`DELETE FROM said_quotas WHERE app = ${app} AND period < ${period}`;
      await this.outbox.add(tx, {
        app,
        subject: `quota ${kind}`,
        happened: nowMs,
        fact: { type: "quota.reached", kind, limit, period },
        webhook: null,
      });
      return true;
    });
  }
}

/** A connection that is there already is one that its node has written under an earlier name. */
async function putConnections(
  tx: SQL,
  node: string,
  opened: readonly OpenedConnection[],
  isKnown: boolean,
): Promise<void> {
  const tuples = new Tuples();
  const said = isKnown ? 1 : 0;
  const rows = tuples.rows(
    opened.map(({ id, app, peerId, keyId, metadataJson, opened: at }) => [
      id,
      node,
      app,
      peerId,
      keyId,
      metadataJson,
      at,
      said,
    ]),
  );
  await tuples.run(
    tx,
    `INSERT INTO tracked_connections (id, node, app, peer_id, key_id, metadata, opened, is_said) VALUES ${rows}
     ON CONFLICT (id) DO UPDATE SET node = excluded.node`,
  );
}

async function closeConnection(tx: SQL, { id, closed, code, reason }: ClosedConnection): Promise<void> {
  await tx`
    UPDATE tracked_connections SET closed = ${closed}, code = ${code}, reason = ${storable(reason)}
    WHERE id = ${id} AND closed IS NULL`;
}

async function putMembers(tx: SQL, node: string, members: readonly MemberRow[], isKnown: boolean): Promise<void> {
  const tuples = new Tuples();
  const rows = tuples.rows(
    members.map(({ app, channel, peerId, metadataJson, since }) => [
      node,
      app,
      channel,
      peerId,
      metadataJson,
      since,
      isKnown ? 1 : 0,
    ]),
  );
  // One that has come back was not gone; whether it was said is known of its row.
  await tuples.run(
    tx,
    `INSERT INTO tracked_members (node, app, channel, peer_id, metadata, since, is_said) VALUES ${rows}
     ON CONFLICT (node, app, channel, peer_id) DO UPDATE SET metadata = excluded.metadata, until = NULL, is_said = 0`,
  );
  if (isKnown) await sayMembers(tx, members);
}

/** In a fixed order: two nodes that write the same rows in different orders would deadlock. */
async function sayMembers(tx: SQL, unordered: readonly MemberRow[]): Promise<void> {
  const members = unordered.toSorted(
    (a, b) => compare(a.app, b.app) || compare(a.channel, b.channel) || compare(a.peerId, b.peerId),
  );
  const said = new Tuples();
  const rows = said.rows(members.map(({ app, channel, peerId, metadataJson }) => [app, channel, peerId, metadataJson]));
  await said.run(
    tx,
    `INSERT INTO said_members (app, channel, peer_id, metadata) VALUES ${rows} ON CONFLICT (app, channel, peer_id) DO NOTHING`,
  );
  const channels = new Tuples();
  const names = new Map(members.map(({ app, channel }) => [`${app} ${channel}`, [app, channel] as const]));
  const values = channels.rows([...names.values()]);
  await channels.run(
    tx,
    `INSERT INTO said_channels (app, channel) VALUES ${values} ON CONFLICT (app, channel) DO UPDATE SET vacated_at = NULL`,
  );
}

const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
