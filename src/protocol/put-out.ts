/** Close 4021: the end of a stay in a room, or of one connection of it. */
import type { Closing } from "./close.ts";
import { PUT_OUT_CODE } from "./final-close.ts";

/** Its time is over, the meeting has ended, an admin did it, or a newer connection of the same stay has replaced this one. */
export type PutOut = "time" | "ended" | "removed" | "replaced";

const closing = (reason: PutOut): Closing => ({ code: PUT_OUT_CODE, reason });

export const PUT_OUT: Readonly<Record<PutOut, Closing>> = {
  time: closing("time"),
  ended: closing("ended"),
  removed: closing("removed"),
  replaced: closing("replaced"),
};

/**
 * A stay has ended in the store while a connection of it was open. `left`: a newer connection, which could not replace this one, has said goodbye. `lost`: the store
 * took it for lost; its page may join again at once, so this is none of the final closes.
 */
export const STAY_OVER = {
  left: closing("replaced"),
  lost: { code: 1001, reason: "stay lost" },
} as const satisfies Readonly<Record<string, Closing>>;
