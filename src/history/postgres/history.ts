/** History in PostgreSQL, which all nodes share. migrations/ has the functions that these calls run. */
import { SQL } from "bun";
import { systemClock } from "../../base/clock.ts";
import { type AppId, appOfSpace, isStreamSpace, roomSpaceOf, type SpaceId, spaceOf } from "../../base/ids.ts";
import { MESSAGE_ID_REMEMBERED_MS } from "../../protocol/limits.ts";
import type { Retention } from "../../protocol/patterns/channel-rules.ts";
import type { UpgradeLog } from "../../store/before-upgrade.ts";
import { LOCK_SPACE, optionsOf } from "../../store/engines/postgres.ts";
import { excessOf } from "../contract/excess.ts";
import type {
  Appended,
  Batch,
  ChangedHeads,
  HistoryStore,
  HistoryTotals,
  HistoryUsage,
  Page,
  Range,
  StreamHead,
  StreamState,
} from "../contract/history.ts";
import {
  EMPTY_STREAM_KEPT_MS,
  EXPIRED_STREAM_KEPT_MS,
  IDS_AHEAD_MAX_MS,
  STREAM_USE_NOTED_MS,
  STREAMS_PER_APP_MAX,
} from "../contract/limits.ts";
import { PostgresCreatedStreams } from "./created/store.ts";
import { migrateHistory } from "./schema.ts";
import { arrayLiteral } from "./server/batch.ts";
import { PostgresConnections, StandbyAnswered } from "./server/connections.ts";
import { ServerIdentity } from "./server/identity.ts";
import { APPLICATION_NAME, openTransactionsMs } from "./server/open-transactions.ts";
import { type PageJson, pageOf } from "./server/page.ts";
import { PostgresWriter } from "./writer.ts";

const READ_CONNECTIONS = 3;
/** Rows that one slice of trimming deletes, about 10 ms on the server. */
const TRIM_ROWS = 1000;
/** As in `history_trim`: with this many streams a slice may have left others. */
const TRIM_STREAMS = 100;
/** Adding up what applications have stored reads every stream. */
const TOTALS_EVERY_MS = 10_000;
/** Streams that a call which visits all of an application's streams handles in one transaction. */
const VISIT_STREAMS = 500;
/** With more streams than these, their totals are those of the server's statistics. */
const COUNTED_STREAMS = 10_000;
/** Trimming and visits may wait longer than a publish. */
const BACKGROUND_MS = 10_000;

const SESSION = {
  application_name: APPLICATION_NAME,
  statement_timeout: 2000,
  lock_timeout: 2000,
  idle_in_transaction_session_timeout: 5000,
  // All statements find their rows by a key, whatever the statistics say: compiling them would take longer.
  jit: "off",
};

export interface PostgresHistoryOptions {
  readonly url: string;
  /** Gets sentences for the log when the tables have an earlier schema, which is changed then. */
  readonly log?: UpgradeLog | undefined;
  /** For tests: added to the server's clock. */
  readonly skewMs?: () => number;
  readonly totalsEveryMs?: number;
  /** For tests: instead of STREAMS_PER_APP_MAX. */
  readonly streamsMax?: number;
  /** For tests: instead of COUNTED_STREAMS. */
  readonly countedStreams?: number;
  /** For tests: how long a publish or a read waits for the server. */
  readonly answerMs?: number;
}

export async function openPostgresHistory(options: PostgresHistoryOptions): Promise<PostgresHistory> {
  await using sql = new SQL({ ...optionsOf(options.url), max: 1 });
  await migrateHistory(sql, options.log);
  return new PostgresHistory(options);
}

interface Answer {
  readonly isStandby: boolean;
}

/** A standby that is behind would make valid positions look lost, and a stream begin before what was delivered from it. */
function ofPrimary<T extends Answer>(row: T | undefined): T | undefined {
  if (row?.isStandby) throw new StandbyAnswered("the server is a standby");
  return row;
}

interface Counted {
  readonly streams: string;
  readonly messages: string | null;
  readonly bytes: string | null;
}

const numbersOf = (row: Counted | undefined): Omit<HistoryTotals, "isAbout"> => ({
  streams: Number(row?.streams ?? 0),
  messages: Number(row?.messages ?? 0),
  bytes: Number(row?.bytes ?? 0),
});

