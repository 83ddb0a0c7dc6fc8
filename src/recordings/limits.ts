/** Limits of recordings, of uploads, and of what a sweep may do. */

export const RECORDINGS_PAGE_MAX = 100;
export const RECORDINGS_PAGE_DEFAULT = 50;
export const RECORDING_USERNAME_MAX_CHARS = 256;
export const RECORDING_SESSION_MAX_CHARS = 128;
/** Open uploads per application. */
export const OPEN_UPLOADS_MAX = 20;
/** An upload to which nothing was written for this long is ended. */
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
