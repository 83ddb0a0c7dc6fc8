/**
 * Writes the rosters of one connection one after the other: the next one, or the next part of a long one, is written when the
 * previous one has left the socket's buffer. All at once could exceed what may wait for a connection (PARLEY_MAX_PENDING_BYTES):
 * a client that keeps up would be cut, reconnect, and be cut again.
 *
 * Bound: one entry per connection whose roster has not drained, and in it at most its subscriptions. A connection that reads
 * nothing for ROSTER_DRAIN_MAX_MS while rosters wait for it is cut.
 */
import type { Clock } from "../../base/clock.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { Connections } from "../connections/connections.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Connection } from "../state/connection.ts";
import type { Subscription } from "../state/subscription.ts";
import { ROSTER_DRAIN_MAX_MS } from "./limits.ts";

/** How often connections with a roster in their buffer are checked. */
const CHECK_EVERY_MS = 1000;

interface RosterQueueParts {
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
  current: Subscription | undefined;
  /** Whether a roster is in the buffer; otherwise only messages are. */
  holdsRoster: boolean;
  /** Monotonic ms at which the client last read something, or a roster was written. */
  sinceMs: number;
  /** Bytes in the buffer at the last check. */
  bufferedBytes: number;
}

export class RosterQueue {
  /**
   * Connections with a roster in their buffer, or with rosters that wait. Bound: one per connection, with at most its
   * subscriptions; cut after ROSTER_DRAIN_MAX_MS without progress.
   */
  private readonly busy = new Map<Connection, Queue>();
  private isTimerSet = false;

  constructor(private readonly parts: RosterQueueParts) {}

  /** Whether the roster of this subscription may be written now; if not, it is queued until the buffer has drained. */
  admits(subscription: Subscription): boolean {
    const { connection } = subscription;
    const queue = this.busy.get(connection);
    if (queue?.current === subscription) return true;
    if (!queue?.waiting.length && this.hasRoom(connection, queue)) return true;
    const { waiting } = queue ?? this.open(connection);
    if (!waiting.includes(subscription)) waiting.push(subscription);
    return false;
  }

  /** A roster was written, or a part of it. `isComplete`: nothing of it is left to be written. */
  wrote(subscription: Subscription, isComplete: boolean): void {
    const { connection } = subscription;
    if (isComplete && connection.socket.getBufferedAmount() === 0) return;
    const queue = this.busy.get(connection) ?? this.open(connection);
    queue.holdsRoster = true;
    queue.sinceMs = this.parts.clock.monotonicMs();
    if (!isComplete && !queue.waiting.includes(subscription)) queue.waiting.unshift(subscription);
  }

  /** The roster of this subscription is no longer wanted. */
  remove(subscription: Subscription): void {
    const waiting = this.busy.get(subscription.connection)?.waiting;
    const at = waiting?.indexOf(subscription) ?? -1;
    if (at >= 0) waiting?.splice(at, 1);
  }

  /** The runtime reports that a client has read some of what waited for it. */
  onDrained(connection: Connection): void {
    const queue = this.busy.get(connection);
    if (!queue) return;
    queue.sinceMs = this.parts.clock.monotonicMs();
    this.serve(connection, queue);
  }

  private serve(connection: Connection, queue: Queue): void {
    while (connection.open && this.hasRoom(connection, queue)) {
      queue.holdsRoster = false;
      queue.sinceMs = this.parts.clock.monotonicMs();
      queue.current = queue.waiting.shift();
      if (!queue.current) {
        this.busy.delete(connection);
        return;
      }
      try {
        this.parts.proceed(queue.current);
      } finally {
        queue.current = undefined;
      }
    }
  }

  /** Some messages may be in the buffer, but no roster. */
  private hasRoom(connection: Connection, queue: Queue | undefined): boolean {
    return connection.socket.getBufferedAmount() <= (queue?.holdsRoster ? 0 : this.parts.spareBytes);
  }

  private open(connection: Connection): Queue {
    const sinceMs = this.parts.clock.monotonicMs();
    const queue: Queue = { waiting: [], current: undefined, holdsRoster: false, sinceMs, bufferedBytes: 0 };
    this.busy.set(connection, queue);
    this.setTimer();
    return queue;
  }

  private setTimer(): void {
    if (this.isTimerSet || this.busy.size === 0) return;
    this.isTimerSet = true;
    this.parts.clock.after(CHECK_EVERY_MS, () => {
      this.isTimerSet = false;
      for (const [connection, queue] of [...this.busy])
        this.parts.boundary.forConnection("timer", connection, () => this.check(connection, queue));
      this.setTimer();
    });
  }

  private cut(connection: Connection): void {
    this.parts.metrics.slowCuts.inc();
    this.parts.connections.cut(connection);
  }

  private check(connection: Connection, queue: Queue): void {
    if (!connection.open) {
      this.busy.delete(connection);
      return;
    }
    // A slow client reads a long roster bit by bit: its buffer shrinks without being empty.
    const bufferedBytes = connection.socket.getBufferedAmount();
    if (bufferedBytes < queue.bufferedBytes) queue.sinceMs = this.parts.clock.monotonicMs();
    queue.bufferedBytes = bufferedBytes;
    this.serve(connection, queue);
    const waitedMs = this.parts.clock.monotonicMs() - queue.sinceMs;
    if (queue.waiting.length > 0 && waitedMs >= ROSTER_DRAIN_MAX_MS) this.cut(connection);
  }
}
