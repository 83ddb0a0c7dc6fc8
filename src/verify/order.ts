/**
 * The order of a channel with history, as far as acks and deliveries have shown it. All nodes and all subscribers must agree on
 * it: one position is one message, one message has one position, and times do not decrease.
 */
import { type Position, parsePosition } from "../protocol/position.ts";
import type { Kind } from "./findings.ts";
import { keyOf, type Mark } from "./mark.ts";

/** A problem, with the rest of a sentence that begins with a message or a subscription. */
export interface Wrong {
  readonly kind: Kind;
  readonly how: string;
}

/** What a service says about a message of a channel with history. */
export interface Stored {
  readonly pos: string;
  /** Unix ms; 0: the frame had none. */
  readonly timeMs: number;
  readonly isReplay: boolean;
}

interface Entry {
  readonly mark: Mark;
  readonly check: string;
  /** Unknown until a message is seen: acks carry no time. */
  timeMs: number | undefined;
}

/** Positions that are remembered: twice the longest history, so that everything that can be replayed is among them. */
const REMEMBERED_MAX = 20_000;

export class Order {
  /** The epoch of the newest message that was seen first. */
  latest: Epoch | undefined;
  private readonly epochs = new Map<string, Epoch>();
  /** The connections on which a message was published again with the same id. Grows with retries, which are rare. */
  private readonly retries = new Map<number, Retry>();

  /** Records what a message's position is, or reports what contradicts an earlier report. */
  place(pos: string, mark: Mark, timeMs?: number): Wrong | undefined {
    const position = parsePosition(pos);
    if (!position) return { kind: "unplaced", how: ` with ${JSON.stringify(pos)}, which is no position` };
    const epoch = this.epoch(position.epoch);
    const isNew = position.offset > epoch.top;
    const wrong = epoch.place(position, mark, timeMs, this.retries.has(keyOf(mark)));
    if (isNew) this.latest = epoch;
    return wrong;
  }

  /** Which message is at an offset; undefined: not known, or no longer. */
  at(epoch: string, offset: number): Mark | undefined {
    return this.epochs.get(epoch)?.entry(offset)?.mark;
  }

  /** The check at an offset; undefined: not known. */
  checkAt({ epoch, offset }: Position): string | undefined {
    return this.epochs.get(epoch)?.entry(offset)?.check;
  }

  top(epoch: string): number {
    return this.epochs.get(epoch)?.top ?? 0;
  }

  has(mark: Mark): boolean {
    for (const epoch of this.epochs.values()) if (epoch.has(mark)) return true;
    return false;
  }

  /** The same message is published again, on this connection. No order is promised for it any more. */
  retrying(mark: Mark, connection: number): void {
    const key = keyOf(mark);
    const retry = this.retries.get(key);
    if (retry) retry.connections.push(connection);
    else this.retries.set(key, { connections: [mark.connection, connection], publisher: undefined });
  }

  /** An ack that is no duplicate says on which connection the message was accepted. */
  accepted(mark: Mark, connection: number): void {
    const retry = this.retries.get(keyOf(mark));
    if (retry) retry.publisher = connection;
  }

  /** The connection that published the message; undefined: it may be any of several. */
  publisherOf(mark: Mark): number | undefined {
    const retry = this.retries.get(keyOf(mark));
    return retry ? retry.publisher : mark.connection;
  }

  mayBeOf(mark: Mark, connection: number): boolean {
    const retry = this.retries.get(keyOf(mark));
    if (!retry) return mark.connection === connection;
    return retry.publisher === undefined ? retry.connections.includes(connection) : retry.publisher === connection;
  }

  private epoch(name: string): Epoch {
    let epoch = this.epochs.get(name);
    if (!epoch) {
      epoch = new Epoch(name);
      this.epochs.set(name, epoch);
    }
    return epoch;
  }
}

interface Retry {
  readonly connections: number[];
  publisher: number | undefined;
}

class Epoch {
  top = 0;
  private readonly entries = new Map<number, Entry>();
  private readonly offsets = new Map<number, number>();
  /** By connection: its message with the highest number so far. */
  private readonly newest = new Map<number, { readonly number: number; readonly offset: number }>();

  constructor(readonly name: string) {}

  entry(offset: number): Entry | undefined {
    return this.entries.get(offset);
  }

  has(mark: Mark): boolean {
    return this.offsets.has(keyOf(mark));
  }

  place({ offset, check }: Position, mark: Mark, timeMs: number | undefined, wasRetried: boolean): Wrong | undefined {
    const entry = this.entries.get(offset);
    if (entry) return agree(entry, offset, check, mark, timeMs) ?? this.timed(entry, offset, timeMs);
    if (offset <= this.top - REMEMBERED_MAX) return undefined;
    const key = keyOf(mark);
    const known = this.offsets.get(key);
    if (known !== undefined) return { kind: "split", how: ` at offset ${offset}, which was at offset ${known} before` };
    const placed: Entry = { mark, check, timeMs: undefined };
    this.entries.set(offset, placed);
    this.offsets.set(key, offset);
    this.raise(offset);
    return (wasRetried ? undefined : this.inOrder(mark, offset)) ?? this.timed(placed, offset, timeMs);
  }

  /** The messages of one connection have the order in which it sent them. */
  private inOrder({ connection, number }: Mark, offset: number): Wrong | undefined {
    const newest = this.newest.get(connection);
    if (newest && number < newest.number)
      return offset < newest.offset ? undefined : { kind: "disordered", how: ` behind number ${newest.number}` };
    this.newest.set(connection, { number, offset });
    if (newest && offset < newest.offset) return { kind: "disordered", how: ` before number ${newest.number}` };
    return undefined;
  }

  private timed(entry: Entry, offset: number, timeMs: number | undefined): Wrong | undefined {
    if (timeMs === undefined || entry.timeMs !== undefined) return undefined;
    entry.timeMs = timeMs;
    const before = this.entries.get(offset - 1)?.timeMs;
    const after = this.entries.get(offset + 1)?.timeMs;
    if (before !== undefined && timeMs < before)
      return { kind: "backwards", how: ` with the time ${timeMs}, which is before ${before} of the message before it` };
    if (after !== undefined && timeMs > after)
      return { kind: "backwards", how: ` with the time ${timeMs}, which is after ${after} of the message behind it` };
    return undefined;
  }

  private raise(offset: number): void {
    if (offset <= this.top) return;
    for (let old = this.top - REMEMBERED_MAX + 1; old <= offset - REMEMBERED_MAX; old++) {
      const entry = this.entries.get(old);
      if (!entry) continue;
      this.entries.delete(old);
      this.offsets.delete(keyOf(entry.mark));
    }
    this.top = offset;
  }
}

function agree(entry: Entry, offset: number, check: string, mark: Mark, timeMs: number | undefined): Wrong | undefined {
  if (keyOf(entry.mark) !== keyOf(mark))
    return {
      kind: "split",
      how: ` at offset ${offset}, which is number ${entry.mark.number} of connection ${entry.mark.connection} as well`,
    };
  if (entry.check !== check)
    return { kind: "split", how: ` at offset ${offset} with the check ${check}, which was ${entry.check} before` };
  if (timeMs !== undefined && entry.timeMs !== undefined && entry.timeMs !== timeMs)
    return { kind: "backwards", how: ` with the time ${timeMs}, which was ${entry.timeMs} before` };
  return undefined;
}
