/**
 * Writes the rosters of one connection one after the other: the next one, or the next part of a long one, is written when the
 * previous one has left the socket's buffer. All at once could exceed what may wait for a connection (PARLEY_MAX_PENDING_BYTES):
 * a client that keeps up would be cut, reconnect, and be cut again.
 *
 * Bound: one entry per connection whose roster has not drained, and in it at most its subscriptions. A connection that reads
 * nothing for ROSTER_DRAIN_MAX_MS while rosters wait for it is cut.
 */

import type { Boundary } from "./boundary.ts";
import type { Clock } from "./clock.ts";
import type { Connections } from "./connections.ts";
import { ROSTER_DRAIN_MAX_MS } from "./limits.ts";
import type { RealtimeMetrics } from "./metrics.ts";
import type { Peer } from "./peer.ts";
import type { Subscription } from "./subscription.ts";

/** How often connections with a roster in their buffer are checked. */
const CHECK_EVERY_MS = 1000;

export interface RosterQueueParts {
  readonly clock: Clock;
  readonly boundary: Boundary;
  readonly connections: Connections;
  readonly metrics: RealtimeMetrics;
  /** Bytes that may already wait for a connection when a roster is added to them. */
  readonly spareBytes: number;
  /** It is this subscription's turn: its roster is to be written, or the rest of it. */
  readonly proceed: (subscription: Subscription) => void;
}

interface Queue {
  readonly waiting: Subscription[];
  /** The subscription that `proceed` is called for at the moment. */
  turn: Subscription | undefined;
  /** Whether a roster is in the buffer; otherwise only messages are. */
  holdsRoster: boolean;
  /** Monotonic ms at which the client last read something, or a roster was written. */
  sinceMs: number;
  /** Bytes in the buffer at the last check. */
  bufferedBytes: number;
}

export class RosterQueue {
  /** Connections with a roster in their buffer, or with rosters that wait. */
  private readonly busy = new Map<Peer, Queue>();
  private isTimerSet = false;

  constructor(private readonly parts: RosterQueueParts) {}

  /** Whether the roster of this subscription may be written now; if not, it is queued until the buffer has drained. */
  admits(subscription: Subscription): boolean {
    const { peer } = subscription;
    const queue = this.busy.get(peer);
    if (queue?.turn === subscription) return true;
    if (!queue?.waiting.length && this.hasRoom(peer, queue)) return true;
    const { waiting } = queue ?? this.open(peer);
    if (!waiting.includes(subscription)) waiting.push(subscription);
    return false;
  }

  /** A roster was written, or a part of it. `isComplete`: nothing of it is left to be written. */
  wrote(subscription: Subscription, isComplete: boolean): void {
    const { peer } = subscription;
    if (isComplete && peer.socket.getBufferedAmount() === 0) return;
    const queue = this.busy.get(peer) ?? this.open(peer);
    queue.holdsRoster = true;
    queue.sinceMs = this.parts.clock.monotonicMs();
    if (!isComplete && !queue.waiting.includes(subscription)) queue.waiting.unshift(subscription);
  }

  /** Its roster is no longer wanted. */
  remove(subscription: Subscription): void {
    const waiting = this.busy.get(subscription.peer)?.waiting;
    const at = waiting?.indexOf(subscription) ?? -1;
    if (at >= 0) waiting?.splice(at, 1);
  }

  /** The runtime reports that a client has read some of what waited for it. */
  drained(peer: Peer): void {
    const queue = this.busy.get(peer);
    if (!queue) return;
    queue.sinceMs = this.parts.clock.monotonicMs();
    this.serve(peer, queue);
  }

  private serve(peer: Peer, queue: Queue): void {
    while (peer.open && this.hasRoom(peer, queue)) {
      queue.holdsRoster = false;
      queue.sinceMs = this.parts.clock.monotonicMs();
      queue.turn = queue.waiting.shift();
      if (!queue.turn) {
        this.busy.delete(peer);
        return;
      }
      try {
        this.parts.proceed(queue.turn);
      } finally {
        queue.turn = undefined;
      }
    }
  }

  /** Some messages may be in the buffer, but no roster. */
  private hasRoom(peer: Peer, queue: Queue | undefined): boolean {
    return peer.socket.getBufferedAmount() <= (queue?.holdsRoster ? 0 : this.parts.spareBytes);
  }

  private open(peer: Peer): Queue {
    const sinceMs = this.parts.clock.monotonicMs();
    const queue: Queue = { waiting: [], turn: undefined, holdsRoster: false, sinceMs, bufferedBytes: 0 };
    this.busy.set(peer, queue);
    this.setTimer();
    return queue;
  }

  private setTimer(): void {
    if (this.isTimerSet || this.busy.size === 0) return;
    this.isTimerSet = true;
    this.parts.clock.after(CHECK_EVERY_MS, () => {
      this.isTimerSet = false;
      for (const [peer, queue] of [...this.busy])
        this.parts.boundary.forPeer("timer", peer, () => this.check(peer, queue));
      this.setTimer();
    });
  }

  private cut(peer: Peer): void {
    this.parts.metrics.slowCuts.inc();
    this.parts.connections.cut(peer);
  }

  private check(peer: Peer, queue: Queue): void {
    if (!peer.open) {
      this.busy.delete(peer);
      return;
    }
    // A slow client reads a long roster bit by bit: its buffer shrinks without being empty.
    const bufferedBytes = peer.socket.getBufferedAmount();
    if (bufferedBytes < queue.bufferedBytes) queue.sinceMs = this.parts.clock.monotonicMs();
    queue.bufferedBytes = bufferedBytes;
    this.serve(peer, queue);
    const waitedMs = this.parts.clock.monotonicMs() - queue.sinceMs;
    if (queue.waiting.length > 0 && waitedMs >= ROSTER_DRAIN_MAX_MS) this.cut(peer);
  }
}
