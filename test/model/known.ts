/**
 * Faults that the walks have found and that are not fixed yet: the walks pass them by, so that they can find others. An entry goes
 * with its fix.
 */
export const KNOWN = {
  /** A state overtakes an unsubscribe of the same channel that waits for a message to be committed. */
  stateOvertakes: true as boolean,
  /** `state: null` does not clear the state of an earlier connection of the peer that was held or lost. */
  nullKeepsInherited: true as boolean,
  /** A connection ends before its messages are committed, and its key is revoked or narrowed before they are: it is held then. */
  revokedIsHeld: true as boolean,
  /** A direct message that has waited for the roster of its receiver comes before the join of its sender. */
  earlyBeforeJoin: true as boolean,
};