export class PostgresHistory implements HistoryStore {
  readonly isShared = true;
  readonly created: PostgresCreatedStreams;
  private readonly writer: PostgresWriter;
  private readonly reader: PostgresConnections;
  private readonly trimmer: PostgresConnections;
  private readonly identity = new ServerIdentity();
  private readonly skewMs: () => number;
  private readonly totalsEveryMs: number;
  private readonly streamsMax: number;
  private readonly countedStreams: number;
  private totalsAtMs = Number.NEGATIVE_INFINITY;

  /** The schema must be there: see openPostgresHistory. */
  constructor(options: PostgresHistoryOptions) {
    const connection = { ...optionsOf(options.url), connection: SESSION };
    this.skewMs = options.skewMs ?? (() => 0);
    this.totalsEveryMs = options.totalsEveryMs ?? TOTALS_EVERY_MS;
    this.streamsMax = options.streamsMax ?? STREAMS_PER_APP_MAX;
    this.countedStreams = options.countedStreams ?? COUNTED_STREAMS;
    // Reads alone do not show that a server takes no changes.
    const leave = (): void => {
      for (const one of [this.writer, this.created, this.reader, this.trimmer]) one.leave();
    };
    this.writer = new PostgresWriter(connection, this.skewMs, options.answerMs, leave);
    this.reader = new PostgresConnections(connection, READ_CONNECTIONS, options.answerMs, leave);
    const patient = { ...SESSION, statement_timeout: BACKGROUND_MS };
    this.trimmer = new PostgresConnections({ ...connection, connection: patient }, 1, undefined, leave);
    this.created = new PostgresCreatedStreams({
      options: connection,
      reader: this.reader,
      background: this.trimmer,
      backgroundMs: BACKGROUND_MS,
      skewMs: this.skewMs,
      answerMs: options.answerMs,
      onReadOnly: leave,
      compareServer: (sql) => this.identity.compare(sql),
    });
    // Some connections may still lead to the server before.
    this.identity.onChange(leave);
  }

  append = (batch: Batch): Promise<readonly Appended[]> => this.writer.append(batch);

  async settle(batch: Batch): Promise<readonly Appended[] | undefined> {
    const result = await this.writer.settle(batch);
    // The batch may be missing because another server has taken over.
    await this.reader.run((sql) => this.identity.compare(sql));
    return result;
  }

  open = (spaceId: SpaceId, channel: string, keep: Retention): Promise<StreamState> =>
    this.reader.run(async (sql) => {
      const rows: (Answer & { state: string })[] = await sql`
        SELECT pg_is_in_recovery() AS "isStandby", history_open(${spaceId}, ${channel}, ${keep.messages}::BIGINT, ${keep.seconds * 1000}::BIGINT,
          ${this.skewMs()}::BIGINT, ${STREAM_USE_NOTED_MS}::BIGINT) AS state`;
      return JSON.parse(ofPrimary(rows[0])?.state ?? "") as StreamState;
    });

  read = (spaceId: SpaceId, channel: string, range: Range): Promise<Page | undefined> =>
    this.reader.run(async (sql) => {
      const { after = null, before = null, upTo = null, limit, maxBytes, sinceMs } = range;
      // As an age: the server's clock gave the messages their times.
      const age = sinceMs === undefined ? null : systemClock.wallMs() + this.skewMs() - sinceMs;
      const skew = this.skewMs();
      const rows: (Answer & { page: string | null })[] = await sql`
        SELECT pg_is_in_recovery() AS "isStandby", history_read(${spaceId}, ${channel}, ${skew}::BIGINT, ${after}::BIGINT, ${before}::BIGINT,
          history_now(${skew}::BIGINT) - ${age}::BIGINT, ${upTo}::BIGINT, ${limit}::BIGINT, ${maxBytes}::BIGINT) AS page`;
      const page = ofPrimary(rows[0])?.page;
      return page ? pageOf(JSON.parse(page) as PageJson) : undefined;
    });

