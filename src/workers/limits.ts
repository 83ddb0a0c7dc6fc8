/** Limits of workers and their supervisor. */

export const BEAT_EVERY_MS = 500;
/** How often the supervisor looks for silent workers. */
export const WATCH_EVERY_MS = 250;
/** A worker that is silent for this long is killed: new connections would wait for it, because the kernel spreads them over all workers. */
export const SILENT_MAX_MS = 2000;
/** The same for one that computes, or waits for a CPU or a disk: it may only be slow. */
export const BUSY_MAX_MS = 10_000;
/** How long a start may take. */
export const START_MAX_MS = 60_000;
/** The first replacement starts at once; each further one waits twice as long, up to the longest wait. */
export const RESTART_FIRST_WAIT_MS = 250;
export const RESTART_WAIT_MAX_MS = 30_000;
/** A worker that was ready for this long has not failed at its start: the next one does not wait. */
export const STABLE_AFTER_MS = 10_000;
/** Without its supervisor, a worker ends within this time. */
export const ORPHAN_DRAIN_MS = 1000;
export const ORPHAN_MAX_MS = 1500;
/** Added to the two phases of a drain, connections and requests, which take up to PARLEY_DRAIN_SECONDS each. */
export const DRAIN_SLACK_MS = 10_000;
