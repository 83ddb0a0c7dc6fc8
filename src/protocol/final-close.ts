/** Which close codes are final. The service documents it, and its client obeys it. */
import { KEY_REVOKED, KICKED } from "./close.ts";

/** The end of a stay in a room, with one of several reasons. */
export const PUT_OUT_CODE = 4021;

const FINAL: readonly number[] = [KEY_REVOKED.code, KICKED.code, PUT_OUT_CODE];

/** Whether a client stays away after this code: after all others it comes back by itself. */
export const isFinalClose = (code: number): boolean => FINAL.includes(code);
