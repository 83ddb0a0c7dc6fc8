/** Connects, kicks and blocks. */
import type { Claims } from "../../src/access/tokens/token.ts";
import { anAppId } from "../../src/base/testing/ids.ts";
import type { Action } from "../../src/protocol/actions.ts";
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
import type { Context } from "./context.ts";
import type { Keys } from "./keys.ts";
import { type Connection, exceeds, type KeyState, type SecretState } from "./model.ts";
import { nameOf, RuleBroken, ruleBroken } from "./rule-broken.ts";

const CONNECTIONS_MAX = 10;

/** A connection to be made. */
interface Wanted {
  readonly app: string;
  readonly key: KeyState;
  readonly isStale: boolean;
  readonly peerId: string;
  readonly node: number;
  readonly metadata: { readonly v: number } | undefined;
  readonly patterns: readonly string[] | undefined;
  readonly permissions: readonly Action[] | undefined;
  readonly seconds: number;
  readonly pongAfterMs: number | undefined;
  /** Decides the rest. */
  readonly more: number;
}

export class Admission {
  private readonly blockedUntil = new Map<string, number>();

  constructor(
    private readonly context: Context,
    private readonly keys: Keys,
  ) {}

  connect(choices: Choices): void {
    const app = choices.of(APP_CHOICES);
    const { key, isStale } = this.keys.keyToUse(app, choices);
    const peerId = choices.of(PEERS);
    const node = this.context.world.pick(choices.number());
    const metadata = choices.of(METADATA);
    // With rules, most tokens allow everything: there is more to be found in what connections do than in what is refused to them.
    const isWide = this.context.world.history !== undefined && choices.peek() % 4 > 0;
    const patterns = isWide ? choices.skip() : choices.of(TOKEN_PATTERNS);
    const permissions = isWide ? choices.skip() : choices.of(TOKEN_PERMISSIONS);
    const more = choices.number();
    const seconds = LIFE_SECONDS[more % LIFE_SECONDS.length] ?? 0;
    const pongAfterMs = PONG_AFTER_MS[Math.floor(more / 7) % PONG_AFTER_MS.length];
    this.make({ app, key, isStale, peerId, node, metadata, patterns, permissions, more, seconds, pongAfterMs });
  }

  /** A peer whose connection has ended comes back, as it was. */
  reconnect({ app, key, peerId, metadata, patterns, permissions }: Connection, node: number): Connection | undefined {
    const before = this.context.connections.length;
    this.make({
      app,
      key,
      isStale: key.revoked,
      peerId,
      node,
      metadata: metadata === "" ? undefined : (JSON.parse(metadata) as { v: number }),
      patterns,
      permissions,
      more: 1,
      seconds: LIFE_SECONDS[0],
      pongAfterMs: PONG_AFTER_MS[0],
    });
    return this.context.connections[before];
  }

