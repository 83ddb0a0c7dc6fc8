/**
 * Archives rooms with `deleteOnExp` when they expire: one timer for all, set to the next room that is due. It also runs every ten
 * seconds, for rooms of a node that has stopped, and for clocks that were corrected. Rooms that came due while no node was running are
 * archived at the start. However many nodes run this, each room is archived once.
 */
import type { AppId } from "../base/ids.ts";
import type { RoomStore } from "../store/contract/rooms.ts";

const CHECK_EVERY_MS = 10_000;
/** Rooms per transaction: about 3 ms of SQLite. */
const BATCH_ROOMS = 50;
/** Between two batches: very many rooms may be due at once, and everything else goes first. */
const PAUSE_MS = 1;

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

  /**
   * Archives the application's room of that name if it is due, or some of its rooms that are, and returns how many. For a change that needs
   * the name or the place now: all rooms that are due may take seconds.
   */
  async archiveOf(app: AppId, name: string | undefined): Promise<number> {
    const count = await this.parts.store.archiveDue(this.parts.nowMs(), BATCH_ROOMS, { app, name });
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

  /** Archives all rooms that are due. */
  private async sweep(): Promise<void> {
    let count = 0;
    try {
      for (let batch = BATCH_ROOMS; batch === BATCH_ROOMS && !this.stopped; ) {
        if (count > 0) await Bun.sleep(PAUSE_MS);
        batch = await this.parts.store.archiveDue(this.parts.nowMs(), BATCH_ROOMS);
        count += batch;
      }
    } finally {
      if (count > 0) this.parts.archived(count);
    }
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
