/** Trimming of the embedded history: what is too old, too much or forgotten is deleted in slices, so that no publish waits for long. */
import type { Database } from "bun:sqlite";
import { type AppId, appOfSpace, isStreamSpace, roomSpaceOf, type SpaceId, spaceOf } from "../../base/ids.ts";
import { MESSAGE_ID_REMEMBERED_MS } from "../../protocol/limits.ts";
import { excessOf } from "../contract/excess.ts";
import { EMPTY_STREAM_KEPT_MS, EXPIRED_STREAM_KEPT_MS } from "../contract/limits.ts";
import { AppScan, FOUND_MAX, type Found } from "./app-scan.ts";
import type { SqliteRuns } from "./stored/runs.ts";
import type { SqliteStreams, StreamRow } from "./stored/streams.ts";

/** A call of `trim` ends after this time, give or take one step. */
const SLICE_MS = 1;
/** Messages that one step deletes, about half a millisecond. */
const STEP_ROWS = 256;
/** Streams that one step of the walk over all streams looks at. */
const WALK_STREAMS = 100;

interface TrimParts {
  readonly db: Database;
  readonly streams: SqliteStreams;
  readonly runs: SqliteRuns;
  readonly retentionMs: () => number;
  readonly idMs: () => number;
  /** Streams per application. */
  readonly streamsMax: number;
}

/** One kind of work. True: it did something, so there may be more. */
type Step = () => boolean;

export class SqliteTrim {
  /** Streams with more messages than they keep. Bound: streams that exist; each leaves when it is trimmed. */
  private readonly overfull = new Set<number>();
  private readonly scan: AppScan;
  private walkedTo = 0;
  /** The streams of one space that are being brought down to a level of bytes. */
  private cutting: { readonly found: readonly Found[]; at: number; readonly level: number } | undefined;
  /** The space whose streams were brought down last. */
  private cutLast: SpaceId | undefined;

  private readonly raiseLow;
  private readonly expired;
  private readonly walk;
  private readonly deleteIds;
  private readonly oneGone;
  private readonly forgetGone;

  constructor(private readonly parts: TrimParts) {
    const { db } = parts;
    this.scan = new AppScan(db);
    this.raiseLow = db.prepare<undefined, [number, string, number, number | null, number]>(
      "UPDATE streams SET low = ?, low_check = ?, bytes = ?, expires = ? WHERE id = ?",
    );
    this.expired = db.prepare<{ id: number }, [number]>(
      "SELECT id FROM streams WHERE expires <= ? ORDER BY expires LIMIT 1",
    );
    this.walk = db.prepare<Pick<StreamRow, "id" | "top" | "low" | "keep_messages" | "used">, [number]>(
      `SELECT id, top, low, keep_messages, used FROM streams WHERE id > ? ORDER BY id LIMIT ${WALK_STREAMS}`,
    );
    this.deleteIds = db.prepare<undefined, [number]>(
      `DELETE FROM ids WHERE seq IN (SELECT seq FROM ids ORDER BY seq LIMIT ${STEP_ROWS}) AND ABS(? - time) >= ${MESSAGE_ID_REMEMBERED_MS}`,
    );
    this.oneGone = db.prepare<{ stream: number }, []>("SELECT stream FROM gone LIMIT 1");
    // What an earlier process has left overfull. At the start all streams are read anyway, to add them up.
    const overfull = db.query<{ id: number }, []>("SELECT id FROM streams WHERE top - low + 1 > keep_messages");
    for (const { id } of overfull.all()) this.overfull.add(id);
    this.forgetGone = db.prepare<undefined, [number]>("DELETE FROM gone WHERE stream = ?");
  }

  /** Called by a publish that left a stream with more messages than it keeps. */
  noteOverfull(stream: number): void {
    this.overfull.add(stream);
  }

  trim(maxBytesOf: (app: AppId) => number): boolean {
    const until = performance.now() + SLICE_MS;
    this.walkOn();
    const steps: Step[] = [
      () => this.trimOverfull(),
      () => this.trimExpired(),
      () => this.trimApps(maxBytesOf),
      () => this.deleteIds.run(this.parts.idMs()).changes > 0,
      () => this.deleteGone(),
    ];
    // Alternating, so that much work of one kind does not keep the others waiting.
    let active = steps;
    while (active.length > 0) {
      const still: Step[] = [];
      for (const step of active) {
        if (performance.now() >= until) return true;
        if (step()) still.push(step);
      }
      active = still;
    }
    return false;
  }

  private trimOverfull(): boolean {
    const id = this.overfull.values().next().value;
    if (id === undefined) return false;
    const row = this.parts.streams.findById(id);
    if (!row || this.deleteUpTo(row, row.top - row.keep_messages)) this.overfull.delete(id);
    return true;
  }

  private trimExpired(): boolean {
    const nowMs = this.parts.retentionMs();
    const found = this.expired.get(nowMs);
    const row = found && this.parts.streams.findById(found.id);
    if (!row) return false;
    this.deleteUpTo(row, this.parts.streams.first(row, nowMs) - 1);
    return true;
  }

