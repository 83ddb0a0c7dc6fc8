/** What a person may do in a room, and what all participants may see of the room: from its fields as they are now, and from what the access token says. */
import { type RoomAccess, stayAccess } from "../../access/tokens/room-access.ts";
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { AUDIO_MESH_MAX } from "../../protocol/limits.ts";
import { type FieldName, type FieldValues, fieldOf } from "../../rooms/fields.ts";
import { valuesOf } from "../../rooms/rooms.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import { type May, PUBLIC_FIELDS, type PublicRoom } from "../contract/contract.ts";

/** The fields of a room, with the defaults of those that are not set. */
export const flagOf = (room: RoomRow, name: FieldName): boolean =>
  (valuesOf(room)[name] ?? fieldOf(name).initial) === true;

export function mayOf(room: RoomRow, { isAdmin, disabled = [] }: Pick<RoomClaims, "isAdmin" | "disabled">): May {
  const mayShare = isAdmin || !flagOf(room, "ownerOnlyBroadcast");
  const mayShow = mayShare && !flagOf(room, "audioOnlyRoom");
  return {
    audio: mayShare && !disabled.includes("audio"),
    video: mayShow && !disabled.includes("video"),
    screen: mayShow && flagOf(room, "enableScreenSharing") && !disabled.includes("screen"),
    chat: flagOf(room, "enableChat"),
    record: flagOf(room, "enableRecording"),
  };
}

/** The access of a participant. */
export const accessOf = (room: RoomRow, claims: RoomClaims): RoomAccess =>
  stayAccess(room.id, claims.id, { isAdmin: claims.isAdmin, mayChat: mayOf(room, claims).chat });

/** By the room as it was read: many people join the same one. Bound: rooms in memory; an entry goes with its room. */
const shownRooms = new WeakMap<RoomRow, PublicRoom>();

export function publicRoomOf(room: RoomRow): PublicRoom {
  let shown = shownRooms.get(room);
  if (!shown) {
    shown = shownOf(room);
    shownRooms.set(room, shown);
  }
  return shown;
}

function shownOf(room: RoomRow): PublicRoom {
  const values: FieldValues = valuesOf(room);
  const shown = PUBLIC_FIELDS.flatMap((name): [string, unknown][] => {
    const value = values[name] ?? fieldOf(name).initial;
    return value === undefined ? [] : [[name, value]];
  });
  return { roomName: room.name, ...Object.fromEntries(shown) };
}

/** How many people may be inside. `meshMax` is PARLEY_MESH_MAX. */
export function capacityOf(room: RoomRow, meshMax: number): number {
  const mesh = flagOf(room, "audioOnlyRoom") ? Math.max(meshMax, AUDIO_MESH_MAX) : meshMax;
  return Math.min(valuesOf(room).maxParticipants ?? mesh, mesh);
}
