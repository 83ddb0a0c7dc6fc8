/**
 * The messages of the embedded history, in runs: what one batch has stored in one stream is one row. A row costs more than the
 * messages in it, so a channel with many messages per batch costs a fifth of what one row per message would.
 */
import type { Database } from "bun:sqlite";
import type { NewMessage, StoredMessage } from "../../contract/history.ts";

/** All messages of a run have the same time and the same check. */
interface Run {
  readonly first: number;
  readonly last: number;
  readonly time: number;
  readonly batch: string;
}

export interface RunRow extends Run {
  readonly body: string;
}

export type RunTexts = Pick<NewMessage, "from" | "connection" | "id" | "metadataJson" | "dataJson" | "bytes">;

/** Runs and bytes that one step deletes of a stream that is gone, less than a millisecond. */
const STEP_RUNS = 128;
const STEP_BYTES = 1_000_000;

export class SqliteRuns {
  private readonly insert;
  private readonly covering;
  private readonly ascending;
  private readonly descending;
  private readonly newest;
  private readonly sum;
  private readonly delete;
  private readonly shrink;
  private readonly oldest;

  constructor(db: Database) {
    this.insert = db.prepare<undefined, [number, number, number, number, number, string, string]>(
      "INSERT INTO runs (stream, last, first, time, size, batch, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.covering = db.prepare<Run, [number, number]>(
      "SELECT first, last, time, batch FROM runs WHERE stream = ? AND last >= ? ORDER BY last LIMIT 1",
    );
    const select =
      "SELECT first, last, time, batch, body FROM runs WHERE stream = ? AND last BETWEEN ? AND ? ORDER BY last";
    this.ascending = db.prepare<RunRow, [number, number, number]>(select);
    this.descending = db.prepare<RunRow, [number, number, number]>(`${select} DESC`);
    this.newest = db.prepare<Run, [number, string]>(
      "SELECT first, last, time, batch FROM runs WHERE stream = ? AND batch = ? ORDER BY last DESC LIMIT 1",
    );
    this.sum = db.prepare<{ bytes: number }, [number, number]>(
      "SELECT COALESCE(SUM(size), 0) AS bytes FROM runs WHERE stream = ? AND last <= ?",
    );
    this.delete = db.prepare<undefined, [number, number]>("DELETE FROM runs WHERE stream = ? AND last <= ?");
    this.shrink = db.prepare<undefined, [number, number, string, number, number]>(
      "UPDATE runs SET first = ?, size = size - ?, body = ? WHERE stream = ? AND last = ?",
    );
    this.oldest = db.prepare<{ last: number; size: number }, [number]>(
      `SELECT last, size FROM runs WHERE stream = ? ORDER BY last LIMIT ${STEP_RUNS}`,
    );
  }

  /** `messages` are the last ones up to `last`. */
  add(stream: number, last: number, time: number, batch: string, messages: readonly RunTexts[]): void {
    let size = 0;
    for (const { bytes } of messages) size += bytes;
    this.insert.run(stream, last, last - messages.length + 1, time, size, batch, bodyOf(messages));
  }

  /** The time and the check of a message. */
  at(stream: number, offset: number): { readonly time: number; readonly batch: string } | undefined {
    const run = this.covering.get(stream, offset);
    return run && run.first <= offset ? run : undefined;
  }

  /** Where the run of this message ends. */
  endOfRun(stream: number, offset: number): number | undefined {
    return this.covering.get(stream, offset)?.last;
  }

  /** Where the newest messages of a batch end, and their time. */
  endOf(stream: number, batch: string): { readonly last: number; readonly time: number } | undefined {
    return this.newest.get(stream, batch) ?? undefined;
  }

  /** The messages from one offset to another, oldest or newest first. Read only as far as they are asked for. */
  *read(stream: number, from: number, to: number, isAscending: boolean): Generator<StoredMessage> {
    const end = this.covering.get(stream, to)?.last ?? to;
    for (const run of (isAscending ? this.ascending : this.descending).iterate(stream, from, end)) {
      const messages = messagesOf(run);
      if (!isAscending) messages.reverse();
      for (const message of messages) if (message.offset >= from && message.offset <= to) yield message;
    }
  }

  /** At most how many bytes the messages up to this offset have: those of the run that it is in count as a whole. */
  bytesUpTo(stream: number, offset: number): number {
    return this.sum.get(stream, this.endOfRun(stream, offset) ?? offset)?.bytes ?? 0;
  }

  /** Deletes the messages up to this offset; returns their bytes. Within a transaction. */
  deleteUpTo(stream: number, end: number): number {
    const whole = this.sum.get(stream, end)?.bytes ?? 0;
    this.delete.run(stream, end);
    const run = this.covering.get(stream, end);
    if (!run || run.first > end) return whole;
    const [row] = this.ascending.all(stream, run.last, run.last);
    if (!row) return whole;
    const messages = messagesOf(row);
    const cut = messages.splice(0, end - run.first + 1).reduce((sum, { bytes }) => sum + bytes, 0);
    this.shrink.run(end + 1, cut, bodyOf(messages), stream, run.last);
    return whole + cut;
  }

  /** Deletes some of the oldest messages of a stream that is gone; false if none is left. */
  deleteSome(stream: number): boolean {
    const oldest = this.oldest.all(stream);
    let bytes = 0;
    const full = oldest.find(({ size }) => {
      bytes += size;
      return bytes >= STEP_BYTES;
    });
    const last = (full ?? oldest.at(-1))?.last;
    if (last === undefined) return false;
    this.delete.run(stream, last);
    return true;
  }
}

/**
 * Lengths of all texts, a line break, and the texts: `bytes,from,connection,id,metadata,data;…`. No length: the text is absent.
 * Cheaper than JSON, which would escape every quotation mark of the data.
 */
export function bodyOf(messages: readonly RunTexts[]): string {
  let lengths = "";
  let texts = "";
  for (const { bytes, from, connection, id, metadataJson, dataJson } of messages) {
    lengths += `${bytes},${from.length},${lengthOf(connection)},${lengthOf(id)},${lengthOf(metadataJson)},${dataJson.length};`;
    texts += `${from}${connection ?? ""}${id ?? ""}${metadataJson ?? ""}${dataJson}`;
  }
  return `${lengths}\n${texts}`;
}

const lengthOf = (text: string | undefined): number | "" => (text === undefined ? "" : text.length);

export function messagesOf({ first, time, batch: check, body }: RunRow): StoredMessage[] {
  const end = body.indexOf("\n");
  let at = end + 1;
  const take = (length: string | undefined): string | undefined => {
    if (!length) return undefined;
    const from = at;
    at += Number(length);
    return body.slice(from, at);
  };
  return body
    .slice(0, end - 1)
    .split(";")
    .map((entry, index) => {
      const [bytes, from, connection, id, metadata, data] = entry.split(",");
      return {
        offset: first + index,
        check,
        time,
        from: take(from) ?? "",
        connection: take(connection),
        id: take(id),
        metadataJson: take(metadata),
        dataJson: take(data) ?? "",
        bytes: Number(bytes),
      };
    });
}
