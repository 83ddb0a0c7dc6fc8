/** Limits of what the holder of the lease derives. */

/** Rows that are read at once: SQLite reads and writes them on the event loop. */
export const DERIVE_ROWS = 200;
/** Transactions of one turn. */
export const DERIVE_AT_ONCE = 50;
/** A node is given up when its last beat is older. */
export const SILENT_MS = 10_000;
/** With a longer pause between two turns, or after one that has failed, the holder does not know whether nodes were silent or itself. */
export const PAUSE_MAX_MS = 2000;
/** A clock that moves that much against the other between two turns was set. */
export const CLOCK_SET_MS = 1000;
/** A channel that someone comes back to within this time was not vacated. */
export const VACATED_HELD_MS = 5000;
/** Nodes know of another endpoint by then, and have written what they know. */
export const RECONCILED_AFTER_MS = 5000;
/** How often rows of applications that no one asks about are looked for. */
export const LEFT_ROWS_EVERY_MS = 600_000;
