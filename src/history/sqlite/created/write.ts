/** Decides writes to created streams and over HTTP, and stores what is accepted: the writes of a batch in one transaction. */
import type { Database } from "bun:sqlite";
import type { SpaceId } from "../../../base/ids.ts";
import { isSameType } from "../../../protocol/streams/data.ts";
import type { End, Producer, Write, WriteBatch, WriteRefusal, Written } from "../../contract/created-streams.ts";
import { PRODUCERS_MAX, PRODUCERS_PER_OWNER_MAX } from "../../contract/limits.ts";
import { closerOf, decodeResult, encodeResult } from "../../contract/write-result.ts";
import type { AppendSession, SqliteAppend } from "../stored/append.ts";
import { idsOf, type SqliteStreams, type StreamRow } from "../stored/streams.ts";
import type { CreatedRows, Found } from "./rows.ts";

const JSON_TYPE = "application/json";

interface ProducerRow {
  readonly epoch: number;
  readonly seq: number;
}

interface WriteParts {
  readonly db: Database;
  readonly streams: SqliteStreams;
  readonly rows: CreatedRows;
  readonly appending: SqliteAppend;
  /** By this clock streams and producers expire. */
  readonly retentionMs: () => number;
}

/** What one transaction has found and changed. */
interface Deciding {
  readonly session: AppendSession;
  readonly check: string;
  readonly nowMs: number;
  /** Created streams that were written to. Bound: the writes of a batch. */
  readonly found: Map<string, Found>;
  /** Bytes that were stored, by application. Bound: as `found`. */
  readonly added: Map<SpaceId, number>;
}

export class SqliteWrite {
  private readonly producer;
  private readonly putProducer;
  private readonly countOfOwner;
  private readonly countOfStream;
  private readonly putResult;
  private readonly result;

  constructor(private readonly parts: WriteParts) {
    const { db } = parts;
    this.producer = db.prepare<ProducerRow, [number, string, string]>(
      "SELECT epoch, seq FROM producers WHERE stream = ? AND owner = ? AND pid = ?",
    );
    this.putProducer = db.prepare<undefined, [number, string, string, number, number, number]>(
      "INSERT OR REPLACE INTO producers (stream, owner, pid, epoch, seq, used) VALUES (?, ?, ?, ?, ?, ?)",
    );
    this.countOfOwner = db.prepare<{ count: number }, [number, string]>(
      "SELECT COUNT(*) AS count FROM producers WHERE stream = ? AND owner = ?",
    );
    this.countOfStream = db.prepare<{ count: number }, [number]>(
      "SELECT COUNT(*) AS count FROM producers WHERE stream = ?",
    );
    this.putResult = db.prepare<undefined, [string, string, string, number]>(
      "INSERT OR REPLACE INTO writers (id, batch, result, used) VALUES (?, ?, ?, ?)",
    );
    this.result = db.prepare<{ result: string }, [string, string]>(
      "SELECT result FROM writers WHERE id = ? AND batch = ?",
    );
  }

  writeAll({ writer, check, writes }: WriteBatch): readonly Written[] {
    const nowMs = this.parts.retentionMs();
    return this.parts.appending.transact((session) => {
      const deciding: Deciding = { session, check, nowMs, found: new Map(), added: new Map() };
      const results = writes.map((write) => this.writeOne(write, deciding));
      this.putResult.run(writer, check, encodeResult(results), nowMs);
      return results;
    });
  }

  /** A transaction of this process has either been committed or undone. */
  settle({ writer, check }: WriteBatch): readonly Written[] | undefined {
    const row = this.result.get(writer, check);
    return row ? decodeResult(row.result) : undefined;
  }

  private writeOne(write: Write, deciding: Deciding): Written {
    const { spaceId, channel, keep, producer, closes } = write;
    const row = deciding.session.rowOf(spaceId, channel);
    const found = keep ? undefined : this.createdOf(row, deciding);
    if (found === "gone") return { outcome: "gone" };
    if (!keep && !found) return { outcome: "not found" };
    const known =
      row && producer ? (this.producer.get(idsOf(row), producer.owner, producer.id) ?? undefined) : undefined;
    const refused = refusalOf(write, row, found, known) ?? this.overLimits(write, row, known, deciding);
    if (refused) return refused;
    const appended =
      write.messages.length === 0 ? [] : deciding.session.append({ check: deciding.check, messages: write.messages });
    const after = deciding.session.rowOf(spaceId, channel);
    if (!after) throw new Error("a stream that was written to is not there");
    if (producer)
      this.putProducer.run(idsOf(after), producer.owner, producer.id, producer.epoch, producer.seq, deciding.nowMs);
    if (found) this.noteWrite(found, write, deciding.nowMs);
    this.addBytes(write, deciding);
    return { outcome: "written", appended, producerSeq: producer?.seq, ...endOf(after, closes) };
  }

