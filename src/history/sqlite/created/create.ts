/** Creates streams and forks of streams. A fork is copied in slices, so that no publish waits for it, and is seen when it is complete. */
import type { Database } from "bun:sqlite";
import { NO_CHECK } from "../../../protocol/position.ts";
import { isSameType } from "../../../protocol/streams/data.ts";
import {
  type CreatedStream,
  type Creating,
  type Creation,
  DEFAULT_TYPE,
  type ForkPoint,
} from "../../contract/created-streams.ts";
import { baseOf, cutOf, forkText, lineageOf } from "../../contract/fork-point.ts";
import type { Appended, NewMessage, StoredMessage } from "../../contract/history.ts";
import { FORK_MAX_BYTES, FORK_MAX_MESSAGES } from "../../contract/limits.ts";
import { messageBytes } from "../../contract/size.ts";
import type { AppendSession, SqliteAppend } from "../stored/append.ts";
import type { SqliteRuns } from "../stored/runs.ts";
import type { SqliteStreams } from "../stored/streams.ts";
import { type CreatedRow, type CreatedRows, endOf, type Found, isUsable, KEPT, shown } from "./rows.ts";

/** What one slice of a fork copies, about a millisecond. */
const SLICE_MESSAGES = 128;
const SLICE_BYTES = 256 * 1024;

interface CreateParts {
  readonly db: Database;
  readonly streams: SqliteStreams;
  readonly rows: CreatedRows;
  readonly runs: SqliteRuns;
  readonly appending: SqliteAppend;
  readonly retentionMs: () => number;
  /** Removes a stream that has expired; within a transaction. */
  readonly end: (found: Found) => void;
}

/** A fork that is being copied. */
interface Copy {
  readonly source: number;
  readonly target: number;
  readonly upTo: number;
  readonly partial: readonly string[];
  /** The offset up to which it is copied, and what that holds. */
  at: number;
  count: number;
  bytes: number;
  last: StoredMessage | undefined;
}

type Outcome = Exclude<Creating, { readonly stream: CreatedStream }>["outcome"];

export class SqliteCreate {
  private readonly setTop;

  constructor(private readonly parts: CreateParts) {
    this.setTop = parts.db.prepare<undefined, [number, string, number, string, number, number, number | null, number]>(
      "UPDATE streams SET top = ?, top_check = ?, low = ?, low_check = ?, last_time = ?, bytes = ?, expires = ? WHERE id = ?",
    );
  }

  /** `undefined`: it is a fork, to be copied and then completed. */
  begin(creation: Creation): Creating | Copy {
    const nowMs = this.parts.retentionMs();
    const expired = this.expired(creation, nowMs);
    if (expired) this.parts.db.transaction(() => this.parts.end(expired))();
    const found = this.parts.rows.find(creation.spaceId, creation.channel);
    if (found) return agrees(found, creation) ? existing(found) : { outcome: "conflict" };
    if (this.parts.rows.streamsOf(creation.spaceId) >= creation.limits.streams) return { outcome: "too many streams" };
    return creation.fork ? this.beginFork(creation, creation.fork, nowMs) : this.create(creation, nowMs);
  }

  private expired({ spaceId, channel }: Creation, nowMs: number): Found | undefined {
    const found = this.parts.rows.find(spaceId, channel);
    return found?.created.state === "ready" && !isUsable(found, nowMs) ? found : undefined;
  }

  private create(creation: Creation, nowMs: number): Creating {
    const { spaceId, channel, messages } = creation;
    const full = this.overLimits(creation, bytesOfAll(messages), 0);
    if (full) return { outcome: full };
    const type = creation.contentType ?? DEFAULT_TYPE;
    const values = { ...timesOf(creation, undefined), type, ...plain(creation), source: null, lineage: "[]" };
    const appended = this.parts.appending.transact((session) => {
      this.parts.rows.add(spaceId, channel, nowMs, { ...values, ends: endOf(values, nowMs), state: "ready" });
      session.inserted(spaceId);
      return this.append(creation, messages, session);
    });
    return this.created(creation, appended);
  }

