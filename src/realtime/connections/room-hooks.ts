/**
 * What realtime asks of meetings/ about connections of rooms, those with a seat. Realtime knows who is connected; who may come in, and what is
 * said in a room, is decided there.
 */
import type { RoomRefusal } from "../../access/tokens/room-access.ts";
import type { RoomSeat } from "../../access/tokens/room-token.ts";
import type { Departure } from "../../protocol/close.ts";
import { Problem } from "../../protocol/codes.ts";

export interface RoomHooks {
  /** Before the upgrade: the stay begins or goes on (of a visitor, its place in the lobby is noted as connected), and the seat gets its access. Rejects with a Problem. */
  enter(seat: RoomSeat): Promise<void>;
  /** As `enter`, but nothing begins: for a plain GET, with which browsers find out why their WebSocket was refused. */
  check(seat: RoomSeat): Promise<void>;
  /** The connection is open; its welcome is sent. `connection` is unique over all nodes. */
  connected(seat: RoomSeat, connection: string): void;
  /**
   * Also after an `enter` whose connection never opened: then `connection` is empty, and no `connected` has come before. A connection
   * that a newer one of the same stay has replaced ends as `lost`: it is not the stay that has ended.
   */
  disconnected(seat: RoomSeat, connection: string, departure: Departure): void;
  /**
   * A renewed token takes the place of the one before. It has the access of the one before, and may be given another one here; what
   * that does not cover ends after this call.
   */
  renewed(seat: RoomSeat, before: RoomSeat): void;
  /** A subscribe was acked. */
  subscribed(seat: RoomSeat, channel: string): void;
  /**
   * Why this message is not published; the channel and the action are allowed. Each call counts for what the sender may write, whatever it
   * returns. A promise, where the channel is that of one person: this node does not know that person yet, and what the connection sends meanwhile waits.
   */
  refusalOfMessage(
    seat: RoomSeat,
    channel: string,
    dataJson: string,
  ): RoomRefusal | undefined | Promise<RoomRefusal | undefined>;
  /** Why this state is not shown. null: the state is removed. */
  refusalOfState(seat: RoomSeat, channel: string, stateJson: string | null): RoomRefusal | undefined;
}

const noRoom = (): Promise<never> => Promise.reject(new Problem("room_not_found"));

/** Where there are no rooms, every connect to one is refused. */
export const NO_ROOMS: RoomHooks = {
  enter: noRoom,
  check: noRoom,
  connected: () => undefined,
  disconnected: () => undefined,
  renewed: () => undefined,
  subscribed: () => undefined,
  refusalOfMessage: () => ({ code: "channel_not_authorized" }),
  refusalOfState: () => ({ code: "channel_not_authorized" }),
};

/** Realtime is built before meetings, which needs it: until `use` there are no rooms. */
export class LateRoomHooks implements RoomHooks {
  private hooks = NO_ROOMS;

  use(hooks: RoomHooks): void {
    this.hooks = hooks;
  }

  enter(seat: RoomSeat): Promise<void> {
    return this.hooks.enter(seat);
  }

  check(seat: RoomSeat): Promise<void> {
    return this.hooks.check(seat);
  }

  connected(seat: RoomSeat, connection: string): void {
    this.hooks.connected(seat, connection);
  }

  disconnected(seat: RoomSeat, connection: string, departure: Departure): void {
    this.hooks.disconnected(seat, connection, departure);
  }

  renewed(seat: RoomSeat, before: RoomSeat): void {
    this.hooks.renewed(seat, before);
  }

  subscribed(seat: RoomSeat, channel: string): void {
    this.hooks.subscribed(seat, channel);
  }

  refusalOfMessage(...message: Parameters<RoomHooks["refusalOfMessage"]>): ReturnType<RoomHooks["refusalOfMessage"]> {
    return this.hooks.refusalOfMessage(...message);
  }

  refusalOfState(seat: RoomSeat, channel: string, stateJson: string | null): RoomRefusal | undefined {
    return this.hooks.refusalOfState(seat, channel, stateJson);
  }
}
