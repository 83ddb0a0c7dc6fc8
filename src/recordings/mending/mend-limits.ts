/** Limits of mending one file, and of the process that does it. */

export interface MendLimits {
  readonly wallMs: (inputBytes: number) => number;
  readonly memoryBytes: number;
  readonly outputBytes: (inputBytes: number) => number;
}

const MIB = 1024 * 1024;

export const MEND_LIMITS: MendLimits = {
  // Small ones less: others wait meanwhile, and a hostile file can make the library loop.
  wallMs: (inputBytes) => Math.min(60_000, 20_000 + Math.ceil(inputBytes / MIB) * 1000),
  memoryBytes: 512 * MIB,
  // The result has other headers and an index. Anything beyond that is not a copy of the same frames.
  outputBytes: (inputBytes) => Math.ceil(inputBytes * 1.1) + MIB,
};

/** How often the process is looked at. */
export const MEND_WATCH_EVERY_MS = 200;
/** The process answers with one line. */
export const MEND_ANSWER_MAX_BYTES = 16 * 1024;
export const MEND_REASON_MAX_CHARS = 300;
/** How often a service may die while it mends a file. After that the file is listed as it came. */
export const MEND_TRIES_MAX = 3;
