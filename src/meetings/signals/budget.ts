/**
 * How much may be written into the inboxes of a room. Inboxes keep what comes for a minute, for pages that lose their network; without a
 * bound a few guests could fill the application's history. Counted per minute on this node: for one sender, and for the room and each inbox, of which
 * one holder has a share, and all guests together another; a little of each holder's is always taken. So neither one person, nor one address however often it joins, can use up what the
 * others need.
 */
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import {
  GUESTS_SHARE_OF_SIGNALS,
  HOLDER_SHARE_OF_SIGNALS,
  INBOX_BYTES_PER_MINUTE,
  OWN_SHARE_OF_SIGNALS,
  ROOM_SIGNALS_BYTES_PER_MINUTE,
  SENDER_SIGNALS_BYTES_PER_MINUTE,
} from "../contract/limits.ts";
import { type Sender, senderOf } from "./sender.ts";

const MINUTE_MS = 60_000;
/** What a stored signal takes beside its data. */
const SIGNAL_OVERHEAD_BYTES = 256;

/** What was written to a room, or to one inbox. */
class Written {
  private bytes = 0;
  private guestsBytes = 0;
  /** Bound: holders of places in this minute. */
  private readonly byHolder = new Map<string, number>();

  constructor(private readonly maxBytes: number) {}

  allows({ holder, isInvited }: Sender, bytes: number): boolean {
    const { maxBytes } = this;
    const ofHolder = (this.byHolder.get(holder) ?? 0) + bytes;
    if (ofHolder <= maxBytes * OWN_SHARE_OF_SIGNALS && this.bytes + bytes <= 2 * maxBytes) return true;
    return (
      this.bytes + bytes <= maxBytes &&
      ofHolder <= maxBytes * HOLDER_SHARE_OF_SIGNALS &&
      (isInvited || this.guestsBytes + bytes <= maxBytes * GUESTS_SHARE_OF_SIGNALS)
    );
  }

  add({ holder, isInvited }: Sender, bytes: number): void {
    this.bytes += bytes;
    if (!isInvited) this.guestsBytes += bytes;
    this.byHolder.set(holder, (this.byHolder.get(holder) ?? 0) + bytes);
  }
}

interface RoomWritten {
  readonly all: Written;
  /** By receiver, and by the sender's id. Bound: people who were inside in this minute. */
  readonly toInbox: Map<string, Written>;
  readonly bySender: Map<string, number>;
}

export class SignalBudget {
  /** By the room's id, since `beganMs`. Bound: rooms in which something was written in this minute. */
  private rooms = new Map<string, RoomWritten>();
  private beganMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly nowMs: () => number) {}

  /** Counts a signal; returns 0, or the seconds to wait if it is too much. The receiver is inside: nothing is kept for names that anyone can make up. */
  take(claims: RoomClaims, receiver: string, dataBytes: number): number {
    const nowMs = this.nowMs();
    // Also if the clock was set back.
    if (Math.abs(nowMs - this.beganMs) >= MINUTE_MS) {
      this.beganMs = nowMs;
      this.rooms = new Map();
    }
    const { room, id } = claims;
    const written = this.rooms.get(room) ?? newRoom();
    const inbox = written.toInbox.get(receiver) ?? new Written(INBOX_BYTES_PER_MINUTE);
    const bytes = dataBytes + SIGNAL_OVERHEAD_BYTES;
    const own = (written.bySender.get(id) ?? 0) + bytes;
    const sender = senderOf(claims);
    if (own > SENDER_SIGNALS_BYTES_PER_MINUTE || !written.all.allows(sender, bytes) || !inbox.allows(sender, bytes))
      return Math.max(1, Math.ceil((MINUTE_MS - Math.abs(nowMs - this.beganMs)) / 1000));
    written.all.add(sender, bytes);
    inbox.add(sender, bytes);
    written.toInbox.set(receiver, inbox);
    written.bySender.set(id, own);
    this.rooms.set(room, written);
    return 0;
  }
}

function newRoom(): RoomWritten {
  return { all: new Written(ROOM_SIGNALS_BYTES_PER_MINUTE), toInbox: new Map(), bySender: new Map() };
}
