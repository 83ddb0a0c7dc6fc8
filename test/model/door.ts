/** Connecting and being kicked out. */
import type { Claims } from "../../src/access/token.ts";
import {
  APP_CHOICES,
  BLOCK_MS,
  type Choices,
  LIFE_SECONDS,
  METADATA,
  PEERS,
  PONG_AFTER_MS,
  TOKEN_PATTERNS,
  TOKEN_PERMISSIONS,
} from "./acts.ts";
import { Broken, broken, nameOf } from "./ears.ts";
import type { Keys } from "./keys.ts";
import type { Stage } from "./stage.ts";
import { exceeds, type KeyState, type Line, type SecretState } from "./truth.ts";

const LINES_MAX = 10;

export class Door {
  private readonly blockedUntil = new Map<string, number>();

  constructor(
    private readonly stage: Stage,
    private readonly keys: Keys,
  ) {}

  connect(choices: Choices): void {
    const app = choices.of(APP_CHOICES);
    const { key, isStale } = this.keys.keyToUse(app, choices);
    const peerId = choices.of(PEERS);
    const node = choices.number() % this.stage.world.nodes.length;
    const metadata = choices.of(METADATA);
    const patterns = choices.of(TOKEN_PATTERNS);
    const permissions = choices.of(TOKEN_PERMISSIONS);
    const more = choices.number();
    const seconds = LIFE_SECONDS[more % LIFE_SECONDS.length] ?? 0;
    const pongAfterMs = PONG_AFTER_MS[Math.floor(more / 7) % PONG_AFTER_MS.length];
    if (this.stage.open.length >= LINES_MAX) return;
    // Which of two connections is the newer must not depend on the clock's resolution here.
    this.stage.world.advance(1);
    const second = Math.floor(this.stage.nowMs() / 1000);
    const isPublishable = key.type === "publishable";
    const secret = key.secrets[Math.floor(more / 35) % 4 === 0 ? 1 : 0] ?? key.secrets[0];
    const claims: Claims = {
      sub: peerId,
      iat: second,
      exp: second + seconds,
      ...(metadata && { peerMetadata: metadata }),
      ...(more % 2 === 0 && { metadata: { private: peerId } }),
      ...(patterns && { channels: patterns }),
      ...(permissions && { permissions }),
    };
    const query = isPublishable ? `key=${key.id}` : `token=${this.stage.world.token(key, secret?.seq ?? 0, claims)}`;
    const isRefused = isPublishable ? isStale && "unauthorized" : this.refusal(key, isStale, secret, claims);
    const expected = isRefused || undefined;
    const socket = this.stage.world.connect(node, query, pongAfterMs);
    const result = typeof socket === "string" ? socket : undefined;
    if (result !== expected) throw new Broken(`connect of ${peerId} in ${app}: ${result}, expected ${expected}`);
    this.stage.count(result ? `refused ${result}` : "connected");
    if (typeof socket === "string") return this.stage.note(`connect of ${peerId} in ${app} is refused: ${socket}`);
    const welcome = JSON.parse(socket.written[0] ?? "{}") as Record<string, unknown>;
    const line: Line = {
      number: this.stage.lines.length,
      app,
      peerId: isPublishable ? String(welcome.peerId) : peerId,
      node,
      key,
      secret: isPublishable ? undefined : secret,
      expiresAtMs: isPublishable ? Number.POSITIVE_INFINITY : (second + seconds) * 1000,
      patterns: isPublishable ? undefined : patterns,
      permissions: isPublishable ? undefined : permissions,
      metadata: isPublishable || !metadata ? "" : JSON.stringify(metadata),
      socket,
      isOpen: true,
      gates: 0,
      ponged: pongAfterMs === undefined ? 0 : Number.POSITIVE_INFINITY,
      read: 1,
      requests: 0,
      held: new Map(),
      unanswered: new Map(),
      errors: [],
      heard: new Set(),
      owed: new Map(),
      lastWord: new Map(),
      mustClose: undefined,
      stalledMs: undefined,
      drainedMs: 0,
    };
    this.stage.lines.push(line);
    this.stage.note(`connect ${nameOf(line)} in ${app} on node ${node} with ${key.id} ${JSON.stringify(claims)}`);
    isWelcome(line, welcome, isPublishable ? undefined : claims);
  }

  /** Why a token is refused, in the order of the protocol's checks (section 1). */
  private refusal(
    key: KeyState,
    isStale: boolean,
    secret: SecretState | undefined,
    claims: Claims,
  ): string | undefined {
    const now = this.stage.nowMs();
    if (isStale) return "invalid_token";
    if (secret && secret.endsMs !== null && secret.endsMs <= now) return "token_expired";
    if (exceeds(key, claims.channels, claims.permissions)) return "invalid_token";
    return (this.blockedUntil.get(`${key.app} ${claims.sub}`) ?? 0) > now ? "unauthorized" : undefined;
  }

  kick(choices: Choices, blocks: boolean): void {
    const app = choices.of(APP_CHOICES);
    const peerId = choices.of(PEERS);
    const node = choices.number() % this.stage.world.nodes.length;
    const blockMs = choices.of(BLOCK_MS);
    this.stage.note(`kick ${peerId} of ${app} on node ${node}${blocks ? ` and block it for ${blockMs} ms` : ""}`);
    for (const line of this.stage.open) if (line.app === app && line.peerId === peerId) line.mustClose = 4020;
    if (blocks) {
      const untilMs = this.stage.nowMs() + blockMs;
      this.blockedUntil.set(`${app} ${peerId}`, untilMs);
      this.stage.world.blocks.add({ app, peerId, untilMs });
    }
    const closed = this.stage.open.filter((line) => line.mustClose === 4020).length;
    const told = this.stage.world.nodeAt(node).hub.kicks.kick(app, peerId);
    this.stage.promised.push(
      told.then((count) => {
        if (count !== closed) throw new Broken(`the kick of ${peerId} told of ${count} connections, not ${closed}`);
      }),
    );
  }
}

/** `claims`: of its token; undefined for a publishable key. */
function isWelcome(line: Line, welcome: Readonly<Record<string, unknown>>, claims: Claims | undefined): void {
  const { type, peerId, expiresAt, metadata } = welcome;
  const isRight = type === "welcome" && peerId === line.peerId && expiresAt === (claims?.exp ?? null);
  if (!isRight || JSON.stringify(metadata) !== JSON.stringify(claims?.metadata))
    broken(line, `a wrong welcome: ${JSON.stringify(welcome)}`);
}
