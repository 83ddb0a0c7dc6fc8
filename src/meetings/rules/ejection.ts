/** When a person's time in a room is over. */
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { valuesOf } from "../../rooms/rooms.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";

export interface Ejection {
  /** Seconds from the first entry of the access token into the meeting, for guests from the stay's; null: no limit. */
  readonly afterSec: number | null;
  /** Unix ms, for everyone; null: no limit. */
  readonly latestMs: number | null;
}

/** The room as it is now; what the access token says takes precedence. The end of the room itself is for everyone. */
export function ejectionOf(room: RoomRow, { ejectAfterSec }: Pick<RoomClaims, "ejectAfterSec">): Ejection {
  const { ejectAfterElapsedTimeInSec, ejectAtRoomExp, expireUnixSec } = valuesOf(room);
  return {
    afterSec: ejectAfterSec ?? ejectAfterElapsedTimeInSec ?? null,
    latestMs: ejectAtRoomExp && expireUnixSec !== undefined ? expireUnixSec * 1000 : null,
  };
}

/** Unix ms; null: never. `sinceMs` is when its time began. */
export function ejectAtOf({ afterSec, latestMs }: Ejection, sinceMs: number): number | null {
  const times = [afterSec === null ? null : sinceMs + afterSec * 1000, latestMs].filter((time) => time !== null);
  return times.length === 0 ? null : Math.min(...times);
}

/** `ejectAt` is Unix ms; null: never. */
export const isTimeOver = (ejectAt: number | null, nowMs: number): boolean => ejectAt !== null && ejectAt <= nowMs;