  heads = (agoMs: number): Promise<ChangedHeads> =>
    this.reader.run(async (sql) => {
      await this.identity.compare(sql);
      // Before the streams are read: one that is committed in between is seen by that read.
      const openMs = await openTransactionsMs(sql);
      const rows: (Omit<StreamHead, "offset"> & { offset: string })[] = await sql`
        SELECT app, channel, epoch, top::TEXT AS "offset", top_check AS "check" FROM history_streams
          WHERE changed >= history_now(${this.skewMs()}::BIGINT) - ${Math.ceil(agoMs)}::BIGINT`;
      return { heads: rows.map((row) => ({ ...row, offset: Number(row.offset) })), openMs };
    });

  remove = (spaceId: SpaceId, channel: string): Promise<boolean> =>
    this.reader.run(async (sql) => {
      const rows: { removed: boolean }[] = await sql`
        SELECT history_remove_2(${spaceId}, ${channel}, ${this.skewMs()}::BIGINT) AS removed`;
      return rows[0]?.removed === true;
    });

  async applyRules(spaceId: SpaceId, keep: (channel: string) => Retention | undefined): Promise<void> {
    let from = "";
    for (;;) {
      const rows = await this.trimmer.run<{ id: string; channel: string }[]>(
        (sql) =>
          sql`SELECT id::TEXT AS id, channel FROM history_streams WHERE app = ${spaceId} AND channel > ${from}
            ORDER BY channel LIMIT ${VISIT_STREAMS}`,
        BACKGROUND_MS,
      );
      const kept = rows.map(({ id, channel }) => ({ id, keep: keep(channel) }));
      await this.forget(kept.filter(({ keep }) => keep === undefined).map(({ id }) => id));
      await this.setKeeps(kept.flatMap(({ id, keep }) => (keep ? [{ id, keep }] : [])));
      if (rows.length < VISIT_STREAMS) return;
      from = rows.at(-1)?.channel ?? from;
    }
  }

  async removeSpace(spaceId: SpaceId): Promise<void> {
    if (isStreamSpace(spaceId)) return this.created.applyRules(spaceId, () => false);
    await this.applyRules(spaceId, () => undefined);
  }

  usage = (spaceId: SpaceId): Promise<HistoryUsage> =>
    this.reader.run(async (sql) => {
      const rows: { streams: string; filled: string; messages: string; bytes: string }[] = await sql`
        SELECT count(*) AS streams, count(*) FILTER (WHERE top >= low) AS filled, coalesce(sum(top - low + 1), 0) AS messages, coalesce(sum(bytes), 0) AS bytes
          FROM history_streams WHERE app = ${spaceId}`;
      const [{ streams, filled, messages, bytes } = { streams: 0, filled: 0, messages: 0, bytes: 0 }] = rows;
      return { streams: Number(streams), filled: Number(filled), messages: Number(messages), bytes: Number(bytes) };
    });

  totals = (): Promise<HistoryTotals> =>
    this.reader.run(async (sql) => {
      const [counted]: Counted[] = await sql`
        SELECT count(*) AS streams, sum(top - low + 1) AS messages, sum(bytes) AS bytes
          FROM (SELECT top, low, bytes FROM history_streams LIMIT ${this.countedStreams + 1}) AS counted`;
      if (Number(counted?.streams) <= this.countedStreams) return { ...numbersOf(counted), isAbout: false };
      const [estimated]: Counted[] = await sql`
        SELECT (SELECT reltuples::BIGINT FROM pg_class WHERE oid = 'history_streams'::regclass) AS streams,
          (SELECT reltuples::BIGINT FROM pg_class WHERE oid = 'history_messages'::regclass) AS messages,
          pg_total_relation_size('history_streams') + pg_total_relation_size('history_messages') AS bytes`;
      return { ...numbersOf(estimated), isAbout: true };
    });

