/** The streams of the embedded history: their rows, and how much each application has stored. */
import type { Database } from "bun:sqlite";
import type { SpaceId } from "../../../base/ids.ts";
import type { Retention } from "../../../protocol/patterns/channel-rules.ts";
import { NO_CHECK } from "../../../protocol/position.ts";
import type { HistoryUsage, StreamState } from "../../contract/history.ts";
import { STREAM_USE_NOTED_MS } from "../../contract/limits.ts";
import { randomEpoch } from "../../contract/random.ts";
import type { SqliteRuns } from "./runs.ts";

export interface StreamRow {
  readonly id: number;
  readonly app: SpaceId;
  readonly channel: string;
  readonly epoch: string;
  top: number;
  top_check: string;
  low: number;
  low_check: string;
  last_time: number;
  bytes: number;
  keep_messages: number;
  keep_ms: number;
  expires: number | null;
  used: number;
  /** The stream under which the ids of its channel are remembered, if it is not this one. */
  readonly ids_of: number | null;
}

/** Ids outlive the removal of a history: the next stream of the channel finds them where its first one has put them. */
export const idsOf = ({ id, ids_of }: StreamRow): number => ids_of ?? id;

interface Totals {
  streams: number;
  filled: number;
  messages: number;
  bytes: number;
}

const NOTHING: HistoryUsage = { streams: 0, filled: 0, messages: 0, bytes: 0 };

const keepMs = ({ seconds }: Retention): number => seconds * 1000;

export class SqliteStreams {
  /** So that neither a publish nor a page of the dashboard adds up all streams. Bound: applications with streams. */
  readonly totals = new Map<SpaceId, Totals>();

  private readonly byName;
  private readonly byId;
  private readonly add;
  private readonly delete;
  private readonly noteGone;
  private readonly noteUse;
  private readonly setKeep;

  constructor(
    db: Database,
    private readonly runs: SqliteRuns,
  ) {
    const columns =
      "id, app, channel, epoch, top, top_check, low, low_check, last_time, bytes, keep_messages, keep_ms, expires, used, ids_of";
    this.byName = db.prepare<StreamRow, [string, string]>(
      `SELECT ${columns} FROM streams WHERE app = ? AND channel = ?`,
    );
    this.byId = db.prepare<StreamRow, [number]>(`SELECT ${columns} FROM streams WHERE id = ?`);
    this.add = db.prepare<
      StreamRow,
      [string, string, string, string, string, number, number, number, number, number | null]
    >(
      `INSERT INTO streams (app, channel, epoch, top, top_check, low, low_check, last_time, bytes, keep_messages, keep_ms, changed, used, ids_of)
       VALUES (?, ?, ?, 0, ?, 1, ?, 0, 0, ?, ?, ?, ?, ?) RETURNING ${columns}`,
    );
    this.delete = db.prepare<undefined, [number]>("DELETE FROM streams WHERE id = ?");
    this.noteGone = db.prepare<undefined, [number]>("INSERT INTO gone (stream) VALUES (?)");
    this.noteUse = db.prepare<undefined, [number, number]>("UPDATE streams SET used = ? WHERE id = ?");
    this.setKeep = db.prepare<undefined, [number, number, number | null, number]>(
      "UPDATE streams SET keep_messages = ?, keep_ms = ?, expires = ? WHERE id = ?",
    );
    const sums = db.query<Totals & { app: SpaceId }, []>(
      "SELECT app, COUNT(*) AS streams, SUM(top >= low) AS filled, SUM(top - low + 1) AS messages, SUM(bytes) AS bytes FROM streams GROUP BY app",
    );
    for (const { app, ...totals } of sums.all()) this.totals.set(app, totals);
  }

  find(spaceId: SpaceId, channel: string): StreamRow | undefined {
    return this.byName.get(spaceId, channel) ?? undefined;
  }

  findById(id: number): StreamRow | undefined {
    return this.byId.get(id) ?? undefined;
  }

