/** Keys, as the nodes and the model see them: edited, rotated, revoked; and what that takes from their connections. */
import { ACTIONS } from "../../src/protocol/actions.ts";
import { APP_CHOICES, APPS, type Choices, GRACE_MS, KEY_ACTIONS, KEY_PATTERNS, KEY_SLOTS } from "./acts.ts";
import type { Stage } from "./stage.ts";
import { covers, giveUp, type KeyState, type Line, may } from "./truth.ts";

export class Keys {
  private readonly keys = new Map<string, KeyState>();
  private readonly revoked: KeyState[] = [];
  private keyCount = 0;

  constructor(private readonly stage: Stage) {
    for (const app of APPS) for (const slot of new Set(KEY_SLOTS)) this.makeKey(app, slot);
  }

  private makeKey(app: string, slot: string): void {
    const type = slot === "publishable" ? "publishable" : "secret";
    const id = `${type === "secret" ? "sk_id_" : "pk_live_"}${++this.keyCount}`;
    const secrets = type === "secret" ? [{ seq: 1, endsMs: null }] : [];
    const key: KeyState = { id, app, type, patterns: ["**"], actions: ACTIONS, revoked: false, secrets };
    this.keys.set(`${app} ${slot}`, key);
    this.stage.world.show(key);
  }

  /** Now and then one that has been revoked. */
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
    const holders = this.stage.open.filter((line) => line.key === key);
    if (kind === "revoke") {
      this.stage.note(`revoke ${key.id}`);
      key.revoked = true;
      this.revoked.push(key);
      for (const line of holders) line.mustClose = 4001;
      this.makeKey(app, slot);
    } else if (kind === "rotate") {
      if (key.type === "publishable") return;
      const endsMs = this.stage.nowMs() + choices.of(GRACE_MS);
      this.stage.note(`rotate ${key.id}, the old secret ends at ${endsMs - this.stage.startMs} ms`);
      for (const secret of key.secrets) secret.endsMs ??= endsMs;
      key.secrets = [{ seq: (key.secrets[0]?.seq ?? 0) + 1, endsMs: null }, ...key.secrets];
    } else {
      key.patterns = choices.of(KEY_PATTERNS);
      key.actions = choices.of(KEY_ACTIONS);
      this.stage.note(`edit ${key.id}: ${key.patterns.join()} ${key.actions.join()}`);
    }
    for (const line of holders) this.narrow(line);
    this.stage.world.show(key);
  }

  private narrow(line: Line): void {
    if (line.key.revoked) return;
    // A secret whose grace is over ends the connection now; an expiry may wait for its own timer.
    if ((line.secret?.endsMs ?? Number.POSITIVE_INFINITY) <= this.stage.nowMs()) {
      line.mustClose = 4002;
      return;
    }
    for (const [channel, held] of line.held) {
      if (!may(line, "subscribe") || !covers(line, channel)) {
        giveUp(line, channel);
        held.isTaken = true;
        line.errors.push("channel_not_authorized");
      } else if (!may(line, "presence")) {
        held.presence = false;
        held.picture = undefined;
      }
    }
  }
}
