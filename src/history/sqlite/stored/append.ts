/** Appends batches to the embedded history, and finds out which were stored. */
import type { Database } from "bun:sqlite";
import type { SpaceId } from "../../../base/ids.ts";
import { MESSAGE_ID_REMEMBERED_MS } from "../../../protocol/limits.ts";
import type { Retention } from "../../../protocol/patterns/channel-rules.ts";
import { NO_EPOCH } from "../../../protocol/position.ts";
import type { Appended, Batch, NewMessage } from "../../contract/history.ts";
import { idKey } from "../../contract/id-key.ts";
import type { SqliteRuns } from "./runs.ts";
import { idsOf, type SqliteStreams, type StreamRow } from "./streams.ts";

/** One transaction. */
export interface AppendSession {
  /** The row of a stream as it is now, with what this transaction has appended. */
  rowOf(spaceId: SpaceId, channel: string): StreamRow | undefined;
  append(batch: Batch): readonly Appended[];
  /** A stream was inserted: it is counted when the transaction is committed. */
  inserted(spaceId: SpaceId): void;
}

/** A stream while batches are appended to it. */
interface Touched {
  readonly row: StreamRow;
  readonly isNew: boolean;
  /** What the batch that is being appended has for it. Bound: its messages. */
  messages: NewMessage[];
  /** How many all batches have added. */
  added: number;
  bytes: number;
}

interface FoundId {
  readonly off: number;
  readonly batch: string;
  readonly time: number;
  readonly epoch: string | null;
}

interface AppendParts {
  readonly db: Database;
  readonly streams: SqliteStreams;
  readonly runs: SqliteRuns;
  readonly wallMs: () => number;
  /** For how long ids are remembered. */
  readonly idMs: () => number;
  /** Called for a stream that holds more messages than it should. */
  readonly overfull: (stream: number) => void;
}

export class SqliteAppend {
  private readonly begin;
  private readonly commit;
  private readonly findId;
  private readonly putId;
  private readonly raise;
  private readonly setExpires;
  /** The stream of the last message of the batch. */
  private last: Touched | undefined;

  constructor(private readonly parts: AppendParts) {
    const { db } = parts;
    this.begin = db.prepare<undefined, []>("BEGIN IMMEDIATE");
    this.commit = db.prepare<undefined, []>("COMMIT");
    this.findId = db.prepare<FoundId, [number, string, string]>(
      "SELECT off, batch, time, epoch FROM ids WHERE stream = ? AND scope = ? AND mid = ?",
    );
    // Replaced, not updated: the row moves to the end, where the newest ids are.
    this.putId = db.prepare<undefined, [number, string, string, number, string, number, string]>(
      "INSERT OR REPLACE INTO ids (stream, scope, mid, off, batch, time, epoch) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.raise = db.prepare<undefined, [number, string, number, number, number, number, number]>(
      "UPDATE streams SET top = ?, top_check = ?, last_time = ?, bytes = ?, changed = ?, used = ? WHERE id = ?",
    );
    this.setExpires = db.prepare<undefined, [number, number]>("UPDATE streams SET expires = ? WHERE id = ?");
  }

  /** In one transaction, one after the other. */
  appendAll(batches: readonly Batch[]): readonly (readonly Appended[])[] {
    return this.transact(({ append }) => batches.map(append));
  }

  /** In one transaction, which is undone if `work` throws. */
  transact<T>(work: (session: AppendSession) => T): T {
    const { db, streams } = this.parts;
    const touched = new Map<string, Touched>();
    this.last = undefined;
    const nowMs = this.parts.wallMs();
    const idMs = this.parts.idMs();
    /** Bound: the streams that `work` inserts. */
    const inserted: SpaceId[] = [];
    const session: AppendSession = {
      rowOf: (spaceId, channel) => touched.get(`${spaceId} ${channel}`)?.row ?? streams.find(spaceId, channel),
      append: (batch) => this.appendBatch(batch, touched, nowMs, idMs),
      inserted: (spaceId) => inserted.push(spaceId),
    };
    let result: T;
    this.begin.run();
    try {
      result = work(session);
      for (const { row, added } of touched.values())
        if (added > 0) this.raise.run(row.top, row.top_check, row.last_time, row.bytes, nowMs, nowMs, row.id);
      this.commit.run();
    } catch (error) {
      if (db.inTransaction) db.run("ROLLBACK");
      throw error;
    }
    for (const spaceId of inserted) streams.count(spaceId, 1, 0, 0, 0);
    this.count(touched);
    return result;
  }

  private appendBatch(
    { check, messages }: Batch,
    touched: Map<string, Touched>,
    nowMs: number,
    idMs: number,
  ): readonly Appended[] {
    const results: Appended[] = [];
    for (const message of messages) results.push(this.appendOne(check, message, touched, nowMs, idMs));
    // What a batch has stored in a stream is one run.
    for (const one of touched.values()) {
      if (one.messages.length === 0) continue;
      this.parts.runs.add(one.row.id, one.row.top, one.row.last_time, check, one.messages);
      one.added += one.messages.length;
      one.messages = [];
    }
    return results;
  }

