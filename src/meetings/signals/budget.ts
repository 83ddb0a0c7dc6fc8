/**
 * How much may be written into the inboxes of a room. Inboxes keep what comes for a minute, for pages that lose their network; without a
 * bound a few guests could fill the application's history. Counted per minute on this node: for the room, for one inbox, and for one
 * sender, so that one person can neither fill an inbox nor use up the room's share of the others.
 */
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import {
  INBOX_BYTES_PER_MINUTE,
  ROOM_SIGNALS_BYTES_PER_MINUTE,
  SENDER_SIGNALS_BYTES_PER_MINUTE,
} from "../contract/limits.ts";

const MINUTE_MS = 60_000;
/** What a stored signal takes beside its data. */
const SIGNAL_OVERHEAD_BYTES = 256;

interface Written {
  bytes: number;
  /** By receiver, and by sender. Bound: people who were inside in this minute. */
  readonly toInbox: Map<string, number>;
  readonly bySender: Map<string, number>;
}

export class SignalBudget {
  /** By the room's id, since `beganMs`. Bound: rooms in which something was written in this minute. */
  private rooms = new Map<string, Written>();
  private beganMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly nowMs: () => number) {}

  /** Counts a signal; false if it is too much. The receiver is inside: nothing is kept for names that anyone can make up. */
  take({ room, id }: Pick<RoomClaims, "room" | "id">, receiver: string, dataBytes: number): boolean {
    const nowMs = this.nowMs();
    // Also if the clock was set back.
    if (Math.abs(nowMs - this.beganMs) >= MINUTE_MS) {
      this.beganMs = nowMs;
      this.rooms = new Map();
    }
    const written = this.rooms.get(room) ?? { bytes: 0, toInbox: new Map(), bySender: new Map() };
    const all = written.bytes + dataBytes + SIGNAL_OVERHEAD_BYTES;
    const inbox = (written.toInbox.get(receiver) ?? 0) + dataBytes + SIGNAL_OVERHEAD_BYTES;
    const sender = (written.bySender.get(id) ?? 0) + dataBytes + SIGNAL_OVERHEAD_BYTES;
    if (
      all > ROOM_SIGNALS_BYTES_PER_MINUTE ||
      inbox > INBOX_BYTES_PER_MINUTE ||
      sender > SENDER_SIGNALS_BYTES_PER_MINUTE
    )
      return false;
    written.bytes = all;
    written.toInbox.set(receiver, inbox);
    written.bySender.set(id, sender);
    this.rooms.set(room, written);
    return true;
  }
}
