/** Limits of rooms and of their access tokens. */
import { KIB } from "../protocol/limits.ts";

export const ROOM_NAME_MAX_CHARS = 128;
/** Names that we make up: lower-case letters. */
export const ROOM_NAME_MADE_CHARS = 10;
/** The last second of the year 9999: what is beyond it was meant as milliseconds. */
export const UNIX_SECONDS_MAX = 253_402_300_799;
export const ROOM_PARTICIPANTS_MAX = 100_000;
export const ROOM_SECONDS_MAX = 31_536_000;
export const WEBHOOK_MAX_CHARS = 2048;
export const ACCESS_TOKEN_TEXT_MAX_CHARS = 256;
export const ACCESS_TOKEN_META_MAX_CHARS = 1000;
/** The body of a call that anyone may make: a token, and the name of a room. */
export const ACCESS_TOKEN_QUESTION_MAX_BYTES = 8 * KIB;
/** What is minted fits into such a call. */
export const ACCESS_TOKEN_MAX_CHARS = ACCESS_TOKEN_QUESTION_MAX_BYTES - 256;
export const ROOM_URL_MAX_CHARS = 2048;
export const ROOMS_PAGE_MAX = 100;
export const ROOMS_PAGE_DEFAULT = 50;
