/** Limits of mending one file, and of the process that does it. */

export interface MendLimits {
  /** CPU time of the process. */
  readonly cpuMs: (inputBytes: number) => number;
  readonly wallMs: number;
  readonly memoryBytes: number;
  readonly outputBytes: (inputBytes: number) => number;
}

const MIB = 1024 * 1024;

export const MEND_LIMITS: MendLimits = {
  // Small ones less: others wait meanwhile, and a hostile file can make the library loop. A good one takes about 15 ms per MiB.
  cpuMs: (inputBytes) => Math.min(60_000, 20_000 + Math.ceil(inputBytes / MIB) * 1000),
  // For a process that does nothing. It has the lowest priority: on a busy machine it takes many times its CPU time.
  wallMs: 600_000,
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
/** A stay lasts at most 24 hours. Longer times are not those of a recording. */
export const DURATION_MAX_SECONDS = 48 * 3600;

/** What waits to be mended beyond these is listed as it came, so that a sender of very many files does not use the process up for hours. */
export const WAITING_PER_STAY_MAX = 10;
export const WAITING_PER_ROOM_MAX = 100;
/** The list of files that wait is used for this time, and for this many of them. A file that is finished meanwhile waits until it is read again. */
export const LIST_USED_MS = 2000;
export const MENDED_PER_LIST = 200;
