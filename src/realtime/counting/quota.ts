/** The message quota: the number of messages, published or sent, that a plan allows in a period. */
import type { Keyring } from "../../access/keys/keyring.ts";
import { appOfSpace, isRoomSpace, type SpaceId, spaceOf } from "../../base/ids.ts";
import type { Usage } from "./usage.ts";

export class Quota {
  constructor(
    private readonly keyring: Keyring,
    private readonly usage: Usage,
  ) {}

  /** `more`: messages that are accepted, but not counted yet. */
  isUsedUp(spaceId: SpaceId, more = 0): boolean {
    // An application's own space has its id.
    const app = this.keyring.app(spaceId);
    // Only then: every message asks this, and most are not of a room.
    if (!app) return isRoomSpace(spaceId) && this.isUsedUp(spaceOf(appOfSpace(spaceId)), more);
    const cap = app.maxMessagesPerPeriod;
    return cap !== null && this.usage.messagesUsed(app.id) + more >= cap;
  }
}