  private append({ check }: Creation, messages: readonly NewMessage[], session: AppendSession): readonly Appended[] {
    return messages.length === 0
      ? []
      : session.append({ check, messages: messages.map((one) => ({ ...one, keep: KEPT })) });
  }

  private created({ spaceId, channel }: Creation, appended: readonly Appended[]): Creating {
    const found = this.parts.rows.find(spaceId, channel);
    if (!found) throw new Error("a stream that was created is not there");
    return { outcome: "created", stream: shown(found), appended };
  }

  private overLimits({ spaceId, limits }: Creation, bytes: number, copied: number): Outcome | undefined {
    if (bytes + copied > limits.streamBytes) return "stream full";
    return this.parts.streams.usage(spaceId).bytes + bytes + copied > limits.appBytes ? "application full" : undefined;
  }

  private beginFork(creation: Creation, point: ForkPoint, nowMs: number): Creating | Copy {
    const { spaceId, channel, contentType } = creation;
    const source = this.parts.rows.find(spaceId, point.source);
    const state = source ? this.parts.rows.stateOf(source, nowMs) : "none";
    if (state === "gone") return { outcome: "source gone" };
    if (!source || state === "none") return { outcome: "no source" };
    const { type } = source.created;
    if (contentType !== undefined && !isSameType(contentType, type)) return { outcome: "other type" };
    const stream = shown(source);
    const base = baseOf(point, stream, (offset) => this.parts.streams.check(source.row, offset));
    const cut = base === undefined ? undefined : cutOf(point.more, type, this.dataBehind(source, base));
    if (base === undefined || !cut) return { outcome: "bad fork point" };
    const upTo = base + cut.whole;
    if (upTo - source.row.low + 1 > FORK_MAX_MESSAGES) return { outcome: "fork too large" };
    // An upper bound: all of the source.
    const copied = upTo === source.row.top ? source.row.bytes : this.parts.runs.bytesUpTo(source.row.id, upTo);
    if (copied > FORK_MAX_BYTES) return { outcome: "fork too large" };
    const full = this.overLimits(creation, bytesOfAll(creation.messages), copied);
    if (full) return { outcome: full };
    const lineage = JSON.stringify(lineageOf(stream, upTo));
    const values = { ...timesOf(creation, source.created), type, ...plain(creation), source: source.row.id, lineage };
    const ends = endOf(values, nowMs);
    const target = this.parts.db.transaction(() =>
      this.parts.rows.add(spaceId, channel, nowMs, { ...values, ends, state: "copying" }),
    )();
    this.parts.streams.count(spaceId, 1, 0, 0, 0);
    const begun = { at: source.row.low - 1, count: 0, bytes: 0, last: undefined };
    return { source: source.row.id, target: target.row.id, upTo, partial: cut.partial, ...begun };
  }

  private *dataBehind({ row }: Found, base: number): Generator<string> {
    for (const { dataJson } of this.parts.runs.read(row.id, base + 1, row.top, true)) yield dataJson;
  }

  /** Copies one slice of a fork. False: its source or itself is no longer there. */
  copySome(copy: Copy): boolean {
    const { source, target, upTo, at } = copy;
    const { streams, runs, db } = this.parts;
    if (!streams.findById(source) || !streams.findById(target)) return false;
    const slice = sliceOf(runs.read(source, at + 1, upTo, true));
    db.transaction(() => {
      for (const run of runsOf(slice)) {
        const last = run.at(-1);
        if (last) runs.add(target, last.offset, last.time, last.check, run);
      }
    })();
    copy.last = slice.at(-1) ?? copy.last;
    copy.at = slice.at(-1)?.offset ?? upTo;
    copy.count += slice.length;
    copy.bytes += slice.reduce((sum, { bytes }) => sum + bytes, 0);
    return true;
  }

