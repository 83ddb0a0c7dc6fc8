/** One connection of a peer: its socket, its permissions, its subscriptions and its rates. */
import { type Grant, type KeyGrant, peerMetadataOf } from "../../access/admission/admit.ts";
import { covers, type Permissions, permits, permitsOn } from "../../access/admission/permissions.ts";
import type { RoomAccess } from "../../access/tokens/room-access.ts";
import { type RoomSeat, seatMetadata } from "../../access/tokens/room-token.ts";
import { type Address, addressText, parseAddress } from "../../base/address.ts";
import { anyOf, type Few, isList, listOf, withOne, withoutOne } from "../../base/few.ts";
import type { ActionSet } from "../../protocol/actions.ts";
import type { Departure } from "../../protocol/close.ts";
import type { Scope } from "../../protocol/patterns/scope.ts";
import { KeyCounters } from "../../telemetry/key-traffic.ts";
import { ConnectionExtras } from "./connection-extras.ts";
import type { Peer } from "./peer.ts";
import type { Socket } from "./socket.ts";
import type { Subscription } from "./subscription.ts";
import { Terms } from "./terms.ts";

let lastOutbox = 0;
let lastNumber = 0;
/** Distinguishes the connections of this process from those of other nodes. */
const ID_PREFIX = `${(crypto.getRandomValues(new Uint32Array(1))[0] ?? 0).toString(36)}-`;

export const nextConnectionNumber = (): number => ++lastNumber;

/** Short, and unique among the connections of all nodes. */
export const connectionId = (number: number): string => `${ID_PREFIX}${number.toString(36)}`;

/** `undefined` if it is not an id of a connection of this process. */
export function connectionNumber(id: string): number | undefined {
  if (!id.startsWith(ID_PREFIX)) return undefined;
  const number = Number.parseInt(id.slice(ID_PREFIX.length), 36);
  return connectionId(number) === id ? number : undefined;
}

/** The scope of message ids for REST, and for publishable keys, whose peers have no id of their own. */
export const keyIdScope = (keyId: string): string => `key ${keyId}`;

/** A connection has these until it is among those of its key (connections.ts). */
const NO_COUNTERS = new KeyCounters();

/** Up to this many subscriptions are searched one by one: most connections have few, and an index for each would cost memory. */
const INDEXED_ABOVE = 8;

export class Connection implements Permissions {
  /** Unique in this process; `id` is made from it when it is shown. */
  readonly number = nextConnectionNumber();
  /** An IPv4 address as a number, which costs no memory of its own; IPv6 as text. */
  private readonly packedAddress: number | string;
  /** From its token and key; replaced when the token is renewed or the key edited. */
  private terms: Terms;
  metadataJson: string | undefined;
  expiresAtMs: number | null;
  /** Bound: CHANNELS_PER_CONNECTION_MAX. */
  private own: Few<Subscription>;
  private outboxTopic: string | undefined;
  /** The number of the last WebSocket ping sent after an ack; with its pong the roster of that subscription may be written. */
  pingSeq = 0;
  /** The highest ping number that a pong has answered. */
  private pongSeq = 0;
  /** How it has ended; `undefined` while it is open. */
  private ended: Departure | undefined;
  /** `undefined` until something of it is needed. */
  extras: ConnectionExtras | undefined;
  /** Unix ms at which this connection must be closed; Infinity for never. */
  deadlineMs = Number.POSITIVE_INFINITY;
  /** The index of this connection in its slot of Deadlines. */
  deadlineIndex = 0;
  /** Its index among the connections of its key. */
  keyIndex = 0;
  /** What its key counts on this node. */
  keyCounters = NO_COUNTERS;
  /** The number of its latest event in the flight recorder. */
  lastEvent = 0;
  /** Frames that arrived in the rate window of this number, and in the one before it (rate-window.ts). */
  private window = 0;
  private windowFrames = 0;
  private windowFramesBefore = 0;
  /** Messages published and sent. */
  published = 0;
  /** Monotonic ms of the last of them; without meaning before the first. */
  publishedMs = 0;
  /** Monotonic ms at which the last frame arrived. */
  lastSeenMs: number;
  /** When the buckets of frames, pings and WebSocket control frames are full, monotonic ms (rates.ts). */
  framesFullMs = 0;
  pingsFullMs = 0;
  controlsFullMs = 0;

  constructor(
    readonly peer: Peer,
    readonly socket: Socket,
    grant: Grant,
    /** Unix ms, unique on one node: connections are ordered by it (connection-times.ts). How old one is, `openedMs` says. */
    readonly connectedMs: number,
    /** Monotonic ms. */
    readonly openedMs: number,
    client: Address,
  ) {
    this.packedAddress = packed(client);
    this.terms = Terms.of(grant);
    this.metadataJson = peerMetadataOf(grant);
    this.expiresAtMs = grant.expiresAtMs;
    this.lastSeenMs = openedMs;
  }

