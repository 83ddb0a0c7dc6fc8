/** Created streams in the embedded history: what the table `created` says of each, beside its row in `streams`. */
import type { Database } from "bun:sqlite";
import type { SpaceId } from "../../../base/ids.ts";
import type { Retention } from "../../../protocol/patterns/channel-rules.ts";
import { NO_CHECK } from "../../../protocol/position.ts";
import type { CreatedStream, StreamConfig } from "../../contract/created-streams.ts";
import type { SqliteStreams, StreamRow } from "../stored/streams.ts";

/** Nothing that trims or forgets streams touches one that keeps this much, and was used then. */
export const KEPT: Retention = { messages: Number.MAX_SAFE_INTEGER, seconds: 1e11 };
const USED_MS = 1e14;

/** `ready`: it can be used. `copying`: a fork that is not complete. `gone`: deleted, but it has forks. */
export type CreatedState = "ready" | "copying" | "gone";

export interface CreatedRow {
  readonly stream: number;
  readonly type: string;
  readonly ttl_ms: number | null;
  readonly expires_at: number | null;
  readonly idle_ms: number;
  readonly made: number;
  used: number;
  ends: number;
  /** By the wall clock: what `changes` compares. */
  readonly changed: number;
  /** NULL: it is open. Otherwise the producer's write that has closed it (closerOf), or an empty text. */
  closed: string | null;
  seq: string | null;
  /** What it is a fork of, as it was asked for. */
  readonly fork: string | null;
  /** The stream that it is a fork of. */
  readonly source: number | null;
  /** JSON, as in CreatedStream. */
  readonly lineage: string;
  readonly state: CreatedState;
}

/** Both rows of a created stream. */
export interface Found {
  readonly row: StreamRow;
  readonly created: CreatedRow;
}

const COLUMNS =
  "stream, type, ttl_ms, expires_at, idle_ms, made, used, ends, changed, closed, seq, fork, source, lineage, state";

export class CreatedRows {
  private readonly byStream;
  private readonly insert;
  private readonly setState;
  private readonly setUse;
  private readonly setWritten;
  private readonly neverForget;
  private readonly countOf;
  private readonly anyFork;
  private readonly erase;
  private readonly eraseProducers;
  private readonly noteEnd;

