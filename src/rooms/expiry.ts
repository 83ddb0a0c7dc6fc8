/**
 * Archives rooms with `deleteOnExp` when they expire: one timer for all, set to the next room that is due. It also runs every ten
 * seconds, for rooms of a node that has stopped, and for clocks that were corrected. Rooms that came due while no node was running are
 * archived at the start. However many nodes run this, each room is archived once.
 */
import type { RoomStore } from "../store/contract/rooms.ts";

const CHECK_EVERY_MS = 10_000;
const BATCH_ROOMS = 500;

interface ExpiryParts {
  readonly store: Pick<RoomStore, "archiveDue" | "nextDue">;
  readonly nowMs: () => number;
  readonly archived: (count: number) => void;
  readonly failed: (error: unknown) => void;
  /** Wraps a timer callback, so that an exception does not drain the node. */
  readonly guarded: (callback: () => Promise<void>) => () => void;
}

export class Expiry {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private dueMs = Number.POSITIVE_INFINITY;
  private running: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(private readonly parts: ExpiryParts) {}

  /** Resolves when overdue rooms are archived. */
  start(): Promise<void> {
    return this.checkInTurn();
  }

  /** Sets the timer for a room that is to be archived at that time. */
  schedule(archiveAt: number | null): void {
    if (archiveAt !== null && archiveAt < this.dueMs) this.arm(archiveAt);
  }

  /** Archives all rooms that are due, and returns how many. */
  async sweep(): Promise<number> {
    let count = 0;
    for (let batch = BATCH_ROOMS; batch === BATCH_ROOMS; count += batch)
      batch = await this.parts.store.archiveDue(this.parts.nowMs(), BATCH_ROOMS);
    if (count > 0) this.parts.archived(count);
    return count;
  }

  /** Resolves when no call to the store is under way any more. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  private checkInTurn(): Promise<void> {
    const check = (): Promise<void> => this.check();
    // Also after a check that failed unexpectedly: it must not be the last one.
    this.running = this.running.then(check, check);
    return this.running;
  }

  private async check(): Promise<void> {
    this.dueMs = Number.POSITIVE_INFINITY;
    try {
      await this.sweep();
      this.dueMs = Math.min(this.dueMs, (await this.parts.store.nextDue()) ?? this.dueMs);
    } catch (error) {
      this.parts.failed(error);
    }
    this.arm(this.dueMs);
  }

  private arm(dueMs: number): void {
    if (this.stopped) return;
    this.dueMs = dueMs;
    clearTimeout(this.timer);
    const inMs = Math.min(Math.max(0, dueMs - this.parts.nowMs()), CHECK_EVERY_MS);
    this.timer = setTimeout(
      this.parts.guarded(() => this.checkInTurn()),
      inMs,
    );
  }
}
