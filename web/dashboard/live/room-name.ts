/** The name of a room of which the address has the id. */
import { query, segment } from "../api/client.ts";
import type { Room } from "../api/room-types.ts";
import type { List } from "../api/types.ts";
import { useLive } from "./live.ts";

/** What is listed of a room says its name, too. */
interface OfRoom {
  readonly room: string;
  readonly roomName?: string | null;
}

/** The rooms that are looked through if the list says nothing: the newest. */
const ROOMS_MAX = 100;

/** undefined: it is not an id, or that of no room that is known here. `rows`: what the list has of it; undefined while it loads. */
export function useRoomName(app: string, room: string, rows: readonly OfRoom[] | undefined): string | undefined {
  const listed = rows?.find((row) => row.room === room)?.roomName;
  const isAsked = /^[0-9a-f]{24}$/.test(room) && rows?.length === 0;
  const rooms = useLive<List<Room>>(isAsked ? `/apps/${segment(app)}/rooms${query({ limit: ROOMS_MAX })}` : undefined);
  return listed ?? rooms.data?.data.find(({ _id }) => _id === room)?.roomName;
}
