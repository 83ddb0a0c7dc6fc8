/** The message quota: the number of messages, published or sent, that a plan allows in a period. */
import type { Keyring } from "../access/keyring.ts";
import type { Usage } from "./usage.ts";

export class Quota {
  constructor(
    private readonly keyring: Keyring,
    private readonly usage: Usage,
  ) {}

  /** `more`: messages that are accepted, but not counted yet. */
  isUsedUp(app: string, more = 0): boolean {
    const cap = this.keyring.app(app)?.maxMessagesPerPeriod ?? null;
    return cap !== null && this.usage.messagesUsed(app) + more >= cap;
  }
}
