/** Limits of what endpoints are given of the messages of channels. */
import { KIB } from "../../protocol/limits.ts";

export const STREAMS_EVERY_MS = 250;
/** Channels per endpoint whose position is kept. */
export const CURSORS_MAX = 10_000;
export const MESSAGES_PER_EVENT_MAX = 100;
export const MESSAGES_PER_EVENT_MAX_BYTES = 16 * KIB;
/** Pages that are read in one turn, over all endpoints. */
export const PAGES_PER_TURN = 100;
/** An endpoint with more messages that wait is given no more: they stay in the streams. */
export const WAITING_MAX = 1000;
/** How far back the ends of streams are read beyond the last time. */
export const HEADS_OVERLAP_MS = 2000;
/** After another process had the lease: its clock may be another one. */
export const HEADS_SKEW_MS = 10_000;
/** How often it is noted up to when the ends of all streams are known. */
export const KNOWN_NOTED_EVERY_MS = 30_000;