  private count(touched: ReadonlyMap<string, Touched>): void {
    const { streams, overfull } = this.parts;
    for (const { row, isNew, added, bytes } of touched.values()) {
      const wasEmpty = row.top - added < row.low;
      const filled = Number(wasEmpty && added > 0);
      streams.count(row.app, Number(isNew), filled, added, bytes);
      if (row.top - row.low + 1 > row.keep_messages) overfull(row.id);
    }
  }

  private appendOne(
    check: string,
    message: NewMessage,
    touched: Map<string, Touched>,
    nowMs: number,
    idMs: number,
  ): Appended {
    const stream = this.touch(message, touched, nowMs);
    const { row } = stream;
    const { id } = message;
    if (id !== undefined) {
      const found = this.findId.get(idsOf(row), message.idScope, id);
      if (found && isRemembered(found.time, idMs)) return duplicateOf(found, row);
    }
    const offset = ++row.top;
    const time = Math.max(row.last_time, nowMs);
    if (id !== undefined) this.putId.run(idsOf(row), message.idScope, id, offset, check, idMs, row.epoch);
    if (row.expires === null) {
      row.expires = time + row.keep_ms;
      this.setExpires.run(row.expires, row.id);
    }
    row.top_check = check;
    row.last_time = time;
    row.bytes += message.bytes;
    stream.messages.push(message);
    stream.bytes += message.bytes;
    return { epoch: row.epoch, offset, check, time, isDuplicate: false };
  }

  private touch(message: NewMessage, touched: Map<string, Touched>, nowMs: number): Touched {
    const { spaceId, channel, keep } = message;
    // Most messages are of the channel that the one before was of.
    if (this.last?.row.channel === channel && this.last.row.app === spaceId) return this.last;
    const key = `${spaceId} ${channel}`;
    this.last = touched.get(key) ?? this.touchFirst(spaceId, channel, keep, nowMs);
    touched.set(key, this.last);
    return this.last;
  }

  private touchFirst(spaceId: SpaceId, channel: string, keep: Retention, nowMs: number): Touched {
    const { streams } = this.parts;
    const found = streams.find(spaceId, channel);
    const row = found ?? streams.insert(spaceId, channel, keep, nowMs);
    streams.keep(row, keep);
    return { row, isNew: found === undefined, messages: [], added: 0, bytes: 0 };
  }

  /**
   * A transaction of this process has either been committed or undone, so nothing can be stored later. What a batch has stored in
   * one stream has offsets without a gap, in the order of the batch; trimming may have removed the oldest.
   */
  settle(batch: Batch): readonly Appended[] | undefined {
    const { streams, runs } = this.parts;
    const idMs = this.parts.idMs();
    const groups = Map.groupBy(batch.messages.keys(), (at) => {
      const { spaceId, channel } = batch.messages[at] as NewMessage;
      return `${spaceId} ${channel}`;
    });
    const results: Appended[] = [];
    for (const places of groups.values()) {
      const { spaceId, channel } = batch.messages[places[0] as number] as NewMessage;
      const row = streams.find(spaceId, channel);
      if (!row) return undefined;
      const newest = runs.endOf(row.id, batch.check);
      const seen = new Set<string>();
      const stored = places.filter((at) => !this.placeDuplicate(batch, at, row, seen, results, idMs));
      if (!newest && stored.length > 0) return undefined;
      for (const [index, at] of stored.entries()) {
        const offset = (newest?.last ?? 0) - stored.length + 1 + index;
        results[at] = { epoch: row.epoch, offset, check: batch.check, time: newest?.time ?? 0, isDuplicate: false };
      }
    }
    return results;
  }

  /** Notes the result of a message that another one with the same id precedes; false if it is not such a message. */
  private placeDuplicate(
    batch: Batch,
    at: number,
    row: StreamRow,
    seen: Set<string>,
    results: Appended[],
    idMs: number,
  ): boolean {
    const { id, idScope } = batch.messages[at] as NewMessage;
    if (id === undefined) return false;
    const found = this.findId.get(idsOf(row), idScope, id);
    const key = idKey(idScope, id);
    const isFirst = !seen.has(key);
    seen.add(key);
    if (!found || (found.batch === batch.check ? isFirst : !isRemembered(found.time, idMs))) return false;
    results[at] = duplicateOf(found, row);
    return true;
  }
}

/** Where the first message with an id is, or was. */
function duplicateOf({ off: offset, batch: check, time, epoch: stored }: FoundId, row: StreamRow): Appended {
  // Without an epoch: an earlier version has stored it. If the history was removed since, its position is nowhere.
  const epoch = stored ?? (row.ids_of === null ? row.epoch : NO_EPOCH);
  const first = { epoch, offset, check, time, isDuplicate: true };
  return epoch === row.epoch ? first : { ...first, isRemoved: true };
}

/** Either way: earlier versions wrote times of the wall clock, which may have been set back since. Such an id must not last. */
const isRemembered = (time: number, idMs: number): boolean => Math.abs(idMs - time) < MESSAGE_ID_REMEMBERED_MS;
