/** How long is kept what no setting and no field of an application bounds. */

/** Rooms are kept for this long after they were archived, and as long as a recording names them. */
export const ARCHIVED_ROOM_DAYS = 90;
/** Revoked keys and operators: as long as the audit says who revoked them. */
export const REVOKED_DAYS = 180;
/** The numbers of deleted recordings, which are cursors of lists: those of the newest recordings of an application as long as it exists. */
export const RECORDING_NUMBER_DAYS = 90;
export const RECORDING_NUMBERS_MIN = 1000;
/** Calendar months of usage, with the current one. */
export const USAGE_PERIODS = 120;
/** The usage of a deleted application, and its name: long enough for the bill of a year. */
export const DELETED_APP_DAYS = 400;
/** Within this time after the deletion of an application, nodes that did not know of it may have written rows of it. */
export const DELETION_SETTLED_MS = 3_600_000;
