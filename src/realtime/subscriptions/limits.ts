/** Limits of subscriptions. */

/** A participant of a room may read and write for that long before it subscribes to the channel that shows it: clients subscribe in any order. */
export const UNSEEN_MS = 20_000;
/** Changes of presence are sent at most 500 ms apart: by then a member is shown to the others. */
export const SHOWN_AFTER_MS = 1000;
/** How often a holder of places may read a room's chat before it is shown, as by a network that fails at that moment: some times, then one every half minute. What is shown in time is given back. */
export const UNSEEN_TIMES_BURST = 20;
export const UNSEEN_TIMES_PER_SECOND = 1 / 30;