  /** All is copied: the fork begins. */
  complete(copy: Copy, creation: Creation): Creating {
    const { db, streams, runs, rows, appending } = this.parts;
    const { source, target, upTo, partial, count, bytes, last } = copy;
    const from = streams.findById(source);
    const lowCheck = from?.low_check ?? NO_CHECK;
    const check = last?.check ?? lowCheck;
    const [oldest] = [...runs.read(target, from?.low ?? 1, from?.low ?? 1, true)];
    const expires = oldest ? oldest.time + KEPT.seconds * 1000 : null;
    db.transaction(() => {
      this.setTop.run(upTo, check, from?.low ?? 1, lowCheck, last?.time ?? 0, bytes, expires, target);
    })();
    streams.count(creation.spaceId, 0, Number(count > 0), count, bytes);
    const [of] = [...runs.read(source, upTo + 1, upTo + 1, true)];
    const cut = partial.map((dataJson): NewMessage => partialMessage(dataJson, creation, of));
    const appended = appending.transact((session) => {
      const stored = this.append(creation, [...cut, ...creation.messages], session);
      const row = session.rowOf(creation.spaceId, creation.channel);
      const found = row && rows.of(row);
      if (found) rows.become(found, "ready");
      return stored;
    });
    return this.created(creation, appended.slice(cut.length));
  }
}

/** `of`: the message at which the fork begins. */
function partialMessage(dataJson: string, { spaceId, channel }: Creation, of: StoredMessage | undefined): NewMessage {
  const texts = {
    from: of?.from ?? "server",
    metadataJson: undefined,
    dataJson,
    connection: undefined,
    id: undefined,
  };
  return { spaceId, channel, keep: KEPT, idScope: "", ...texts, bytes: messageBytes(texts) };
}

function sliceOf(messages: Iterable<StoredMessage>): StoredMessage[] {
  const slice: StoredMessage[] = [];
  let bytes = 0;
  for (const one of messages) {
    slice.push(one);
    bytes += one.bytes;
    if (slice.length === SLICE_MESSAGES || bytes >= SLICE_BYTES) break;
  }
  return slice;
}

/** All messages of a run have the same time and the same check. */
function runsOf(messages: readonly StoredMessage[]): StoredMessage[][] {
  const runs: StoredMessage[][] = [];
  for (const one of messages) {
    const last = runs.at(-1)?.at(-1);
    if (last && last.check === one.check && last.time === one.time) runs.at(-1)?.push(one);
    else runs.push([one]);
  }
  return runs;
}

const bytesOfAll = (messages: readonly NewMessage[]): number => messages.reduce((sum, { bytes }) => sum + bytes, 0);

const existing = (found: Found): Creating => ({ outcome: "exists", stream: shown(found), appended: [] });

const plain = ({ isClosed, fork }: Creation) => ({
  closed: isClosed ? "" : null,
  seq: null,
  fork: fork ? forkText(fork) : null,
});

/** A fork has the times of its source, unless it is given its own. */
function timesOf(
  { ttlSeconds, expiresAtMs, idleSeconds }: Creation,
  source: CreatedRow | undefined,
): Pick<CreatedRow, "ttl_ms" | "expires_at" | "idle_ms"> {
  const isGiven = ttlSeconds !== undefined || expiresAtMs !== undefined;
  const ttl_ms = ttlSeconds === undefined ? null : ttlSeconds * 1000;
  const own = { ttl_ms, expires_at: expiresAtMs ?? null };
  const times = isGiven || !source ? own : { ttl_ms: source.ttl_ms, expires_at: source.expires_at };
  return { ...times, idle_ms: idleSeconds * 1000 };
}

/** Whether a stream is what this creation would make. What a fork leaves out is as in its source, and is not compared. */
function agrees({ created }: Found, { contentType, ttlSeconds, expiresAtMs, isClosed, fork }: Creation): boolean {
  if (created.state !== "ready" || (created.closed !== null) !== isClosed) return false;
  if ((fork ? forkText(fork) : null) !== created.fork) return false;
  if ((contentType !== undefined || !fork) && !isSameType(contentType ?? DEFAULT_TYPE, created.type)) return false;
  if (fork && ttlSeconds === undefined && expiresAtMs === undefined) return true;
  const ttlMs = ttlSeconds === undefined ? null : ttlSeconds * 1000;
  return ttlMs === created.ttl_ms && (expiresAtMs ?? null) === created.expires_at;
}
