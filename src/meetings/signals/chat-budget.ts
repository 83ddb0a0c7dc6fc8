/**
 * How many lines may be written in the chat of a room. A chat keeps its last lines only: a person who could write without a bound could remove all that others have
 * written. Counted on this node: for each holder of places, for the guests of a room together, and for its other people together.
 */
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { Throttle } from "../../base/throttle.ts";
import {
  HOLDER_CHAT_LINES_BURST,
  HOLDER_CHAT_LINES_PER_SECOND,
  ROOM_CHAT_LINES_BURST,
  ROOM_CHAT_LINES_PER_SECOND,
} from "../contract/limits.ts";
import { senderOf } from "./sender.ts";

export class ChatBudget {
  private readonly holders: Throttle;
  private readonly rooms: Throttle;

  constructor(monotonicMs: () => number) {
    this.holders = new Throttle(HOLDER_CHAT_LINES_BURST, HOLDER_CHAT_LINES_PER_SECOND, monotonicMs);
    this.rooms = new Throttle(ROOM_CHAT_LINES_BURST, ROOM_CHAT_LINES_PER_SECOND, monotonicMs);
  }

  /** Counts a line; returns 0, or the seconds to wait. */
  take(claims: RoomClaims): number {
    const { holder, isVerified } = senderOf(claims);
    const all = `${claims.room} ${isVerified ? "verified" : "guests"}`;
    // First: a line that the holder may not write takes nothing from the others.
    return (
      this.holders.wait(`${claims.room} ${holder}`) ||
      this.rooms.take(all) ||
      this.holders.take(`${claims.room} ${holder}`)
    );
  }
}
