/** The changes of one peer in one channel that were shown lately. damping.ts counts them. */

/** Different from every entry: the next change that is shown counts, whatever it is. */
export const UNSEEN = Symbol("unseen");

/** The changes of one peer in one channel shown within the window. Not part of Member, which is forgotten with a leave. */
export interface RecentChanges {
  count: number;
  /** The entry written last to any receiver; `undefined` for a leave; UNSEEN if a later change was shown to no one. */
  last: string | undefined | typeof UNSEEN;
  /** A change is held back until one of those counted expires. */
  isDamped: boolean;
}
