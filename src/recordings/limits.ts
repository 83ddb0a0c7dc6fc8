/** Limits of recordings, uploads and what is swept. */

export const RECORDINGS_PAGE_MAX = 100;
export const RECORDINGS_PAGE_DEFAULT = 50;
export const RECORDING_USERNAME_MAX_CHARS = 256;
export const RECORDING_SESSION_MAX_CHARS = 128;
/** Open uploads of one application. */
export const OPEN_UPLOADS_MAX = 20;
/** An upload that shows no sign of life for so long is ended. */
export const UPLOAD_ABANDONED_MS = 24 * 3_600_000;
/** Bytes that nobody knows are left alone until they are so old: an upload they could belong to would have been ended. */
export const STRAY_AGE_MS = UPLOAD_ABANDONED_MS + 3_600_000;
/** Files that belong to no recording are set aside for so long before they are removed. */
export const QUARANTINE_MS = 30 * 24 * 3_600_000;
/** More strays than these in one sweep, or more than this share of all files, are left alone until the operator says so. */
export const STRAYS_PER_SWEEP_MAX = 100;
export const STRAYS_SHARE_MAX = 0.1;
/** A writer that sends nothing for so long has lost its connection. */
export const UPLOAD_SILENCE_MAX_MS = 60_000;
export const LINK_MAX_SECONDS = 43_200;
