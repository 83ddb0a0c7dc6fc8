/**
 * The embedded files at one moment, for a copy that is made while the service runs.
 *
 * - From `holdStill` to `release`, the files MUST NOT change: what is written meanwhile stays in their logs.
 * - All files MUST be of the same moment: what was acknowledged before is in them, and nothing of what came later.
 * - They MUST be read by another process than the one that has them open: closing a file ends all locks that a process has on it.
 * - A hold MUST end by itself before the logs fill the disk. Then `release` returns false, and the copy is worth nothing.
 */

export interface StillFile {
  /** As in the data folder: `parley.sqlite`. */
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

export interface StillFiles {
  /** Unix ms. */
  readonly atMs: number;
  readonly files: readonly StillFile[];
  /** Whether the files have been still until now. */
  release(): Promise<boolean>;
}

/** One hold at a time: another call waits for the first to end. */
export type HoldStill = () => Promise<StillFiles>;
