/**
 * When connections were made: Unix ms, but in the order in which this node saw things happen. The newest connection of a peer decides
 * what is shown of it, so a clock that was set back, or another node's that is ahead, must not make a new connection older than the
 * one that it replaces.
 *
 * A clock that was far ahead and is set back must not make this node's connections newer than everyone else's either, for as long as
 * it was ahead. New connections then get times near the clock again, and only those of one peer are kept in order.
 */
import type { Clock } from "../../base/clock.ts";

/** Times are at most this much ahead of the clock, also those of other nodes: one that is wrong by a year must not set the times of this node. */
export const AHEAD_MAX_MS = 10_000;

/** So far above that, times still count as they are: they grow by steps, and clocks of nodes differ. At the bound itself there would be ties. */
const SLACK_MS = 1000;
const STEP_MS = 0.001;

export class ConnectionTimes {
  /** The last time of a connection; after the clock was set back it comes back too. */
  private lastMs = 0;
  /** The latest of all times; never comes back. */
  private latestMs = 0;

  constructor(private readonly clock: Pick<Clock, "wallMs">) {}

  /**
   * The time of a new connection: later than all before, if only by a microsecond, so that there is never a tie. After the clock was set
   * back, only later than `afterMs`: the other connections of its peer.
   */
  next(afterMs = 0): number {
    this.lastMs = Math.max(this.clock.wallMs(), this.bounded(this.lastMs) + STEP_MS);
    // A peer with a connection from before the clock was set back does not take the others along.
    const ms = Math.max(this.lastMs, afterMs + STEP_MS);
    this.latestMs = Math.max(this.latestMs, ms);
    return ms;
  }

  /** Not before any connection that exists, and before those to come, except after the clock was set back. */
  now(): number {
    this.raise(this.clock.wallMs());
    // After the clock was set back, connections to come have times near the clock, and not near this.
    if (this.bounded(this.latestMs) === this.latestMs) this.raise(this.latestMs);
    return this.latestMs;
  }

  /** Another node has a connection of that time: those that are made here from now on are newer. */
  heard(sinceMs: number): void {
    if (sinceMs > this.lastMs) this.raise(this.bounded(sinceMs));
  }

  private bounded(ms: number): number {
    const mostMs = this.clock.wallMs() + AHEAD_MAX_MS;
    return ms > mostMs + SLACK_MS ? mostMs : ms;
  }

  private raise(ms: number): void {
    this.lastMs = Math.max(this.lastMs, ms);
    this.latestMs = Math.max(this.latestMs, ms);
  }
}
