/** Limits of recordings, of uploads, and of what a sweep may do. */

export const RECORDINGS_PAGE_MAX = 100;
export const RECORDINGS_PAGE_DEFAULT = 50;
export const RECORDING_USERNAME_MAX_CHARS = 256;
export const RECORDING_SESSION_MAX_CHARS = 128;
/** Open uploads per application that were begun with a secret key. */
export const OPEN_UPLOADS_MAX = 20;
/** Open uploads per stay of a meeting: what the page records of its camera and microphone, and of its screen. */
export const STAY_UPLOADS_MAX = 2;
/**
 * Uploads of stays per application that are open, or wait to be listed: 5,000 people who are recorded at once with a screen each. All of them are read for the
 * sum of the application's bytes, about 3 ms of SQLite for as many. What people leave open is finished after STAY_UPLOADS_KEPT_MS.
 */
export const STAY_UPLOADS_PER_APP_MAX = 10_000;
/** If a stay has STAY_UPLOADS_MAX, one to which nothing was written for this long is finished for a new one. */
export const STAY_UPLOAD_SILENT_MS = 120_000;
/** The page of a stay that has ended may send what is left for this long; then the service finishes its uploads. */
export const STAY_UPLOADS_KEPT_MS = 30 * 60_000;
export const STAY_UPLOADS_SWEEP_EVERY_MS = 60_000;
/** A recorder was started at most that long before its upload begins. */
export const STAY_UPLOAD_STARTED_AGO_MAX_MS = 24 * 3_600_000;
/** Bytes that the page of a stay may send, in all its uploads together. */
export const STAY_BYTES_MAX = 4 * 1024 ** 3;
/** Bytes of one request to an upload of a stay. A page sends at most 4 MiB at once, however much has gathered (web/meeting/recording/upload.ts). */
export const STAY_PART_MAX_BYTES = 64 * 1024 * 1024;
/** No more than this of a body for an upload of a stay counts in the budgets before it has come: it costs its sender nothing to announce more. Where little room is left, less does (budgets.ts). */
export const STAY_AHEAD_MAX_BYTES = 4 * 1024 * 1024;
/**
 * A body for an upload of a stay is cut if fewer bytes than `minBytes` come in `everyMs`, or if the service has waited `maxMs` for all of it. What came is
 * held, and the page goes on from there. Slower than any page: it gives up on an answer after a minute, and then sends no less than 64 KiB at once.
 */
export const STAY_PACE = { minBytes: 16 * 1024, everyMs: 60_000, maxMs: 600_000 } as const;
/** Recordings that the page of a stay may make: a new one begins when a camera, a microphone or a screen is turned on again. */
export const STAY_RECORDINGS_MAX = 200;
/** An upload to which nothing was written for this long is discarded; one of a stay is finished. */
export const UPLOAD_ABANDONED_MS = 24 * 3_600_000;
/** Files that the store does not know are left alone until they are this old: any upload they could belong to has ended by then. */
export const STRAY_AGE_MS = UPLOAD_ABANDONED_MS + 3_600_000;
/** Files without a recording are set aside for this long before they are removed. */
export const QUARANTINE_MS = 30 * 24 * 3_600_000;
/** If a sweep finds more strays than these, or more than this share of all files, it leaves them all alone until the operator says otherwise. */
export const STRAYS_PER_SWEEP_MAX = 100;
export const STRAYS_SHARE_MAX = 0.1;
/** A client that sends no byte for this long has lost its connection. */
export const UPLOAD_SILENCE_MAX_MS = 60_000;
export const LINK_MAX_SECONDS = 43_200;
