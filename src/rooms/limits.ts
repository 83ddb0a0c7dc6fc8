/** Limits of rooms and of their access tokens. */
import { KIB } from "../protocol/limits.ts";

export const ROOM_NAME_MAX_CHARS = 128;
/** Length of a generated name, in lower-case letters. */
export const ROOM_NAME_RANDOM_CHARS = 10;
/** The last second of the year 9999: a larger value was probably meant as milliseconds. */
export const UNIX_SECONDS_MAX = 253_402_300_799;
export const ROOM_PARTICIPANTS_MAX = 100_000;
export const ROOM_SECONDS_MAX = 31_536_000;
export const LANGUAGE_MAX_CHARS = 64;
export const ACCESS_TOKEN_TEXT_MAX_CHARS = 256;
export const ACCESS_TOKEN_META_MAX_CHARS = 1000;
/** Body of a call that needs no credential: a token, and the name of a room. */
export const ACCESS_TOKEN_VALIDATE_MAX_BYTES = 8 * KIB;
/** Minted tokens fit into the body of such a call. */
export const ACCESS_TOKEN_MAX_CHARS = ACCESS_TOKEN_VALIDATE_MAX_BYTES - 256;
export const ROOM_URL_MAX_CHARS = 2048;
export const ROOMS_PAGE_MAX = 100;
export const ROOMS_PAGE_DEFAULT = 50;
