/** One connection of a peer: its socket, its permissions, its subscriptions and its rates. */
import { type Address, addressText, parseAddress } from "../access/address.ts";
import type { Grant } from "../access/admit.ts";
import { actionsOf, covers, type Permissions, permits, permitsOn } from "../access/permissions.ts";
import type { RoomAccess } from "../access/room-access.ts";
import type { RoomSeat } from "../access/room-token.ts";
import type { ActionSet } from "../protocol/actions.ts";
import type { Scope } from "../protocol/glob.ts";
import { ConnectionExtras } from "./connection-extras.ts";
import { type Few, isList, listOf, withOne, withoutOne } from "./few.ts";
import type { Departure } from "./lingering/departure.ts";
import type { Peer } from "./peer.ts";
import type { Socket } from "./socket.ts";
import type { Subscription } from "./subscription.ts";

let lastOutbox = 0;
let lastNumber = 0;
/** Distinguishes the connections of this process from those of other nodes. */
const ID_PREFIX = `${(crypto.getRandomValues(new Uint32Array(1))[0] ?? 0).toString(36)}-`;

export const nextConnectionNumber = (): number => ++lastNumber;

/** Short, and unique among the connections of all nodes. */
export const connectionId = (number: number): string => `${ID_PREFIX}${number.toString(36)}`;

/** The scope of message ids for REST, and for publishable keys, whose peers have no id of their own. */
export const keyIdScope = (keyId: string): string => `key ${keyId}`;

/** Up to this many subscriptions are searched one by one: most connections have few, and an index for each would cost memory. */
const INDEXED_ABOVE = 8;

export class Connection implements Permissions {
  /** Unique in this process; `id` is made from it when it is shown. */
  readonly number = nextConnectionNumber();
  /** An IPv4 address as a number, which costs no memory of its own; IPv6 as text. */
  private readonly packedAddress: number | string;
  /** False: the peer id was made for this connection, so that the peer cannot come back under it. */
  readonly isFromToken: boolean;
  // From its token and key; all of them change when the token is renewed, the last three also when the key is edited.
  keyId: string;
  metadataJson: string | undefined;
  tokenScope: Scope | undefined;
  tokenActions: ActionSet | undefined;
  secretSeq: number | undefined;
  expiresAtMs: number | null;
  secretEndsMs: number | null;
  keyScope: Scope;
  actions: ActionSet;
  /** Its place in a room; `undefined` for the connections of an application's own peers. */
  seat: RoomSeat | undefined;
  private held: Few<Subscription>;
  /** The channel that this connection was last allowed to publish to, so that the checks are not repeated with every frame. */
  publishesTo: string | undefined;
  private outboxTopic: string | undefined;
  /** The number of the last WebSocket ping sent after an ack; its pong opens the gate of that subscription. */
  pingSeq = 0;
  /** The highest ping number that a pong has answered. */
  private pongSeq = 0;
  /** Subscriptions whose roster waits for a pong (subscription.ts counts them). */
  gated = 0;
  open = true;
  /** How it has ended; meaningless while it is open. */
  departure: Departure = "lost";
  /** `undefined` until something of it is needed. */
  extras: ConnectionExtras | undefined;
  /** Unix ms at which this connection must be closed; Infinity for never. */
  deadlineMs = Number.POSITIVE_INFINITY;
  /** The index of this connection in its slot of Deadlines. */
  deadlineIndex = 0;
  /** Its index among the connections of its key. */
  keyIndex = 0;
  /** The number of its latest event in the flight recorder. */
  lastEvent = 0;
  /** Frames that arrived in the rate window of this number, and in the one before it (rate-window.ts). */
  private window = 0;
  private windowFrames = 0;
  private windowFramesBefore = 0;
  /** Messages published and sent. */
  published = 0;
  /** Monotonic ms at which the last frame arrived. */
  lastSeenMs: number;
  /** How many frames the client may still send, as of `refilledMs` (rates.ts). */
  frames: number;
  refilledMs: number;
  /** When the buckets of pings and WebSocket control frames are full, monotonic ms. */
  pingsFullMs = 0;
  controlsFullMs = 0;

  constructor(
    readonly peer: Peer,
    readonly socket: Socket,
    grant: Grant,
    /** Unix ms, unique on one node: connections are ordered by it. */
    readonly connectedMs: number,
    nowMonotonicMs: number,
    framesBurst: number,
    client: Address,
  ) {
    this.packedAddress = packed(client);
    this.keyId = grant.key.id;
    this.isFromToken = grant.key.type !== "publishable";
    this.metadataJson = grant.peerMetadataJson;
    this.tokenScope = grant.tokenScope;
    this.tokenActions = grant.tokenActions;
    this.secretSeq = grant.secretSeq;
    this.secretEndsMs = grant.secretEndsMs;
    this.expiresAtMs = grant.expiresAtMs;
    this.keyScope = grant.key.scope;
    this.seat = grant.seat;
    // The room has decided about the seat since the token was checked.
    this.actions = grant.seat ? grant.seat.access.actions : actionsOf(grant.tokenActions, grant.key);
    this.lastSeenMs = nowMonotonicMs;
    this.frames = framesBurst;
    this.refilledMs = nowMonotonicMs;
  }

  /** Made each time: it is needed rarely after the welcome, and would take 80 bytes. */
  get id(): string {
    return connectionId(this.number);
  }

  get peerId(): string {
    return this.peer.peerId;
  }

  /** For what is written to it. */
  get withExtras(): ConnectionExtras {
    this.extras ??= new ConnectionExtras();
    return this.extras;
  }