  private createdOf(row: StreamRow | undefined, { found, nowMs }: Deciding): Found | "gone" | undefined {
    if (!row) return undefined;
    const key = `${row.app} ${row.channel}`;
    const one = found.get(key) ?? this.parts.rows.of(row);
    if (!one) return undefined;
    // With the row of this transaction, which has what was appended before.
    const now = { row, created: one.created };
    found.set(key, now);
    const state = this.parts.rows.stateOf(one, nowMs);
    if (state === "gone") return "gone";
    return state === "ready" ? now : undefined;
  }

  private overLimits(
    { spaceId, keep, producer, messages, limits }: Write,
    row: StreamRow | undefined,
    known: ProducerRow | undefined,
    { added }: Deciding,
  ): WriteRefusal | undefined {
    if (row && producer && !known && this.hasTooMany(idsOf(row), producer)) return { outcome: "too many producers" };
    if (keep || messages.length === 0) return undefined;
    const more = messages.reduce((sum, { bytes }) => sum + bytes, 0);
    if ((row?.bytes ?? 0) + more > limits.streamBytes) return { outcome: "stream full" };
    const used = this.parts.streams.usage(spaceId).bytes + (added.get(spaceId) ?? 0);
    return used + more > limits.appBytes ? { outcome: "application full" } : undefined;
  }

  private hasTooMany(stream: number, { owner }: Producer): boolean {
    if ((this.countOfOwner.get(stream, owner)?.count ?? 0) >= PRODUCERS_PER_OWNER_MAX) return true;
    return (this.countOfStream.get(stream)?.count ?? 0) >= PRODUCERS_MAX;
  }

  private noteWrite(found: Found, { closes, producer, seq }: Write, nowMs: number): void {
    const { created } = found;
    if (closes) created.closed = closerOf(producer);
    if (seq !== undefined) created.seq = seq;
    this.parts.rows.written(found, nowMs);
  }

  private addBytes({ spaceId, messages }: Write, { added }: Deciding): void {
    const bytes = messages.reduce((sum, one) => sum + one.bytes, 0);
    added.set(spaceId, (added.get(spaceId) ?? 0) + bytes);
  }
}

/** What is checked first to last, but for the limits; a duplicate is an answer too. */
function refusalOf(
  write: Write,
  row: StreamRow | undefined,
  found: Found | undefined,
  known: ProducerRow | undefined,
): Written | undefined {
  const { producer, messages, isMalformed, closes, keep, contentType, seq } = write;
  const end = row ? endOf(row, found?.created.closed !== null && found !== undefined) : undefined;
  if (producer && known && end && producer.epoch < known.epoch)
    return { outcome: "stale epoch", epoch: known.epoch, ...end };
  const hasBody = messages.length > 0 || isMalformed;
  if (end?.isClosed) {
    const isRepeated = producer ? found?.created.closed === closerOf(producer) : closes && !hasBody;
    return isRepeated
      ? { outcome: "duplicate", appended: [], producerSeq: known?.seq, ...end }
      : { outcome: "closed", ...end };
  }
  const type = keep ? JSON_TYPE : (found?.created.type ?? "");
  if (hasBody && !isSameType(contentType ?? "", type)) return { outcome: "other type" };
  if (isMalformed) return { outcome: "malformed" };
  const ofProducer = producer && producerRefusal(producer, known, end);
  if (ofProducer) return ofProducer;
  const last = found?.created.seq;
  return seq !== undefined && last !== null && last !== undefined && seq <= last
    ? { outcome: "seq not increasing" }
    : undefined;
}

function producerRefusal(
  { epoch, seq }: Producer,
  known: ProducerRow | undefined,
  end: End | undefined,
): Written | undefined {
  if (!known) return seq === 0 ? undefined : { outcome: "gap", expected: 0 };
  if (epoch > known.epoch) return seq === 0 ? undefined : { outcome: "bad epoch" };
  if (seq <= known.seq && end) return { outcome: "duplicate", appended: [], producerSeq: known.seq, ...end };
  return seq === known.seq + 1 ? undefined : { outcome: "gap", expected: known.seq + 1 };
}

const endOf = ({ epoch, top, top_check }: StreamRow, isClosed: boolean): End => ({
  end: { epoch, offset: top, check: top_check },
  isClosed,
});
