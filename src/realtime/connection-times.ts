/**
 * When connections were made: Unix ms, but in the order in which this node saw things happen. The newest connection of a peer decides
 * what is shown of it, so a clock that was set back, or another node's that is ahead, must not make a new connection older than the
 * one that it replaces.
 */
import type { Clock } from "./clock.ts";

/** Clocks of other nodes count up to this much ahead: one that is wrong by a year must not set the times of this node. */
export const AHEAD_MAX_MS = 10_000;

export class ConnectionTimes {
  private lastMs = 0;

  constructor(private readonly clock: Pick<Clock, "wallMs">) {}

  /** The time of a new connection: later than all before, if only by a microsecond, so that there is never a tie. */
  next(): number {
    this.lastMs = Math.max(this.clock.wallMs(), this.lastMs + 0.001);
    return this.lastMs;
  }

  /** Not before any connection that exists, and before those to come. */
  now(): number {
    this.lastMs = Math.max(this.clock.wallMs(), this.lastMs);
    return this.lastMs;
  }

  /** Another node has a connection of that time: those that are made here from now on are newer. */
  heard(sinceMs: number): void {
    if (sinceMs > this.lastMs)
      this.lastMs = Math.max(this.lastMs, Math.min(sinceMs, this.clock.wallMs() + AHEAD_MAX_MS));
  }
}
