/** Whether a person may enter a room now: the room's fields, the verified access token, the time. No state. */
import type { TokenTimes } from "../../access/tokens/room-token.ts";
import { Problem } from "../../protocol/codes.ts";
import { valuesOf } from "../../rooms/rooms.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import { flagOf } from "./rights.ts";

/** What a verified access token says about this room (rooms/access-token.ts). */
export interface DoorToken extends TokenTimes {
  /** It is for this room, or for all rooms. */
  readonly isForRoom: boolean;
}

export type DoorState =
  | { readonly state: "open" }
  | {
      readonly state: "not_open" /** Unix seconds. */;
      readonly opensAt: number;
      readonly closesAt?: number | undefined;
    }
  | { readonly state: "over" }
  /** A private room, without a token for it. */
  | { readonly state: "ask" | "token_required" };

/** The times of a token for this room take precedence over the room's. */
export function doorOf(room: RoomRow, token: DoorToken | undefined, nowMs: number): DoorState {
  const values = valuesOf(room);
  const own = token?.isForRoom ? token : undefined;
  const opensAt = own?.notBeforeUnixSec ?? values.notBeforeUnixSec;
  const overAt = own?.expireUnixSec ?? values.expireUnixSec;
  if (overAt !== undefined && overAt * 1000 <= nowMs) return { state: "over" };
  if (opensAt !== undefined && opensAt * 1000 > nowMs) return { state: "not_open", opensAt, closesAt: overAt };
  if (values.privacy !== "private" || own) return { state: "open" };
  return { state: flagOf(room, "enableRequestToJoin") ? "ask" : "token_required" };
}

/** The refusal of a person who comes too late or too early; undefined: the times let it in. */
export function refusalByTime(door: DoorState, token: DoorToken | undefined): Problem | undefined {
  switch (door.state) {
    case "over":
      return isOverByToken(token) ? roomOver("token", "The access token has expired.") : roomOver("room");
    case "not_open":
      return new Problem("room_not_open", undefined, undefined, { fields: { opensAt: door.opensAt } });
    default:
      return undefined;
  }
}

/** Whose time is over: the room's, the access token's, or that of a person in this meeting. */
export type Over = "room" | "token" | "stay";

export const roomOver = (over: Over, message?: string): Problem =>
  new Problem("room_over", message, undefined, { fields: { over } });

/** The token's own end has decided, and not the room's. */
const isOverByToken = (token: DoorToken | undefined): boolean =>
  token?.isForRoom === true && token.expireUnixSec !== undefined;