  private make(wanted: Wanted): void {
    const { app, key, isStale, peerId, node, metadata, patterns, permissions, more, seconds, pongAfterMs } = wanted;
    if (this.context.open.length >= CONNECTIONS_MAX) return;
    // No two connections are made in the same millisecond, so that the order of their ages is known.
    this.context.world.advance(1);
    const second = Math.floor(this.context.nowMs() / 1000);
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
    const query = isPublishable ? `key=${key.id}` : `token=${this.context.world.token(key, secret?.seq ?? 0, claims)}`;
    const isRefused = isPublishable ? isStale && "unauthorized" : this.refusal(key, isStale, secret, claims);
    const expected = isRefused || undefined;
    const socket = this.context.world.connect(node, query, pongAfterMs);
    const result = typeof socket === "string" ? socket : undefined;
    if (result !== expected) throw new RuleBroken(`connect of ${peerId} in ${app}: ${result}, expected ${expected}`);
    this.context.count(result ? `refused ${result}` : "connected");
    if (typeof socket === "string") return this.context.note(`connect of ${peerId} in ${app} is refused: ${socket}`);
    const welcome = JSON.parse(socket.written[0] ?? "{}") as Record<string, unknown>;
    const shown = isPublishable || !metadata ? "" : JSON.stringify(metadata);
    const connection: Connection = {
      number: this.context.connections.length,
      id: String(welcome.connection),
      app,
      peerId: isPublishable ? String(welcome.peerId) : peerId,
      node,
      key,
      secret: isPublishable ? undefined : secret,
      expiresAtMs: isPublishable ? Number.POSITIVE_INFINITY : (second + seconds) * 1000,
      patterns: isPublishable ? undefined : patterns,
      permissions: isPublishable ? undefined : permissions,
      metadata: shown,
      shownAs: new Set([shown]),
      socket,
      isOpen: true,
      pings: 0,
      ponged: pongAfterMs === undefined ? 0 : Number.POSITIVE_INFINITY,
      read: 1,
      requests: 0,
      subscriptions: new Map(),
      unanswered: new Map(),
      errors: [],
      received: new Set(),
      due: new Map(),
      lastMessage: new Map(),
      mustClose: undefined,
      stalledMs: undefined,
      drainedMs: 0,
    };
    this.context.connections.push(connection);
    this.context.graces.connected(connection);
    this.context.note(
      `connect ${nameOf(connection)} in ${app} on node ${node} with ${key.id} ${JSON.stringify(claims)}`,
    );
    checkWelcome(connection, welcome, isPublishable ? undefined : claims);
  }

  /** Why a token is refused, in the order of the protocol's checks (section 1). */
  refusal(key: KeyState, isStale: boolean, secret: SecretState | undefined, claims: Claims): string | undefined {
    const now = this.context.nowMs();
    if (isStale) return "invalid_token";
    if (secret && secret.endsMs !== null && secret.endsMs <= now) return "token_expired";
    if (exceeds(key, claims.channels, claims.permissions)) return "invalid_token";
    return (this.blockedUntil.get(`${key.app} ${claims.sub}`) ?? 0) > now ? "unauthorized" : undefined;
  }

  kick(choices: Choices, blocks: boolean): void {
    const app = choices.of(APP_CHOICES);
    const peerId = choices.of(PEERS);
    const node = this.context.world.pick(choices.number());
    const blockMs = choices.of(BLOCK_MS);
    this.context.note(`kick ${peerId} of ${app} on node ${node}${blocks ? ` and block it for ${blockMs} ms` : ""}`);
    for (const connection of this.context.open)
      if (connection.app === app && connection.peerId === peerId) connection.mustClose = 4020;
    this.context.graces.kicked(app, peerId);
    if (blocks) {
      const untilMs = this.context.nowMs() + blockMs;
      this.blockedUntil.set(`${app} ${peerId}`, untilMs);
      this.context.world.blocks.add({ app: anAppId(app), peerId, untilMs });
    }
    const closed = this.context.open.filter((connection) => connection.mustClose === 4020).length;
    const kicked = this.context.world.nodeAt(node).hub.kicks.kick(anAppId(app), peerId);
    this.context.promised.push(
      kicked.then((count) => {
        if (count !== closed) throw new RuleBroken(`the kick of ${peerId} closed ${count} connections, not ${closed}`);
      }),
    );
  }
}

/** `claims`: those of its token; undefined for a publishable key. */
function checkWelcome(
  connection: Connection,
  welcome: Readonly<Record<string, unknown>>,
  claims: Claims | undefined,
): void {
  const { type, peerId, expiresAt, metadata } = welcome;
  const isRight = type === "welcome" && peerId === connection.peerId && expiresAt === (claims?.exp ?? null);
  if (!isRight || JSON.stringify(metadata) !== JSON.stringify(claims?.metadata))
    ruleBroken(connection, `a wrong welcome: ${JSON.stringify(welcome)}`);
}
