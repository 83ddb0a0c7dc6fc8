/** Keys that are edited, rotated and revoked, for the nodes and the model alike; and what that ends for their connections. */
import { ACTIONS } from "../../src/protocol/actions.ts";
import { APP_CHOICES, APPS, type Choices, GRACE_MS, KEY_ACTIONS, KEY_PATTERNS, KEY_SLOTS } from "./acts.ts";
import type { Context } from "./context.ts";
import { type Connection, covers, endSubscription, isAsking, type KeyState, may } from "./model.ts";

export class Keys {
  private readonly keys = new Map<string, KeyState>();
  private readonly revoked: KeyState[] = [];
  private keyCount = 0;

  constructor(private readonly context: Context) {
    for (const app of APPS) for (const slot of new Set(KEY_SLOTS)) this.makeKey(app, slot);
  }

  private makeKey(app: string, slot: string): void {
    const type = slot === "publishable" ? "publishable" : "secret";
    const id = `${type === "secret" ? "sk_id_" : "pk_live_"}${++this.keyCount}`;
    const secrets = type === "secret" ? [{ seq: 1, endsMs: null }] : [];
    const key: KeyState = { id, app, type, patterns: ["**"], actions: ACTIONS, revoked: false, secrets };
    this.keys.set(`${app} ${slot}`, key);
    this.context.world.show(key);
  }

  /** Now and then a key that has been revoked. */
  keyToUse(app: string, choices: Choices): { key: KeyState; isStale: boolean } {
    const number = choices.number();
    const stale = this.revoked.at(-1);
    if (number % 29 === 28 && stale?.app === app) return { key: stale, isStale: true };
    const key = this.keys.get(`${app} ${KEY_SLOTS[number % KEY_SLOTS.length]}`);
    if (!key) throw new Error("every slot has a key");
    return { key, isStale: false };
  }

  change(kind: "edit" | "rotate" | "revoke", choices: Choices): void {
    const app = choices.of(APP_CHOICES);
    const slot = choices.of(KEY_SLOTS);
    const key = this.keys.get(`${app} ${slot}`);
    if (!key) throw new Error("every slot has a key");
    const holders = this.context.open.filter((connection) => connection.key === key);
    // A subscribe that waits and was refused by an edit might be accepted again by the next one, when its turn comes.
    if (kind === "edit" && holders.some((one) => this.context.isCommitting(one) && hasRefused(one))) return;
    if (kind === "revoke") {
      this.context.note(`revoke ${key.id}`);
      key.revoked = true;
      this.revoked.push(key);
      for (const connection of holders) connection.mustClose = 4001;
      this.makeKey(app, slot);
    } else if (kind === "rotate") {
      if (key.type === "publishable") return;
      const endsMs = this.context.nowMs() + choices.of(GRACE_MS);
      this.context.note(`rotate ${key.id}, the old secret ends at ${endsMs - this.context.startMs} ms`);
      for (const secret of key.secrets) secret.endsMs ??= endsMs;
      key.secrets = [{ seq: (key.secrets[0]?.seq ?? 0) + 1, endsMs: null }, ...key.secrets];
    } else {
      key.patterns = choices.of(KEY_PATTERNS);
      key.actions = choices.of(KEY_ACTIONS);
      this.context.note(`edit ${key.id}: ${key.patterns.join()} ${key.actions.join()}`);
    }
    for (const connection of holders) this.narrow(connection);
    this.context.graces.narrowed();
    this.context.world.show(key);
  }

  /** Ends what the connection may not have any more. */
  narrow(connection: Connection): void {
    if (connection.key.revoked) return;
    // A secret whose grace is over ends the connection now; the expiry of a token may wait for its timer.
    if ((connection.secret?.endsMs ?? Number.POSITIVE_INFINITY) <= this.context.nowMs()) {
      connection.mustClose = 4002;
      return;
    }
    for (const [channel, subscription] of connection.subscriptions) {
      if (!may(connection, "subscribe") || !covers(connection, channel)) {
        if (subscription.presence) this.context.graces.endedByKey(connection, subscription);
        endSubscription(connection, channel);
        subscription.isRevoked = true;
        // A subscribe that waits for a message to be committed is refused when its turn comes.
        if (subscription.acked || !this.context.isCommitting(connection))
          connection.errors.push("channel_not_authorized");
      } else if (!may(connection, "presence")) {
        if (subscription.presence) this.context.graces.endedByKey(connection, subscription);
        this.context.states.withdrawn(subscription);
        subscription.presence = false;
        subscription.roster = undefined;
      } else if (!subscription.presence && isAsking(connection, channel) && this.context.isCommitting(connection))
        subscription.mayGainPresence = true;
    }
  }
}

const hasRefused = ({ unanswered }: Connection): boolean =>
  unanswered.values().some(({ subscription }) => subscription?.isRevoked === true);
