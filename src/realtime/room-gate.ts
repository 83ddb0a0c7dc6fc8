/**
 * What realtime asks of meetings/ about connections of rooms, those with a seat. Realtime knows who is connected; who may come in, and what is
 * said in a room, is decided there.
 */
import type { RoomSeat } from "../access/room-token.ts";
import type { Code } from "../protocol/codes.ts";
import type { Departure } from "./lingering/departure.ts";

export interface RoomRefusal {
  readonly code: Code;
  readonly message?: string | undefined;
}

export interface RoomGate {
  /** Before the upgrade: the stay begins or goes on, and the seat gets its access. Rejects with a Problem. */
  enter(seat: RoomSeat): Promise<void>;
  /** The connection is open; its welcome is sent. `connection` is unique over all nodes. */
  connected(seat: RoomSeat, connection: string): void;
  disconnected(seat: RoomSeat, connection: string, departure: Departure): void;
  /** A renewed token has taken the place of the one before. */
  renewed(seat: RoomSeat, before: RoomSeat): void;
  /** A subscribe was acked. */
  subscribed(seat: RoomSeat, channel: string): void;
  /** Why this message is not published; the channel and the action are allowed. */
  refusalOfMessage(seat: RoomSeat, channel: string, dataJson: string): RoomRefusal | undefined;
  /** Why this state is not shown. null: the state is removed. */
  refusalOfState(seat: RoomSeat, channel: string, stateJson: string | null): RoomRefusal | undefined;
}