  /** Within which the ids of its messages are unique. A peer id may look like the id of a key, so each has its own prefix. */
  get idScope(): string {
    return this.isFromToken ? `peer ${this.peerId}` : keyIdScope(this.keyId);
  }

  /** The client's address, behind any trusted proxies. */
  get address(): string {
    return typeof this.packedAddress === "string" ? this.packedAddress : addressText(unpacked(this.packedAddress));
  }

  get client(): Address {
    const { packedAddress } = this;
    return typeof packedAddress === "number" ? unpacked(packedAddress) : (parseAddress(packedAddress) ?? []);
  }

  /**
   * A native topic that only this connection is on, made with its first use. A send to the socket is written at once, but what is
   * published to topics leaves at the end of the turn in one write: better for frames that come often.
   */
  get outbox(): string {
    if (this.outboxTopic === undefined) {
      this.outboxTopic = `o${(++lastOutbox).toString(36)}`;
      this.socket.subscribe(this.outboxTopic);
    }
    return this.outboxTopic;
  }

  /** A frame has arrived. */
  countFrame(window: number): void {
    if (window !== this.window) {
      this.windowFramesBefore = window === this.window + 1 ? this.windowFrames : 0;
      this.window = window;
      this.windowFrames = 0;
    }
    this.windowFrames++;
  }

  /** Frames of the client. `nowMs`: Unix ms. */
  framesPerSec(nowMs: number): number {
    const { window, windowFrames: current, windowFramesBefore: before } = this;
    return this.peer.space.rateWindow.perSecond({ window, current, before }, nowMs);
  }

  /**
   * The number of the ping that a pong answers; `undefined` if the pong is unsolicited or repeated. A client may
   * answer only the last of several pings (RFC 6455, 5.5.3).
   */
  answeredPing(payload: string): number | undefined {
    const seq = Number(payload);
    if (String(seq) !== payload || seq <= this.pongSeq || seq > this.pingSeq) return undefined;
    this.pongSeq = seq;
    return seq;
  }

  /** Its token is replaced by another one of the same peer: checks that passed before are done anew. */
  renewTo(grant: Grant): void {
    this.keyId = grant.key.id;
    this.metadataJson = grant.peerMetadataJson;
    this.tokenScope = grant.tokenScope;
    this.tokenActions = grant.tokenActions;
    this.secretSeq = grant.secretSeq;
    this.secretEndsMs = grant.secretEndsMs;
    this.expiresAtMs = grant.expiresAtMs;
    this.seat = grant.seat;
    this.narrowTo(grant.key);
    if (grant.seat) this.actions = grant.seat.access.actions;
  }

  /** The key has changed: checks that passed before are done anew. */
  narrowTo(key: Grant["key"]): void {
    this.keyScope = key.scope;
    this.actions = actionsOf(this.tokenActions, key);
    this.checkAgain();
  }

  /** Its room allows something else from now on. */
  setRoomAccess(seat: RoomSeat, access: RoomAccess): void {
    seat.access = access;
    this.actions = access.actions;
    this.checkAgain();
  }

  /** Where it publishes to is checked with its next message. */
  checkAgain(): void {
    this.publishesTo = undefined;
    if (!this.extras) return;
    this.extras.storesTo = undefined;
    this.extras.keeps = undefined;
  }

  may(action: ActionSet): boolean {
    return permits(this, action);
  }

  /** Whether it may do this on a channel that it covers. */
  mayOn(action: ActionSet, channel: string): boolean {
    return permitsOn(this, action, channel);
  }

  /** Whether both the token and the key as it is now cover the channel. */
  covers(channel: string): boolean {
    return covers(this, channel);
  }

  get subscriptions(): readonly Subscription[] {
    return listOf(this.held);
  }

  get subscriptionCount(): number {
    const { held } = this;
    return held === undefined ? 0 : isList(held) ? held.length : 1;
  }

  subscriptionTo(channel: string): Subscription | undefined {
    const { held } = this;
    if (held === undefined) return undefined;
    if (!isList(held)) return held.channel.name === channel ? held : undefined;
    const byChannel = this.extras?.byChannel;
    if (byChannel) return byChannel.get(channel);
    for (const subscription of held) if (subscription.channel.name === channel) return subscription;
    return undefined;
  }

  addSubscription(subscription: Subscription): void {
    this.held = withOne(this.held, subscription);
    const byChannel = this.extras?.byChannel;
    if (byChannel) byChannel.set(subscription.channel.name, subscription);
    else if (this.subscriptionCount > INDEXED_ABOVE)
      this.withExtras.byChannel = new Map(this.subscriptions.map((one) => [one.channel.name, one]));
  }

  /** Returns false if the subscription was removed before. */
  removeSubscription(subscription: Subscription): boolean {
    const before = this.subscriptionCount;
    this.held = withoutOne(this.held, subscription);
    if (this.subscriptionCount === before) return false;
    const { extras } = this;
    extras?.byChannel?.delete(subscription.channel.name);
    // At half the limit, so that one channel more or less does not build the index each time.
    if (extras && before <= INDEXED_ABOVE / 2 + 1) extras.byChannel = undefined;
    return true;
  }
}

function packed(address: Address): number | string {
  if (address.length !== 4) return addressText(address);
  const [a = 0, b = 0, c = 0, d = 0] = address;
  return a * 0x1000000 + b * 0x10000 + c * 0x100 + d;
}

const unpacked = (packed: number): Address => [
  packed >>> 24,
  (packed >>> 16) & 255,
  (packed >>> 8) & 255,
  packed & 255,
];
