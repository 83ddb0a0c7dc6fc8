/**
 * Drops connections that have been silent for too long. Our own sends reset the runtime's idle timer, so a dead connection that
 * is written to would never time out there: we ping and check ourselves. Connections are spread over buckets, one of which is
 * pinged per tick.
 */
import type { Clock } from "../../base/clock.ts";
import { PING_EVERY_MS, SILENCE_MAX_MS } from "../../protocol/limits.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Connection } from "../state/connection.ts";
import type { Boundary } from "./boundary.ts";
import type { ConnectionObserver, Connections } from "./connections.ts";

const TICK_MS = 1000;
const BUCKETS = PING_EVERY_MS / TICK_MS;
/** Timers fire late: a ping counts as unanswered after one period of silence less this. */
const SLACK_MS = TICK_MS;

export class Liveness implements ConnectionObserver {
  /**
   * Arrays, because sets would take 40 bytes per connection. Ended ones are removed when they are half of a bucket, or it is
   * pinged. Bound: one per connection, and at most as many that have ended.
   */
  private readonly buckets: Connection[][] = Array.from({ length: BUCKETS }, () => []);
  /** How many connections of each bucket have ended. */
  private readonly ended = new Uint32Array(BUCKETS);
  /** Connections with an unanswered ping: checked at every tick, so that they are dropped on time. Bound: connections, each for 30 s. */
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
    this.buckets[bucketOf(connection)]?.push(connection);
    this.count++;
    if (!this.isTimerSet) this.setTimer();
  }

  disconnected(connection: Connection): void {
    this.suspects.delete(connection);
    this.count--;
    const at = bucketOf(connection);
    const ended = (this.ended[at] ?? 0) + 1;
    this.ended[at] = ended;
    if (ended * 2 >= this.connectionsIn(at).length) this.removeEnded(at);
  }

  private connectionsIn(at: number): readonly Connection[] {
    return this.buckets[at] ?? [];
  }

  /** Replaces the array: a loop over it goes on over what it was. */
  private removeEnded(at: number): void {
    if (this.ended[at] === 0) return;
    this.buckets[at] = this.connectionsIn(at).filter((connection) => connection.open);
    this.ended[at] = 0;
  }

  private setTimer(): void {
    if (this.count === 0) return;
    this.isTimerSet = true;
    this.clock.after(TICK_MS, () => {
      this.isTimerSet = false;
      try {
        this.check();
      } finally {
        // Even after an exception: without the next tick dead connections would stay.
        if (!this.isTimerSet) this.setTimer();
      }
    });
  }

  private check(): void {
    this.bucket = (this.bucket + 1) % BUCKETS;
    const now = this.clock.monotonicMs();
    this.removeEnded(this.bucket);
    for (const connection of this.connectionsIn(this.bucket)) {
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

/** By number, so that the buckets are equally full however many connect at once. */
const bucketOf = ({ number }: Connection): number => number % BUCKETS;

const ping = (connection: Connection): void => void connection.socket.ping("");
