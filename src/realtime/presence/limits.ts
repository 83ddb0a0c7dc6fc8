/** Limits of presence on one node. */

/** A connection for which rosters wait is cut when it has read nothing for this long. */
export const ROSTER_DRAIN_MAX_MS = 30_000;
/** At most this many changes of one member are shown to a channel within the window; the others are held back until its end. */
export const CHANGES_SHOWN_MAX = 5;
export const CHANGES_SHOWN_WINDOW_MS = 10_000;
/** Members in the note of a node that stops, and the characters of that note; the others leave and join. */
export const NOTED_MEMBERS_MAX = 50_000;
export const NOTED_MEMBERS_MAX_CHARS = 32 * 1024 * 1024;
/** Peers of notes that are remembered as back; beyond it the oldest of the application that has the most is forgotten. */
export const RETURNED_PEERS_MAX = 50_000;