  // By its token and key

  get keyId(): string {
    return this.terms.keyId;
  }

  get isFromToken(): boolean {
    return this.terms.isFromToken;
  }

  get keyScope(): Scope {
    return this.terms.keyScope;
  }

  get tokenScope(): Scope | undefined {
    return this.terms.tokenScope;
  }

  get tokenActions(): ActionSet | undefined {
    return this.terms.tokenActions;
  }

  get actions(): ActionSet {
    return this.terms.actions;
  }

  get secretEndsMs(): number | null {
    return this.terms.secretEndsMs;
  }

  get seat(): RoomSeat | undefined {
    return this.terms.seat;
  }

  // Its life

  get open(): boolean {
    return this.ended === undefined;
  }

  /** How it has ended; meaningless while it is open. */
  get departure(): Departure {
    return this.ended ?? "lost";
  }

  end(departure: Departure): void {
    this.ended = departure;
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

  /** A message of it was accepted. */
  countPublished(): void {
    this.published++;
    // A time that is known already: a clock would be read for each message.
    this.publishedMs = this.lastSeenMs;
    this.keyCounters.messages++;
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

  /** Frames of the client. `nowMs`: monotonic ms. */
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
    this.metadataJson = peerMetadataOf(grant);
    this.expiresAtMs = grant.expiresAtMs;
    this.setTerms(Terms.of(grant));
  }

  /** The key has changed: checks that passed before are done anew. */
  narrowTo(key: KeyGrant["key"]): void {
    this.setTerms(this.terms.under(key));
  }

  /** Its stay is called this from now on. */
  setRoomName(seat: RoomSeat, name: string): void {
    seat.name = name;
    this.metadataJson = seatMetadata(seat);
  }

  /** Its room allows something else from now on. */
  setRoomAccess(seat: RoomSeat, access: RoomAccess): void {
    seat.access = access;
    this.setTerms(this.terms.withActions(access.actions));
  }

  private setTerms(terms: Terms): void {
    this.terms = terms;
    this.checkAgain();
  }

  /** Where it publishes to is checked with its next message. */
  checkAgain(): void {
    if (!this.extras) return;
    this.extras.publishesTo = undefined;
    this.extras.storesTo = undefined;
    this.extras.keeps = undefined;
  }

  may(action: ActionSet): boolean {
    return permits(this.terms, action);
  }

  /** Whether it may do this on a channel that it covers. */
  mayOn(action: ActionSet, channel: string): boolean {
    return permitsOn(this.terms, action, channel);
  }

  /** Whether both the token and the key as it is now cover the channel. */
  covers(channel: string): boolean {
    return covers(this.terms, channel);
  }

  get subscriptions(): readonly Subscription[] {
    return listOf(this.own);
  }

  /** Whether one of its subscriptions passes the test. */
  hasSubscription(test: (subscription: Subscription) => boolean): boolean {
    return anyOf(this.own, test);
  }

  get subscriptionCount(): number {
    const { own } = this;
    return own === undefined ? 0 : isList(own) ? own.length : 1;
  }

  /** How many rosters wait for a pong. */
  get awaitingPong(): number {
    const { own } = this;
    if (own === undefined) return 0;
    if (!isList(own)) return own.isAwaitingPong ? 1 : 0;
    let count = 0;
    for (const subscription of own) if (subscription.isAwaitingPong) count++;
    return count;
  }

  subscriptionTo(channel: string): Subscription | undefined {
    const { own } = this;
    if (own === undefined) return undefined;
    if (!isList(own)) return own.channel.name === channel ? own : undefined;
    const byChannel = this.extras?.byChannel;
    if (byChannel) return byChannel.get(channel);
    for (const subscription of own) if (subscription.channel.name === channel) return subscription;
    return undefined;
  }

  addSubscription(subscription: Subscription): void {
    this.own = withOne(this.own, subscription);
    const byChannel = this.extras?.byChannel;
    if (byChannel) byChannel.set(subscription.channel.name, subscription);
    else if (this.subscriptionCount > INDEXED_ABOVE)
      this.withExtras.byChannel = new Map(this.subscriptions.map((one) => [one.channel.name, one]));
  }

  /** Returns false if the subscription was removed before. */
  removeSubscription(subscription: Subscription): boolean {
    const before = this.subscriptionCount;
    this.own = withoutOne(this.own, subscription);
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
