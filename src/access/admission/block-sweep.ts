/** Removes blocks that have ended, once a minute, from memory and from the store. */
import type { Store } from "../../store/contract/store.ts";
import type { Blocks } from "./blocks.ts";

const SWEEP_EVERY_MS = 60_000;

interface BlockSweepParts {
  readonly blocks: Blocks;
  readonly store: Pick<Store, "forgetBlocks">;
  readonly nowMs: () => number;
  readonly failed: (error: unknown) => void;
}

export class BlockSweep {
  private timer: ReturnType<typeof setInterval> | undefined;
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly parts: BlockSweepParts) {}

  start(everyMs = SWEEP_EVERY_MS): void {
    // No boundary: a sweep catches and reports what it throws.
    this.timer = setInterval(() => {
      this.running = this.sweep();
    }, everyMs);
  }

  /** Resolves when no sweep uses the store any more. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  /** Never throws: what could not be removed from the store is retried a minute later. */
  async sweep(): Promise<void> {
    const { blocks, store, nowMs, failed } = this.parts;
    try {
      blocks.sweep(nowMs());
      await store.forgetBlocks(nowMs());
    } catch (error) {
      failed(error);
    }
  }
}
