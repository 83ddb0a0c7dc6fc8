/**
 * The rules of channels with history (docs/history.md): one order for all subscribers; a subscription gets every message behind its
 * beginning, once and in order; a recovery replays what was missed and nothing else.
 */
import { type Position, parsePosition } from "../protocol/position.ts";
import { type Beginning, Cursor } from "./cursor.ts";
import type { Connection, Destination, Subscription } from "./destinations.ts";
import type { Findings, Kind } from "./findings.ts";
import type { PageEntry } from "./frames.ts";
import type { Mark } from "./mark.ts";
import { Order, type Stored, type Wrong } from "./order.ts";
import { Ranges } from "./ranges.ts";

/** The position in the ack of a publish. */
export interface Placed {
  readonly pos: string;
  readonly isDuplicate: boolean;
}

/** Acks of subscribes that asked for a recovery. */
export interface Recoveries {
  recovered: number;
  /** `recovered: false`. */
  unrecovered: number;
  /** Messages that were received with `replay`. */
  replayed: number;
}

export class History {
  readonly recoveries: Recoveries = { recovered: 0, unrecovered: 0, replayed: 0 };

  constructor(private readonly found: Findings) {}

  /** The ack of a subscribe. `beginning` is undefined if it had no position. */
  begun(subscription: Subscription, beginning: Beginning | undefined): void {
    const { destination, connection, resume } = subscription;
    if (beginning) destination.order ??= new Order();
    if (!destination.order) return;
    const subject = `${connection.peer} got the ack of a subscribe ${destination.where}`;
    if (!beginning) return this.found.add("unplaced", `${subject} without a position`);
    if (resume) this.recoveries[beginning.recovered === true ? "recovered" : "unrecovered"]++;
    const { cursor, wrong } = Cursor.begin(beginning, resume, destination.order);
    subscription.cursor = cursor;
    this.note(subject, wrong);
  }

  /** The ack of a publish, or of a retry of it on another connection. */
  acked(connection: Connection, destination: Destination, mark: Mark, placed: Placed | undefined): void {
    if (placed) destination.order ??= new Order();
    const { order } = destination;
    if (!order) return;
    const subject = `${connection.peer} got the ack of number ${mark.number} ${destination.where}`;
    if (!placed) return this.found.add("unplaced", `${subject} without a position`);
    if (!placed.isDuplicate) order.accepted(mark, connection.id);
    this.note(subject, order.place(placed.pos, mark));
    const position = parsePosition(placed.pos);
    const subscription = connection.subscriptions.get(destination);
    if (!position || !subscription?.isOpen) return;
    this.note(subject, subscription.cursor?.acked(position, placed.isDuplicate));
  }

  /** A message on a channel with history, whose sender and mark are right. `what`: the subject of a sentence about it. */
  received(subscription: Subscription, order: Order, mark: Mark, stored: Stored | undefined, what: () => string): void {
    const wrong = (kind: Kind, how: string): void => this.found.add(kind, what() + how);
    if (!stored) return wrong("unplaced", " without a position");
    if (stored.timeMs === 0) wrong("unplaced", " without a time");
    const misplaced = order.place(stored.pos, mark, stored.timeMs);
    if (misplaced) wrong(misplaced.kind, misplaced.how);
    const position = parsePosition(stored.pos);
    const { cursor, resume, isFurther, isOpen, sequencesAtAck } = subscription;
    // Messages in flight at the end of a subscription may still arrive, also in the beginning of the next one.
    if (!position || !isOpen) return;
    if (!cursor) {
      if (sequencesAtAck !== undefined)
        wrong("unplaced", " with a position, which the ack of its subscribe did not have");
      else if (!isFurther) wrong("stale", " before the ack of its subscribe");
      return;
    }
    if (stored.isReplay) {
      this.recoveries.replayed++;
      if (resume?.without !== undefined && order.publisherOf(mark) === resume.without)
        wrong("echoed", ", replayed, which its earlier connection has published");
    }
    const unexpected = cursor.take(position, stored.isReplay);
    if (unexpected) wrong(unexpected.kind, unexpected.how);
  }

  /** A page of history, newest first: every message between its ends, with the positions that other clients have seen. */
  page(connection: Connection, destination: Destination, entries: readonly PageEntry[]): void {
    let newer: Position | undefined;
    for (const { from, mark, stored } of entries) {
      const subject = `${connection.peer} read number ${mark.number} of ${from} ${destination.where} from the history`;
      const position = parsePosition(stored?.pos ?? "");
      if (!stored || !position) this.note(subject, { kind: "unplaced", how: " without a position" });
      else {
        this.note(subject, destination.order?.place(stored.pos, mark, stored.timeMs));
        const isNext = !newer || (newer.epoch === position.epoch && newer.offset === position.offset + 1);
        if (!isNext) this.note(subject, { kind: "hole", how: ` at ${stored.pos}, beside offset ${newer?.offset}` });
      }
      newer = position;
    }
  }

  private note(subject: string, wrong: Wrong | undefined): void {
    if (wrong) this.found.add(wrong.kind, `${subject}${wrong.how}`);
  }
}

/** Adds what a subscription has missed. Final if its connection has ended, or when nothing is in flight any more. */
export function judgeCursor(subscription: Subscription, findings: Findings, all: readonly Connection[]): void {
  const { cursor, connection, destination, isOpen, resume } = subscription;
  const { order, where } = destination;
  if (!cursor || !order) return;
  const start = resume ? `${connection.peer}, which resumed from ${resume.pos},` : connection.peer;
  const add = (kind: Kind, missing: Ranges, how: string): void => {
    if (!missing.isEmpty) findings.add(kind, `${start} never got offset ${missing} ${where}${how}`, missing.count);
  };
  add("hole", foreign(subscription, order, cursor.skipped, all), "");
  add("ahead", foreign(subscription, order, cursor.jumped, all), ", and an ack said that it was past it");
  if (!isOpen) return;
  const tail = new Ranges();
  for (let offset = cursor.at + 1; offset <= order.top(cursor.epoch); offset++)
    if (order.at(cursor.epoch, offset)) tail.add(offset);
  add("lost", foreign(subscription, order, tail, all), ", the newest");
  if (cursor.replayLeft > 0)
    findings.add("miscounted", `${start} never got ${cursor.replayLeft} of the replayed messages ${where}`);
  if (order.latest && order.latest.name !== cursor.epoch)
    findings.add("lost", `${start} is still in epoch ${cursor.epoch} ${where}, which is in ${order.latest.name}`);
}

/** The offsets among these that are not of the subscriber itself, whose own messages it does not get. */
function foreign(
  { connection, destination, resume, cursor }: Subscription,
  order: Order,
  offsets: Ranges,
  all: readonly Connection[],
): Ranges {
  if (offsets.isEmpty) return offsets;
  const own = resume?.without === undefined ? [connection.id] : [connection.id, resume.without];
  const missing = new Ranges();
  // A publish that was not acked may have any offset that no other subscriber has received.
  let unclaimed = own.reduce((sum, id) => sum + (all[id - 1]?.sequences.get(destination)?.open.count ?? 0), 0);
  for (const [first, last] of offsets)
    for (let offset = first; offset <= last; offset++) {
      const mark = order.at(cursor?.epoch ?? "", offset);
      if (!mark && unclaimed > 0) unclaimed--;
      else if (!mark || !own.some((id) => order.mayBeOf(mark, id))) missing.add(offset);
    }
  return missing;
}
