/** Tokens that are renewed on open connections, and what that changes for them. */
import type { Claims } from "../../src/access/tokens/token.ts";
import { APP_CHOICES, type Choices, LIFE_SECONDS, METADATA, PEERS, TOKEN_PATTERNS, TOKEN_PERMISSIONS } from "./acts.ts";
import type { Admission } from "./admission.ts";
import type { Context } from "./context.ts";
import type { Keys } from "./keys.ts";
import type { Connection, KeyState } from "./model.ts";
import { nameOf } from "./rule-broken.ts";

export class Renewals {
  constructor(
    private readonly context: Context,
    private readonly keys: Keys,
    private readonly admission: Admission,
  ) {}

  /** `expire` is called before a frame is sent. */
  renew(connection: Connection, choices: Choices, expire: () => void): void {
    // A subscribe that waits is checked when its turn comes: the next token might allow what this one refuses.
    if (this.context.isCommitting(connection)) return;
    const stranger = choices.number();
    const app = stranger % 13 === 12 ? choices.of(APP_CHOICES) : (choices.skip() ?? connection.app);
    const { key, isStale } = this.keys.keyToUse(app, choices);
    const sub = stranger % 11 === 10 ? choices.of(PEERS) : (choices.skip() ?? connection.peerId);
    const metadata = choices.of(METADATA);
    const patterns = choices.of(TOKEN_PATTERNS);
    const permissions = choices.of(TOKEN_PERMISSIONS);
    const seconds = choices.of(LIFE_SECONDS);
    if (key.type === "publishable") return;
    expire();
    const second = Math.floor(this.context.nowMs() / 1000);
    const claims: Claims = {
      sub,
      iat: second,
      exp: second + seconds,
      ...(metadata && { peerMetadata: metadata }),
      ...(patterns && { channels: patterns }),
      ...(permissions && { permissions }),
    };
    const secret = key.secrets[stranger % 5 === 4 ? 1 : 0] ?? key.secrets[0];
    const expect = this.expected(connection, key, sub, () => this.admission.refusal(key, isStale, secret, claims));
    const token = this.context.world.token(key, secret?.seq ?? 0, claims);
    const requestId = `r${++connection.requests}`;
    connection.unanswered.set(requestId, { expect });
    this.context.note(`${nameOf(connection)} ${requestId} renews with ${key.id} ${JSON.stringify(claims)}: ${expect}`);
    if (expect === "ack" && !connection.mustClose) {
      this.context.count("renewed");
      connection.key = key;
      connection.secret = secret;
      connection.expiresAtMs = (second + seconds) * 1000;
      connection.patterns = patterns;
      connection.permissions = permissions;
      connection.metadata = metadata ? JSON.stringify(metadata) : "";
      connection.shownAs.add(connection.metadata);
      this.keys.narrow(connection);
    }
    connection.socket.message(JSON.stringify({ type: "renew", token, requestId }));
  }

  /** A publishable key is refused before the token is looked at. */
  private expected(connection: Connection, key: KeyState, sub: string, refusal: () => string | undefined): string {
    if (connection.key.type === "publishable") return "invalid_token";
    const refused = refusal();
    // A peer that is blocked has no connection any more, but another one may present its token.
    if (refused) return refused === "unauthorized" ? "invalid_token" : refused;
    return key.app === connection.app && sub === connection.peerId ? "ack" : "invalid_token";
  }
}
