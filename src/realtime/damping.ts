/**
 * Damping: of one member of a channel at most CHANGES_SHOWN_MAX changes are shown within CHANGES_SHOWN_WINDOW_MS. What it does
 * beyond that is held back and shown as one change when the oldest of them is that long ago. Without this, a peer that
 * subscribes and unsubscribes makes the node write to every member, for a few bytes each time.
 *
 * One exception keeps "known before it speaks" (protocol 4): a join that a message makes necessary is shown at once. Because
 * the leave behind it is held back, there is at most one such join more within the window.
 *
 * Bound: one record per change shown within the window, so at most six per member and channel.
 */

import type { Channel } from "./channel.ts";
import type { Clock } from "./clock.ts";
import { CHANGES_SHOWN_MAX, CHANGES_SHOWN_WINDOW_MS } from "./limits.ts";

/** Records that expire within this time are dropped together. */
const EXPIRE_GAP_MS = 20;

/** Equal to no entry: the next change that is shown counts, whatever it is. */
const UNSEEN = Symbol("unseen");

/** Changes of one peer in one channel that were shown within the window. It outlives the member, which goes with a leave. */
export interface RecentChanges {
  count: number;
  /** The entry written last, to anyone; undefined: that it left; UNSEEN: it has changed since, and no one was shown that. */
  last: string | undefined | typeof UNSEEN;
  /** A change waits until one of those counted has expired. */
  isHeld: boolean;
}

interface Shown {
  readonly channel: Channel;
  readonly peerId: string;
  readonly lately: RecentChanges;
  readonly untilMs: number;
}

export class Damping {
  /** In the order in which they expire, because all count equally long. */
  private records: Shown[] = [];
  private waits = false;

  constructor(
    private readonly clock: Clock,
    /** A change of this peer that was held back in this channel may be shown now. */
    private readonly release: (channel: Channel, peerId: string) => void,
  ) {}

  /**
   * Whether a receiver that knows `known` of a peer may be shown `entry`; if not, `release` is called when it may.
   * `isSpeaking`: a message of that peer is about to be written to this receiver.
   */
  allows(
    channel: Channel,
    peerId: string,
    known: string | undefined,
    entry: string | undefined,
    isSpeaking: boolean,
  ): boolean {
    const lately = channel.recentChanges?.get(peerId);
    if (!lately || lately.count < CHANGES_SHOWN_MAX) return true;
    if (isSpeaking && known === undefined && entry !== undefined) return true;
    lately.isHeld = true;
    return false;
  }

  /** It was shown, to one receiver or to all. What was shown to one before the others counts once. */
  shown(channel: Channel, peerId: string, before: string | undefined, entry: string | undefined): void {
    channel.recentChanges ??= new Map();
    let lately = channel.recentChanges.get(peerId);
    if (!lately) {
      lately = { count: 0, last: before, isHeld: false };
      channel.recentChanges.set(peerId, lately);
    }
    if (lately.last === entry) return;
    lately.last = entry;
    // Direct messages to several receivers can each need a join: together they count as one change more.
    if (lately.count > CHANGES_SHOWN_MAX) return;
    lately.count++;
    this.records.push({ channel, peerId, lately, untilMs: this.clock.monotonicMs() + CHANGES_SHOWN_WINDOW_MS });
    this.wait();
  }

  /** The channel's view of it changed while no one received that. It does not count. */
  unseen(channel: Channel, peerId: string): void {
    const lately = channel.recentChanges?.get(peerId);
    if (lately) lately.last = UNSEEN;
  }

  private wait(): void {
    const [first] = this.records;
    if (this.waits || !first) return;
    this.waits = true;
    this.clock.after(Math.max(EXPIRE_GAP_MS, first.untilMs - this.clock.monotonicMs()), () => {
      this.waits = false;
      this.expire();
      this.wait();
    });
  }

  private expire(): void {
    const nowMs = this.clock.monotonicMs();
    const firstLeft = this.records.findIndex(({ untilMs }) => untilMs > nowMs);
    for (const { channel, peerId, lately } of this.records.splice(0, firstLeft < 0 ? this.records.length : firstLeft)) {
      if (--lately.count === 0) drop(channel, peerId);
      if (!lately.isHeld || lately.count >= CHANGES_SHOWN_MAX) continue;
      lately.isHeld = false;
      this.release(channel, peerId);
    }
  }
}

function drop(channel: Channel, peerId: string): void {
  channel.recentChanges?.delete(peerId);
  if (channel.recentChanges?.size === 0) channel.recentChanges = undefined;
}