  /** One application at a time: the one that was found first is brought within its limits before the next. */
  private trimApps(maxBytesOf: (app: AppId) => number): boolean {
    const { streams, streamsMax } = this.parts;
    for (const [spaceId, totals] of streams.totals) {
      // Created streams are refused instead of trimmed.
      if (isStreamSpace(spaceId)) continue;
      if (totals.streams > streamsMax) {
        this.forgetDispensable(spaceId, totals.streams - streamsMax);
        return true;
      }
      const app = appOfSpace(spaceId);
      const [own, rooms] = [streams.usage(spaceOf(app)), streams.usage(roomSpaceOf(app))];
      const excesses = excessOf(app, own.bytes, rooms.bytes, maxBytesOf(app)).filter(
        ({ spaceId }) => streams.usage(spaceId).messages > 0,
      );
      // Alternating, each to its end: people who keep writing in a room must not keep the application's own channels from being trimmed.
      const excess =
        excesses.find(({ spaceId }) => this.scan.isAt(spaceId)) ??
        excesses.find(({ spaceId }) => spaceId !== this.cutLast) ??
        excesses[0];
      if (excess) return this.trimLargest(excess.spaceId, excess.bytes);
    }
    return false;
  }

  private forgetDispensable(spaceId: SpaceId, surplus: number): void {
    const found = this.scan.mostDispensable(spaceId);
    if (!found) return;
    this.forgetStreams(found.slice(0, Math.min(surplus, STEP_ROWS)).map(({ id }) => id));
    this.scan.restart();
  }

  /**
   * The oldest messages of the largest channel go first, until it is as large as the next ones: every channel that is larger than the level
   * at which the space has lost enough is brought down to it.
   */
  private trimLargest(spaceId: SpaceId, excess: number): boolean {
    const found = this.scan.largest(spaceId);
    if (!found) return true;
    if (this.cutting?.found !== found) this.cutting = { found, at: 0, level: levelOf(found, excess) };
    const { cutting } = this;
    const one = found[cutting.at];
    const row = one && one.bytes >= cutting.level ? this.parts.streams.findById(one.id) : undefined;
    if (!row) {
      this.scan.restart();
      this.cutting = undefined;
      this.cutLast = spaceId;
      return true;
    }
    const count = row.top - row.low + 1;
    const over = Math.min(excess, row.bytes - cutting.level);
    // At least one message, so that equally large channels lose some too.
    const cut = count === 0 ? 0 : Math.max(1, Math.ceil((over / row.bytes) * count));
    if (this.deleteUpTo(row, Math.min(row.top, row.low + cut - 1))) cutting.at++;
    return true;
  }

  /** False: a slice of it is done. The caller's limit may be lower than what is stored. */
  private deleteUpTo(row: StreamRow, last: number): boolean {
    const { db, streams, runs } = this.parts;
    if (last < row.low) return true;
    // A run is cut only where the last step ends: what is left of it has to be written anew.
    const end = Math.min(last, runs.endOfRun(row.id, row.low + STEP_ROWS - 1) ?? last);
    const check = streams.check(row, end);
    const next = streams.message(row, end + 1);
    const bytes = db.transaction(() => {
      const deleted = runs.deleteUpTo(row.id, end);
      const expires = next ? next.time + row.keep_ms : null;
      this.raiseLow.run(end + 1, check ?? row.low_check, row.bytes - deleted, expires, row.id);
      return deleted;
    })();
    streams.count(row.app, 0, end === row.top ? -1 : 0, row.low - end - 1, -bytes);
    return end === last;
  }

  /** Looks at some streams per call: forgets those that are empty and unused, and finds those that a new rule has left overfull. */
  private walkOn(): void {
    const nowMs = this.parts.retentionMs();
    const rows = this.walk.all(this.walkedTo);
    this.walkedTo = rows.length < WALK_STREAMS ? 0 : (rows.at(-1)?.id ?? 0);
    for (const { id, top, low, keep_messages: keep } of rows) if (top - low + 1 > keep) this.overfull.add(id);
    const unused = rows.filter(
      ({ top, low, used }) => low > top && nowMs - used >= (top === 0 ? EMPTY_STREAM_KEPT_MS : EXPIRED_STREAM_KEPT_MS),
    );
    this.forgetStreams(unused.map(({ id }) => id));
  }

  private forgetStreams(ids: readonly number[]): void {
    const { db, streams } = this.parts;
    if (ids.length === 0) return;
    const rows = ids.map((id) => streams.findById(id)).filter((row) => row !== undefined);
    db.transaction(() => {
      for (const row of rows) streams.deleteRow(row);
    })();
    for (const row of rows) streams.countDeleted(row);
  }

  private deleteGone(): boolean {
    const gone = this.oneGone.get();
    if (!gone) return false;
    const { db, runs } = this.parts;
    db.transaction(() => {
      // Its ids expire with all the others.
      if (!runs.deleteSome(gone.stream)) this.forgetGone.run(gone.stream);
    })();
    return true;
  }
}

/** The size that the largest streams must be brought down to so that together they lose `excess` bytes. */
function levelOf(found: readonly Found[], excess: number): number {
  let level = found.at(-1)?.bytes ?? 0;
  if (found.length < FOUND_MAX) level = 0;
  let sum = 0;
  for (const [at, { bytes }] of found.entries()) {
    sum += bytes;
    level = Math.max(level, (sum - excess) / (at + 1));
  }
  return level;
}