  constructor(
    db: Database,
    private readonly streams: SqliteStreams,
    private readonly wallMs: () => number,
  ) {
    this.byStream = db.prepare<CreatedRow, [number]>(`SELECT ${COLUMNS} FROM created WHERE stream = ?`);
    this.insert = db.prepare<undefined, (string | number | null)[]>(
      `INSERT INTO created (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.setState = db.prepare<undefined, [CreatedState, number, number]>(
      "UPDATE created SET state = ?, changed = ? WHERE stream = ?",
    );
    this.setUse = db.prepare<undefined, [number, number, number]>(
      "UPDATE created SET used = ?, ends = ? WHERE stream = ?",
    );
    this.setWritten = db.prepare<undefined, [number, number, number, string | null, string | null, number]>(
      "UPDATE created SET used = ?, ends = ?, changed = ?, closed = ?, seq = ? WHERE stream = ?",
    );
    this.neverForget = db.prepare<undefined, [number, number]>("UPDATE streams SET used = ? WHERE id = ?");
    this.countOf = db.prepare<{ count: number }, [string]>("SELECT COUNT(*) AS count FROM streams WHERE app = ?");
    this.anyFork = db.prepare<{ stream: number }, [number]>("SELECT stream FROM created WHERE source = ? LIMIT 1");
    this.erase = db.prepare<undefined, [number]>("DELETE FROM created WHERE stream = ?");
    this.eraseProducers = db.prepare<undefined, [number]>("DELETE FROM producers WHERE stream = ?");
    this.noteEnd = db.prepare<undefined, [string, string, number]>(
      "INSERT OR REPLACE INTO ended (app, channel, at) VALUES (?, ?, ?)",
    );
  }

  find(spaceId: SpaceId, channel: string): Found | undefined {
    const row = this.streams.find(spaceId, channel);
    return row && this.of(row);
  }

  of(row: StreamRow): Found | undefined {
    const created = this.byStream.get(row.id);
    return created ? { row, created } : undefined;
  }

  /** Rows for a new stream, within a transaction; it is counted when that is committed. */
  add(
    spaceId: SpaceId,
    channel: string,
    nowMs: number,
    values: Omit<CreatedRow, "stream" | "made" | "used" | "changed">,
  ): Found {
    const row = this.streams.insert(spaceId, channel, KEPT, this.wallMs());
    this.neverForget.run(USED_MS, row.id);
    row.used = USED_MS;
    const changed = this.wallMs();
    const created: CreatedRow = { stream: row.id, made: nowMs, used: nowMs, changed, ...values };
    const { type, ttl_ms, expires_at, idle_ms, ends, closed, seq, fork, source, lineage, state } = created;
    this.insert.run(
      row.id,
      type,
      ttl_ms,
      expires_at,
      idle_ms,
      nowMs,
      nowMs,
      ends,
      changed,
      closed,
      seq,
      fork,
      source,
      lineage,
      state,
    );
    return { row, created };
  }

  /** Its time to live begins again. */
  use({ created }: Found, nowMs: number): void {
    created.used = nowMs;
    created.ends = endOf(created, nowMs);
    this.setUse.run(created.used, created.ends, created.stream);
  }

  /** A write was accepted: `closed` and `seq` are as in the row. */
  written({ created }: Found, nowMs: number): void {
    created.used = nowMs;
    created.ends = endOf(created, nowMs);
    this.setWritten.run(created.used, created.ends, this.wallMs(), created.closed, created.seq, created.stream);
  }

  become({ created }: Found, state: CreatedState): void {
    this.setState.run(state, this.wallMs(), created.stream);
  }

  hasForks({ row }: Found): boolean {
    return this.anyFork.get(row.id) !== null;
  }

  /** One that has expired is gone if it has forks, also before it is removed. */
  stateOf(found: Found, nowMs: number): "ready" | "gone" | "none" {
    const { created } = found;
    if (created.state === "gone") return "gone";
    if (isUsable(found, nowMs)) return "ready";
    return created.state === "ready" && this.hasForks(found) ? "gone" : "none";
  }

  streamsOf(spaceId: SpaceId): number {
    return this.countOf.get(spaceId)?.count ?? 0;
  }

  /** Within a transaction, without counting it. */
  remove(found: Found): void {
    const { row } = found;
    this.streams.deleteRow(row);
    this.erase.run(row.id);
    this.eraseProducers.run(row.id);
    this.noteEnd.run(row.app, row.channel, this.wallMs());
  }

  noteGone({ row }: Found): void {
    this.eraseProducers.run(row.id);
    this.noteEnd.run(row.app, row.channel, this.wallMs());
  }
}

/** It exists for those who use it. */
export const isUsable = ({ created }: Found, nowMs: number): boolean =>
  created.state === "ready" && created.ends > nowMs;

/** When it ends if it is not used again. */
export const endOf = (
  { ttl_ms, expires_at, idle_ms }: Pick<CreatedRow, "ttl_ms" | "expires_at" | "idle_ms">,
  usedMs: number,
): number => Math.min(usedMs + Math.min(ttl_ms ?? idle_ms, idle_ms), expires_at ?? Number.MAX_SAFE_INTEGER);

const configOf = ({ type, ttl_ms, expires_at }: CreatedRow): StreamConfig => ({
  contentType: type,
  ttlSeconds: ttl_ms === null ? undefined : ttl_ms / 1000,
  expiresAtMs: expires_at ?? undefined,
});

/** Created streams are never trimmed, so their state needs no clock. */
export function shown({ row, created }: Found): CreatedStream {
  return {
    epoch: row.epoch,
    top: row.top,
    topCheck: row.top_check,
    first: row.low,
    firstCheck: row.low_check === "" ? NO_CHECK : row.low_check,
    config: configOf(created),
    isClosed: created.closed !== null,
    createdMs: created.made,
    usedMs: created.used,
    endsMs: created.ends,
    bytes: row.bytes,
    lineage: JSON.parse(created.lineage) as CreatedStream["lineage"],
  };
}
