/**
 * The people whose connections are on this node, by room, with the rooms as they were last read. Bound: one entry per connection of a
 * stay, which the gateway's limits bound.
 */
import type { RoomSeat } from "../../access/tokens/room-token.ts";
import type { AppId } from "../../base/ids.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";

export interface PresentStay {
  readonly seat: RoomSeat;
  /** The newest connection of the stay on this node. */
  readonly connection: string;
  /** When it was accepted, Unix ms: the newest of all nodes wins. */
  readonly enteredMs: number;
  /** When it has expired, Unix ms; null: never. Replaced when the room's times change. */
  ejectAt: number | null;
}

export interface PresentRoom {
  readonly app: AppId;
  /** Replaced when the room's fields change. */
  row: RoomRow;
  /** By participantSession. Bound: PARLEY_MESH_MAX, or 10 in rooms of microphones only. */
  readonly stays: Map<string, PresentStay>;
}

export class Present {
  /** By the room's id. Bound: connections on this node; a room goes with its last one. */
  private readonly rooms = new Map<string, PresentRoom>();

  room(id: string): PresentRoom | undefined {
    return this.rooms.get(id);
  }

  all(): Iterable<PresentRoom> {
    return this.rooms.values();
  }

  stay(seat: RoomSeat): PresentStay | undefined {
    return this.rooms.get(seat.claims.room)?.stays.get(seat.claims.id);
  }

  get isEmpty(): boolean {
    return this.rooms.size === 0;
  }

  /** Takes the place of an earlier connection of the same stay. */
  add(row: RoomRow, stay: PresentStay): void {
    let room = this.rooms.get(row.id);
    if (!room) {
      room = { app: row.app, row, stays: new Map() };
      this.rooms.set(row.id, room);
    }
    // It was read before the stay entered: it may have changed meanwhile.
    if (row.version >= room.row.version) room.row = row;
    room.stays.set(stay.seat.claims.id, stay);
  }

  remove(roomId: string, participantSession: string): void {
    const room = this.rooms.get(roomId);
    if (room?.stays.delete(participantSession) && room.stays.size === 0) this.rooms.delete(roomId);
  }
}
