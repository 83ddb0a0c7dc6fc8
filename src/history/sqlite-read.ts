/** Reads from the embedded history. Each call runs in one turn of the process that alone writes, so it sees one moment. */
import type { Database } from "bun:sqlite";
import type { Page, Range, StoredMessage, Top } from "./history.ts";
import type { SqliteStreams, StreamRow } from "./sqlite-streams.ts";

interface MessageRow {
  readonly off: number;
  readonly time: number;
  readonly size: number;
  readonly batch: string;
  readonly sender: string;
  readonly connection: string | null;
  readonly mid: string | null;
  readonly metadata: string | null;
  readonly data: string;
}

export class SqliteRead {
  private readonly ascending;
  private readonly descending;
  private readonly changed;

  constructor(
    db: Database,
    private readonly streams: SqliteStreams,
    private readonly nowMs: () => number,
  ) {
    const select = `SELECT off, time, size, batch, sender, connection, mid, metadata, data FROM messages
      WHERE stream = ? AND off BETWEEN ? AND ? ORDER BY off`;
    this.ascending = db.prepare<MessageRow, [number, number, number]>(select);
    this.descending = db.prepare<MessageRow, [number, number, number]>(`${select} DESC`);
    this.changed = db.prepare<Top, [number]>(
      `SELECT app, channel, epoch, top AS "offset", top_check AS "check" FROM streams WHERE changed >= ?`,
    );
  }

  page(row: StreamRow, range: Range): Page {
    const { streams } = this;
    const state = streams.state(row, this.nowMs());
    const { from, to } = this.bounds(row, state.first, range);
    const isAscending = range.after !== undefined;
    const messages: StoredMessage[] = [];
    let bytes = 0;
    const rows = (isAscending ? this.ascending : this.descending).iterate(row.id, from, to);
    // `limit` is not part of the statement: together with `maxBytes` it ends the loop.
    if (range.limit > 0 && from <= to)
      for (const one of rows) {
        if (messages.length > 0 && bytes + one.size > range.maxBytes) break;
        messages.push(storedMessage(one));
        bytes += one.size;
        if (messages.length >= range.limit) break;
      }
    const named = range.after ?? range.before;
    const isKnown = named !== undefined && named >= state.first - 1 && named <= row.top;
    const check = isKnown ? streams.check(row, named) : undefined;
    return { state, check, messages, more: messages.length < to - from + 1 };
  }

  private bounds(row: StreamRow, first: number, range: Range): { readonly from: number; readonly to: number } {
    const { after, before, sinceMs, upTo } = range;
    const since = sinceMs === undefined ? first : this.streams.firstSince(row, first, sinceMs);
    const from = after === undefined ? since : Math.max(since, after + 1);
    const end = after === undefined && before !== undefined ? before - 1 : row.top;
    return { from, to: Math.min(row.top, end, upTo ?? row.top) };
  }

  tops(sinceMs: number): readonly Top[] {
    return this.changed.all(sinceMs);
  }
}

const storedMessage = (row: MessageRow): StoredMessage => ({
  offset: row.off,
  check: row.batch,
  time: row.time,
  from: row.sender,
  metadataJson: row.metadata ?? undefined,
  dataJson: row.data,
  connection: row.connection ?? undefined,
  id: row.mid ?? undefined,
  bytes: row.size,
});
