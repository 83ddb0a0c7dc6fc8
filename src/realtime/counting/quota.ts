/** The message quota: the number of messages, published or sent, that a plan allows in a period. */
import type { Keyring } from "../../access/keys/keyring.ts";
import { guestShareOf } from "../../access/tokens/guests.ts";
import { appOfSpace, isRoomSpace, type SpaceId, spaceOf } from "../../base/ids.ts";
import type { Usage } from "./usage.ts";

/**
 * Whom a message is counted for. `guests`: the application, and within its quota the guests of its rooms. `service`: no one, and no quota stops it, because
 * people in a room must learn what has happened there.
 */
export type Payer = "app" | "guests" | "service";

export class Quota {
  constructor(
    private readonly keyring: Keyring,
    private readonly usage: Usage,
  ) {}

  /** `more`: messages that are accepted, but not counted yet. */
  isUsedUp(spaceId: SpaceId, payer: Payer = "app", more = 0): boolean {
    // An application's own space has its id.
    const app = this.keyring.app(spaceId);
    // Only then: every message asks this, and most are not of a room.
    if (!app)
      return payer !== "service" && isRoomSpace(spaceId) && this.isUsedUp(spaceOf(appOfSpace(spaceId)), payer, more);
    const cap = app.maxMessagesPerPeriod;
    if (cap === null) return false;
    if (this.usage.messagesUsed(app.id) + more >= cap) {
      this.usage.reached.refused(app.id, "messages", cap);
      return true;
    }
    return payer === "guests" && this.usage.usedByGuests(app.id) + more >= guestShareOf(cap);
  }
}
