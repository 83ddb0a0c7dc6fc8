/** Reads from the embedded history. Each call runs in one turn of the process that alone writes, so it sees one moment. */
import type { Database } from "bun:sqlite";
import type { Page, Range, StoredMessage, StreamHead } from "../../contract/history.ts";
import type { SqliteRuns } from "./runs.ts";
import type { SqliteStreams, StreamRow } from "./streams.ts";

export class SqliteRead {
  private readonly changed;

  constructor(
    db: Database,
    private readonly streams: SqliteStreams,
    private readonly runs: SqliteRuns,
    private readonly retentionMs: () => number,
  ) {
    this.changed = db.prepare<StreamHead, [number]>(
      `SELECT app, channel, epoch, top AS "offset", top_check AS "check" FROM streams WHERE changed >= ?`,
    );
  }

  page(row: StreamRow, range: Range): Page {
    const { streams } = this;
    const state = streams.state(row, this.retentionMs());
    const { from, to } = this.bounds(row, state.first, range);
    const isAscending = range.after !== undefined;
    const messages: StoredMessage[] = [];
    let bytes = 0;
    if (range.limit > 0 && from <= to)
      for (const one of this.runs.read(row.id, from, to, isAscending)) {
        if (messages.length > 0 && bytes + one.bytes > range.maxBytes) break;
        messages.push(one);
        bytes += one.bytes;
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

  heads(sinceMs: number): readonly StreamHead[] {
    return this.changed.all(sinceMs);
  }
}