  trim = (maxBytesOf: (app: AppId) => number): Promise<boolean> =>
    this.trimmer.run(async (sql) => {
      const over = await this.overLimits(sql, maxBytesOf);
      const trims: { streams: string | null }[] = await sql`
        SELECT history_trim(${LOCK_SPACE}::INT, ${this.skewMs()}::BIGINT, ${TRIM_ROWS}::BIGINT,
          ${arrayLiteral(over.large.map(({ spaceId }) => spaceId))}::TEXT[],
          ${arrayLiteral(over.large.map(({ bytes }) => bytes))}::BIGINT[]) AS streams`;
      const trimmed = trims[0]?.streams ?? null;
      // Another node is trimming.
      if (trimmed === null) return false;
      // The clock was set back by more: until it is there again these would neither count nor be old.
      await sql`
        DELETE FROM history_ids WHERE (stream, scope, mid) IN (SELECT stream, scope, mid FROM history_ids
          WHERE time > history_now(${this.skewMs()}::BIGINT) + ${IDS_AHEAD_MAX_MS}::BIGINT
          LIMIT ${TRIM_ROWS} FOR UPDATE SKIP LOCKED)`;
      const rows: { done: string }[] = await sql`
        SELECT history_sweep(${LOCK_SPACE}::INT, ${this.skewMs()}::BIGINT, ${MESSAGE_ID_REMEMBERED_MS}::BIGINT,
          ${TRIM_ROWS}::BIGINT, ${EMPTY_STREAM_KEPT_MS}::BIGINT, ${EXPIRED_STREAM_KEPT_MS}::BIGINT,
          ${`{${trimmed}}`}::BIGINT[],
          ${arrayLiteral(over.crowded.map(({ spaceId }) => spaceId))}::TEXT[],
          ${arrayLiteral(over.crowded.map(({ streams }) => streams))}::BIGINT[]) AS done`;
      const done = Number(rows[0]?.done ?? 0);
      const isOver = over.large.length + over.crowded.length > 0;
      if (isOver) this.totalsAtMs = Number.NEGATIVE_INFINITY;
      const isFull = trimmed.split(",").length >= TRIM_STREAMS;
      return done >= TRIM_ROWS || isFull || (isOver && done > 0);
    }, BACKGROUND_MS);

  onRewound(listener: () => void): void {
    this.identity.onChange(listener);
  }

  async close(): Promise<void> {
    await Promise.all([this.writer.close(), this.created.close(), this.reader.close(), this.trimmer.close()]);
  }

  /** The spaces that have more bytes or streams than they may, and by how much. */
  private async overLimits(sql: SQL, maxBytesOf: (app: AppId) => number) {
    if (performance.now() - this.totalsAtMs < this.totalsEveryMs) return { large: [], crowded: [] };
    const rows: { space_id: SpaceId; streams: string; bytes: string }[] =
      await sql`SELECT app AS space_id, count(*) AS streams, sum(bytes) AS bytes FROM history_streams GROUP BY app`;
    this.totalsAtMs = performance.now();
    const bytesOf = new Map(rows.map(({ space_id, bytes }) => [space_id, Number(bytes)]));
    const bytesIn = (spaceId: SpaceId): number => bytesOf.get(spaceId) ?? 0;
    const apps = new Set(rows.map(({ space_id }) => appOfSpace(space_id)));
    return {
      large: [...apps].flatMap((app) =>
        excessOf(app, bytesIn(spaceOf(app)), bytesIn(roomSpaceOf(app)), maxBytesOf(app)),
      ),
      crowded: rows
        // Created streams are refused instead of forgotten.
        .filter(({ space_id }) => !isStreamSpace(space_id))
        .map(({ space_id, streams }) => ({ spaceId: space_id, streams: Number(streams) - this.streamsMax }))
        .filter(({ streams }) => streams > 0),
    };
  }

  private async forget(ids: readonly string[]): Promise<void> {
    if (ids.length > 0)
      await this.trimmer.run((sql) => sql`SELECT history_forget(${arrayLiteral(ids)}::BIGINT[])`, BACKGROUND_MS);
  }

  private async setKeeps(streams: readonly { readonly id: string; readonly keep: Retention }[]): Promise<void> {
    if (streams.length === 0) return;
    const ids = arrayLiteral(streams.map(({ id }) => id));
    const messages = arrayLiteral(streams.map(({ keep }) => keep.messages));
    const ms = arrayLiteral(streams.map(({ keep }) => keep.seconds * 1000));
    await this.trimmer.run(
      (sql) => sql`SELECT history_keep(${ids}::BIGINT[], ${messages}::BIGINT[], ${ms}::BIGINT[])`,
      BACKGROUND_MS,
    );
  }
}
