/**
 * Damping limits the presence changes that a flapping member causes: a channel is shown at most CHANGES_SHOWN_MAX changes of one
 * member within CHANGES_SHOWN_WINDOW_MS. Further changes are held back and shown as one when the oldest of those expires. Without
 * this, a peer that subscribes and unsubscribes makes the node write to every member, for a few bytes each time.
 *
 * There is one exception, because a sender must be known before its message (protocol 4): a join that a message makes necessary
 * is shown at once. The leave after it is held back, so this adds at most one join within the window.
 *
 * Returns (returns.ts) are neither held back nor counted: a call would not go on. Each costs the member a connect and a
 * subscribe, and is written to the peers that it has exchanged direct messages with, not to the channel.
 *
 * Bound: one record per change shown within the window, so at most six per member and channel.
 */
import type { Clock } from "../../base/clock.ts";
import type { Channel } from "../state/channel.ts";
import { type RecentChanges, UNSEEN } from "../state/recent-changes.ts";
import { CHANGES_SHOWN_MAX, CHANGES_SHOWN_WINDOW_MS } from "./limits.ts";

/** Records that expire within this time are dropped together. */
const EXPIRE_GAP_MS = 20;

interface ExpiringChange {
  readonly channel: Channel;
  readonly peerId: string;
  readonly recent: RecentChanges;
  readonly untilMs: number;
}

export class Damping {
  /**
   * In the order in which they expire, because all count equally long. Bound: CHANGES_SHOWN_MAX + 1 per member and channel, of
   * the last 10 s.
   */
  private records: ExpiringChange[] = [];
  private isTimerSet = false;

  constructor(
    private readonly clock: Clock,
    /** A change of this peer that was held back in this channel may be shown now. */
    private readonly release: (channel: Channel, peerId: string) => void,
  ) {}

  /**
   * Whether a receiver that knows `known` of a peer may be shown `entry`; if not, `release` is called when it may.
   * `beforeMessage`: a message of that peer is about to be written to this receiver.
   */
  allows(
    channel: Channel,
    peerId: string,
    known: string | undefined,
    entry: string | undefined,
    beforeMessage: boolean,
  ): boolean {
    const recent = channel.recentChanges?.get(peerId);
    if (!recent || recent.count < CHANGES_SHOWN_MAX) return true;
    // The last change within the limit was shown to one receiver before the others, and is already counted.
    if (recent.count === CHANGES_SHOWN_MAX && recent.last === entry) return true;
    if (beforeMessage && known === undefined && entry !== undefined) return true;
    recent.isDamped = true;
    return false;
  }

  /** A change was shown, to one receiver or to all. One that is shown to a single receiver before the others counts once. */
  shown(channel: Channel, peerId: string, before: string | undefined, entry: string | undefined): void {
    channel.recentChanges ??= new Map();
    let recent = channel.recentChanges.get(peerId);
    if (!recent) {
      recent = { count: 0, last: before, isDamped: false };
      channel.recentChanges.set(peerId, recent);
    }
    if (recent.last === entry) return;
    recent.last = entry;
    // Direct messages to several receivers can each need a join: together they count as one change more.
    if (recent.count > CHANGES_SHOWN_MAX) return;
    recent.count++;
    this.records.push({ channel, peerId, recent, untilMs: this.clock.monotonicMs() + CHANGES_SHOWN_WINDOW_MS });
    this.setTimer();
  }

  /** A change was recorded for the channel, but no one received it, so the change does not count. */
  unseen(channel: Channel, peerId: string): void {
    const recent = channel.recentChanges?.get(peerId);
    if (recent) recent.last = UNSEEN;
  }

  private setTimer(): void {
    const [first] = this.records;
    if (this.isTimerSet || !first) return;
    this.isTimerSet = true;
    this.clock.after(Math.max(EXPIRE_GAP_MS, first.untilMs - this.clock.monotonicMs()), () => {
      this.isTimerSet = false;
      this.expire();
      this.setTimer();
    });
  }

  private expire(): void {
    const nowMs = this.clock.monotonicMs();
    const firstLeft = this.records.findIndex(({ untilMs }) => untilMs > nowMs);
    for (const { channel, peerId, recent } of this.records.splice(0, firstLeft < 0 ? this.records.length : firstLeft)) {
      if (--recent.count === 0) drop(channel, peerId);
      if (!recent.isDamped || recent.count >= CHANGES_SHOWN_MAX) continue;
      recent.isDamped = false;
      this.release(channel, peerId);
    }
  }
}

function drop(channel: Channel, peerId: string): void {
  channel.recentChanges?.delete(peerId);
  if (channel.recentChanges?.size === 0) channel.recentChanges = undefined;
}
