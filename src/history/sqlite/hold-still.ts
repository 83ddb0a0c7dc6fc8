/** Holds the embedded store and the embedded history still, so that both can be copied as of one moment. */
import { statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { systemClock } from "../../base/clock.ts";
import { Repeating } from "../../base/repeating.ts";
import type { HoldStill, StillFile, StillFiles } from "../../store/contract/still-files.ts";
import { StoreError } from "../../store/contract/store.ts";
import type { SqlStore } from "../../store/sql/store.ts";
import type { SqliteHistory } from "./history.ts";

/** A hold ends when the logs have this much together, or the disk has no more than `HOLD_FREE_BYTES` left. */
const HOLD_LOG_MAX_BYTES = 1024 ** 3;
const HOLD_FREE_BYTES = 256 * 1024 ** 2;
const HOLD_MAX_MS = 30 * 60_000;
const LOOK_EVERY_MS = 250;

interface HeldParts {
  readonly store: Pick<SqlStore, "file">;
  readonly history: Pick<SqliteHistory, "keepInLog" | "writeToFile">;
  /** Those of the store and of the history. */
  readonly paths: readonly string[];
  readonly failed: (error: unknown) => void;
  /** For tests: instead of HOLD_LOG_MAX_BYTES. */
  readonly logMaxBytes?: number;
}

export function holdStillOf(parts: HeldParts): HoldStill {
  let last: Promise<unknown> = Promise.resolve();
  return async () => {
    const before = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    await before;
    try {
      return await Hold.begin(parts, resolve);
    } catch (error) {
      resolve();
      throw error;
    }
  };
}

class Hold implements StillFiles {
  private readonly endsMs = systemClock.monotonicMs() + HOLD_MAX_MS;
  private readonly watching: Repeating;
  private released: Promise<boolean> | undefined;
  private isTooLong = false;

  private constructor(
    private readonly parts: HeldParts,
    readonly atMs: number,
    readonly files: readonly StillFile[],
    private readonly ended: () => void,
  ) {
    this.watching = new Repeating(LOOK_EVERY_MS, () => this.look(), parts.failed);
    this.watching.start();
  }

  static async begin(parts: HeldParts, ended: () => void): Promise<Hold> {
    const { store, history, paths } = parts;
    if (!store.file) throw new StoreError("only the embedded store can be copied as a file");
    let atMs = 0;
    try {
      // In one turn, and with no change of the store under way: both files are of this moment.
      await store.file.keepInLog(() => {
        history.keepInLog();
        atMs = systemClock.wallMs();
      });
    } catch (error) {
      await store.file.writeToFile();
      throw error;
    }
    const files = paths.map((path) => ({ name: basename(path), path, bytes: sizeOf(path) }));
    return new Hold(parts, atMs, files, ended);
  }

  release(): Promise<boolean> {
    this.released ??= this.end();
    return this.released;
  }

  private async end(): Promise<boolean> {
    const { store, history, failed } = this.parts;
    void this.watching.stop();
    try {
      const isSame = history.writeToFile();
      await store.file?.writeToFile();
      return isSame && !this.isTooLong;
    } catch (error) {
      // The next change tries again.
      failed(error);
      return false;
    } finally {
      this.ended();
    }
  }

  private async look(): Promise<void> {
    const { paths, logMaxBytes = HOLD_LOG_MAX_BYTES } = this.parts;
    const logs = paths.reduce((sum, path) => sum + sizeOf(`${path}-wal`), 0);
    const { bavail, bsize } = await statfs(dirname(paths[0] ?? "."));
    const isFull = logs > 0 && bavail * bsize < HOLD_FREE_BYTES;
    if (logs <= logMaxBytes && !isFull && systemClock.monotonicMs() < this.endsMs) return;
    if (!this.released) this.isTooLong = true;
    await this.release();
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
