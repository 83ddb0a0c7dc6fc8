/**
 * Rooms with `deleteOnExp` are archived when their time comes: one timer for all, set to the next one that is due. It looks
 * again now and then, for rooms that another node has made and was not there to archive, and for clocks that are put right.
 * What came due while nobody ran is archived at the start. However many nodes look, each room is archived by one.
 */
import type { RoomStore } from "../store/rooms.ts";

const LOOK_EVERY_MS = 10_000;
const BATCH = 500;

export interface ExpiryParts {
  readonly store: Pick<RoomStore, "archiveDue" | "nextDue">;
  readonly nowMs: () => number;
  readonly archived: (count: number) => void;
  readonly failed: (error: unknown) => void;
  /** The callback inside the boundary of timers. */
  readonly guarded: (callback: () => Promise<void>) => () => void;
}

export class Expiry {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private dueMs = Number.POSITIVE_INFINITY;
  private running: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(private readonly parts: ExpiryParts) {}

  /** Resolves when what was overdue is archived. */
  start(): Promise<void> {
    return this.lookInTurn();
  }

  /** A room is to be archived then. */
  consider(archiveAt: number | null): void {
    if (archiveAt !== null && archiveAt < this.dueMs) this.arm(archiveAt);
  }

  /** Archives all that is due; how many. */
  async sweep(): Promise<number> {
    let count = 0;
    for (let batch = BATCH; batch === BATCH; count += batch)
      batch = await this.parts.store.archiveDue(this.parts.nowMs(), BATCH);
    if (count > 0) this.parts.archived(count);
    return count;
  }

  /** Resolves when nothing of it works on the store any more. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  private lookInTurn(): Promise<void> {
    const look = (): Promise<void> => this.look();
    // Also behind a look that has failed in a way nobody foresaw: it must not be the last one.
    this.running = this.running.then(look, look);
    return this.running;
  }

  private async look(): Promise<void> {
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
    const inMs = Math.min(Math.max(0, dueMs - this.parts.nowMs()), LOOK_EVERY_MS);
    this.timer = setTimeout(
      this.parts.guarded(() => this.lookInTurn()),
      inMs,
    );
  }
}
