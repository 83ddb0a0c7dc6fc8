/**
 * Drops connections that have been silent for too long. Our own sends reset the runtime's idle timer, so a dead connection that
 * is written to would never time out there: we ping and check ourselves. Connections are spread over buckets, one of which is
 * pinged per tick.
 */
import { PING_EVERY_MS, SILENCE_MAX_MS } from "../protocol/limits.ts";
import type { Boundary } from "./boundary.ts";
import type { Clock } from "./clock.ts";
import type { Connection } from "./connection.ts";
import type { ConnectionObserver, Connections } from "./connections.ts";
import type { RealtimeMetrics } from "./metrics.ts";

const TICK_MS = 1000;
const BUCKETS = PING_EVERY_MS / TICK_MS;
/** Timers fire late: a ping counts as unanswered after one period of silence less this. */
const SLACK_MS = TICK_MS;

export class Liveness implements ConnectionObserver {
  /** Arrays, because sets would take 40 bytes per connection. Removing one looks through its bucket, a thirtieth of all. */
  private readonly buckets: Connection[][] = Array.from({ length: BUCKETS }, () => []);
  /** Connections with an unanswered ping: checked at every tick, so that they are dropped on time. */
  private readonly suspects = new Set<Connection>();
  private bucket = 0;
  private count = 0;
  private isTimerSet = false;

  constructor(
    private readonly clock: Clock,
    private readonly boundary: Boundary,
    private readonly connections: Connections,
    private readonly metrics: RealtimeMetrics,
  ) {}

  connected(connection: Connection): void {
    this.bucketOf(connection).push(connection);
    this.count++;
    this.setTimer();
  }

  disconnected(connection: Connection): void {
    this.suspects.delete(connection);
    const bucket = this.bucketOf(connection);
    const at = bucket.indexOf(connection);
    if (at < 0) return;
    this.count--;
    const last = bucket.pop();
    if (last && last !== connection) bucket[at] = last;
  }

  /** By number, so that the buckets are equally full however many connect at once. */
  private bucketOf({ number }: Connection): Connection[] {
    return this.buckets[number % BUCKETS] as Connection[];
  }

  private setTimer(): void {
    if (this.isTimerSet || this.count === 0) return;
    this.isTimerSet = true;
    this.clock.after(TICK_MS, () => {
      this.isTimerSet = false;
      try {
        this.check();
      } finally {
        // Even after an exception: without the next tick dead connections would stay.
        this.setTimer();
      }
    });
  }

  private check(): void {
    this.bucket = (this.bucket + 1) % BUCKETS;
    const now = this.clock.monotonicMs();
    // A copy: a ping that fails ends its connection, which takes it out of the bucket.
    for (const connection of [...(this.buckets[this.bucket] as Connection[])]) {
      if (!connection.open) continue;
      if (now - connection.lastSeenMs >= PING_EVERY_MS - SLACK_MS) this.suspects.add(connection);
      this.boundary.forConnection("timer", connection, ping);
    }
    for (const connection of this.suspects) this.checkSuspect(connection, now - connection.lastSeenMs);
  }

  private drop(connection: Connection): void {
    this.metrics.silentDrops.inc();
    this.connections.cut(connection);
  }

  private checkSuspect(connection: Connection, silenceMs: number): void {
    if (silenceMs >= SILENCE_MAX_MS) this.boundary.forConnection("timer", connection, () => this.drop(connection));
    else if (silenceMs < PING_EVERY_MS - SLACK_MS) this.suspects.delete(connection);
  }
}

const ping = (connection: Connection): void => void connection.socket.ping("");
