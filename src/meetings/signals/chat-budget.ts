/**
 * How many lines may be written in the chat of a room. A chat keeps its last lines only: a guest who could write without a bound could remove all that others have
 * written. Counted on this node: for each holder of places and for all together, guests apart from invited people. A few lines of each holder count for no one
 * else, so that those who use up what all have together silence no one.
 */
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { Throttle } from "../../base/throttle.ts";
import { CHAT_LINES_OF_GUESTS, CHAT_LINES_OF_INVITED, OWN_CHAT_LINES } from "../contract/limits.ts";
import { senderOf } from "./sender.ts";

export class ChatBudget {
  private readonly guests: Lines;
  private readonly invited: Lines;

  constructor(monotonicMs: () => number) {
    this.guests = new Lines(CHAT_LINES_OF_GUESTS, monotonicMs);
    this.invited = new Lines(CHAT_LINES_OF_INVITED, monotonicMs);
  }

  /** Counts a line; returns 0, or the seconds to wait. */
  take(claims: RoomClaims): number {
    const { holder, isInvited } = senderOf(claims);
    return (isInvited ? this.invited : this.guests).take(claims.room, holder);
  }
}

class Lines {
  private readonly own: Throttle;
  private readonly ownTogether: Throttle;
  private readonly each: Throttle;
  private readonly together: Throttle;

  constructor({ each, together }: typeof CHAT_LINES_OF_GUESTS, monotonicMs: () => number) {
    this.own = new Throttle(OWN_CHAT_LINES.burst, OWN_CHAT_LINES.perSecond, monotonicMs);
    this.ownTogether = new Throttle(together.burst, together.perSecond, monotonicMs);
    this.each = new Throttle(each.burst, each.perSecond, monotonicMs);
    this.together = new Throttle(together.burst, together.perSecond, monotonicMs);
  }

  take(room: string, holder: string): number {
    const key = `${room} ${holder}`;
    if (this.own.wait(key) === 0 && this.ownTogether.take(room) === 0) return this.own.take(key);
    // First: a line that the holder may not write takes nothing from the others.
    return this.each.wait(key) || this.together.take(room) || this.each.take(key);
  }
}