  /** Without counting it: that happens when its transaction is committed. `ids`: its `ids_of`. */
  insert(spaceId: SpaceId, channel: string, keep: Retention, nowMs: number, ids: number | null = null): StreamRow {
    const values = [NO_CHECK, NO_CHECK, keep.messages, keepMs(keep), nowMs, nowMs, ids] as const;
    const row = this.add.get(spaceId, channel, randomEpoch(), ...values);
    if (!row) throw new Error("the new stream was not returned");
    return row;
  }

  /** Its messages are deleted later, by trimming. Like `insert`, without counting. */
  deleteRow(row: StreamRow): void {
    this.delete.run(row.id);
    this.noteGone.run(row.id);
  }

  use(row: StreamRow, nowMs: number): void {
    if (nowMs - row.used >= STREAM_USE_NOTED_MS || nowMs < row.used) this.noteUse.run(nowMs, row.id);
  }

  /** Rarely changes anything; only then it costs a statement. */
  keep(row: StreamRow, keep: Retention): void {
    if (row.keep_messages === keep.messages && row.keep_ms === keepMs(keep)) return;
    row.keep_messages = keep.messages;
    row.keep_ms = keepMs(keep);
    const oldest = row.expires === null ? undefined : this.message(row, row.low);
    row.expires = oldest ? oldest.time + row.keep_ms : null;
    this.setKeep.run(row.keep_messages, row.keep_ms, row.expires, row.id);
  }

  message(row: StreamRow, offset: number): { readonly time: number; readonly batch: string } | undefined {
    return this.runs.at(row.id, offset);
  }

  /** The first message that the stream holds: those that are too many or too old are no longer shown, although they may be stored. */
  first(row: StreamRow, nowMs: number): number {
    const byCount = Math.max(row.low, row.top - row.keep_messages + 1);
    if (row.expires === null || row.expires > nowMs) return byCount;
    return this.firstSince(row, byCount, nowMs - row.keep_ms + 1);
  }

  /** The first offset from `from` whose time is `sinceMs` or later; `top + 1` if there is none. Times do not decrease. */
  firstSince(row: StreamRow, from: number, sinceMs: number): number {
    let [low, high] = [from, row.top + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.message(row, middle)?.time ?? 0) >= sinceMs) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The check at an offset between `low - 1` and `top`. */
  check(row: StreamRow, offset: number): string | undefined {
    if (offset === row.top) return row.top_check;
    if (offset === row.low - 1) return row.low_check;
    return this.message(row, offset)?.batch;
  }

  state(row: StreamRow, nowMs: number): StreamState {
    const first = this.first(row, nowMs);
    const firstCheck = this.check(row, first - 1) ?? NO_CHECK;
    return { epoch: row.epoch, top: row.top, topCheck: row.top_check, first, firstCheck };
  }

  usage(spaceId: SpaceId): HistoryUsage {
    return { ...(this.totals.get(spaceId) ?? NOTHING) };
  }

  /** What all spaces have together. */
  all(): Pick<HistoryUsage, "streams" | "messages" | "bytes"> {
    const sum = { streams: 0, messages: 0, bytes: 0 };
    for (const { streams, messages, bytes } of this.totals.values()) {
      sum.streams += streams;
      sum.messages += messages;
      sum.bytes += bytes;
    }
    return sum;
  }

  /** Counts a change that has been committed. */
  count(spaceId: SpaceId, streams: number, filled: number, messages: number, bytes: number): void {
    const totals = this.totals.get(spaceId) ?? { ...NOTHING };
    totals.streams += streams;
    totals.filled += filled;
    totals.messages += messages;
    totals.bytes += bytes;
    if (totals.streams > 0) this.totals.set(spaceId, totals);
    else this.totals.delete(spaceId);
  }

  /** Counts the messages of a stream that was deleted, and the stream itself unless an empty one has taken its place. */
  countDeleted({ app, top, low, bytes }: StreamRow, streams = -1): void {
    this.count(app, streams, top >= low ? -1 : 0, low - top - 1, -bytes);
  }
}
