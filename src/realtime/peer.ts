/** One connection: who it is, what it may do, what it holds. */
import type { Grant } from "../access/admit.ts";
import type { ActionSet } from "../protocol/actions.ts";
import type { Scope } from "../protocol/glob.ts";
import { CONTROL_FRAMES_BURST, PING_FRAMES_BURST } from "./limits.ts";
import type { Socket } from "./socket.ts";
import type { Identity } from "./space.ts";
import type { Subscription } from "./subscription.ts";

let lastOutbox = 0;

/** Up to so many subscriptions are searched one by one: most connections have few, and an index for each would cost memory. */
const INDEXED_ABOVE = 8;

export class Peer {
  readonly keyId: string;
  readonly peerId: string;
  readonly metadataJson: string | undefined;
  readonly tokenScope: Scope | undefined;
  readonly tokenActions: ActionSet | undefined;
  readonly secretSeq: number | undefined;
  readonly expiresAtMs: number | null;
  secretEndsMs: number | null;
  keyScope: Scope;
  actions: ActionSet;
  private readonly held: Subscription[] = [];
  /** The same by channel name, while there are more than INDEXED_ABOVE. */
  private byChannel: Map<string, Subscription> | undefined;
  /** The channel it was last allowed to publish to, so that this is not found out frame by frame. */
  publishesTo: string | undefined;
  private outboxTopic: string | undefined;
  /** Of the last WebSocket ping; its pong opens what waits for it. */
  pingSeq = 0;
  /** The highest of those numbers that a pong has answered. */
  private pongSeq = 0;
  /** Subscriptions whose roster waits for a pong (subscription.ts counts them). */
  gated = 0;
  open = true;
  /** Unix ms at which it must be closed; Infinity: never. */
  deadlineMs = Number.POSITIVE_INFINITY;
  /** Its place among those that are due at the same time. */
  deadlineIndex = 0;
  /** Monotonic ms. */
  lastSeenMs: number;
  /** Rates: how many frames, pings and WebSocket control frames it may still send, as of `refilledMs`. */
  frames: number;
  pings: number;
  controls: number;
  refilledMs: number;

  constructor(
    readonly identity: Identity,
    readonly socket: Socket,
    grant: Grant,
    /** Unix ms, never the same twice: the order of connections. */
    readonly connectedMs: number,
    nowMonotonicMs: number,
    framesBurst: number,
  ) {
    this.keyId = grant.key.id;
    this.peerId = grant.peerId;
    this.metadataJson = grant.peerMetadataJson;
    this.tokenScope = grant.tokenScope;
    this.tokenActions = grant.tokenActions;
    this.secretSeq = grant.secretSeq;
    this.secretEndsMs = grant.secretEndsMs;
    this.expiresAtMs = grant.expiresAtMs;
    this.keyScope = grant.key.scope;
    this.actions = grant.tokenActions === undefined ? grant.key.actions : grant.tokenActions & grant.key.actions;
    this.lastSeenMs = nowMonotonicMs;
    this.frames = framesBurst;
    this.pings = PING_FRAMES_BURST;
    this.controls = CONTROL_FRAMES_BURST;
    this.refilledMs = nowMonotonicMs;
  }

  /**
   * A native topic that this connection alone is on, from the first use. What is sent to a socket is written at once, what is
   * published leaves at the end of the turn, all of it in one write: for what comes often.
   */
  get outbox(): string {
    if (this.outboxTopic === undefined) {
      this.outboxTopic = `o${(++lastOutbox).toString(36)}`;
      this.socket.subscribe(this.outboxTopic);
    }
    return this.outboxTopic;
  }

  /**
   * The number of the ping that a pong answers; undefined: it is none of ours, or answered already. A client that is behind may
   * answer only the last of several pings (RFC 6455, 5.5.3).
   */
  answeredPing(payload: string): number | undefined {
    const seq = Number(payload);
    if (String(seq) !== payload || seq <= this.pongSeq || seq > this.pingSeq) return undefined;
    this.pongSeq = seq;
    return seq;
  }

  /** The key has changed: nothing that was allowed before is taken for granted. */
  narrowTo(key: Grant["key"]): void {
    this.keyScope = key.scope;
    this.actions = this.tokenActions === undefined ? key.actions : this.tokenActions & key.actions;
    this.publishesTo = undefined;
  }

  may(action: ActionSet): boolean {
    return (this.actions & action) !== 0;
  }

  /** The token's claims and the key as it is now. */
  covers(channel: string): boolean {
    return this.keyScope.matches(channel) && (this.tokenScope === undefined || this.tokenScope.matches(channel));
  }

  get subscriptions(): readonly Subscription[] {
    return this.held;
  }

  subscriptionTo(channel: string): Subscription | undefined {
    if (this.byChannel) return this.byChannel.get(channel);
    for (const subscription of this.held) if (subscription.channel.name === channel) return subscription;
    return undefined;
  }

  addSubscription(subscription: Subscription): void {
    this.held.push(subscription);
    if (this.byChannel) this.byChannel.set(subscription.channel.name, subscription);
    else if (this.held.length > INDEXED_ABOVE)
      this.byChannel = new Map(this.held.map((one) => [one.channel.name, one]));
  }

  /** false: it was removed before. */
  removeSubscription(subscription: Subscription): boolean {
    const at = this.held.indexOf(subscription);
    if (at < 0) return false;
    this.held.splice(at, 1);
    this.byChannel?.delete(subscription.channel.name);
    // Half as many, so that one channel more or less does not build the index each time.
    if (this.held.length <= INDEXED_ABOVE / 2) this.byChannel = undefined;
    return true;
  }
}
