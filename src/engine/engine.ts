/**
 * The contract between realtime/ and what connects nodes. With a single node an engine has nothing to do. The suite of all engines
 * is testing/engine.suite.ts.
 *
 * Every field named `…Json` is already JSON text. Results may be returned directly or as a promise: the caller must handle both, and
 * must not assume that calls about different channels resolve in the order they were made.
 *
 * Messages
 * - `publish` and `send` MUST decide whether other nodes can be reached before they return; when they cannot, nothing MUST have been
 *   delivered to any node. A `send` that resolves with UNAVAILABLE later may have been delivered, or may still be.
 * - What one node announces and publishes on one channel MUST arrive in that order: a member is known before its messages.
 * - Messages of one node on one channel, and of one sender to one peer, MUST arrive in the order they were published or sent.
 * - A node MUST NOT receive its own messages and announcements.
 * - A message lost on a watched channel MUST be reported with `lost`, before anything that follows it.
 * - `send` reaches nodes that have called `serve` for the peer. It MUST NOT resolve with a count while a node that has delivered to the
 *   peer before, and is there, has not answered; of others it MAY miss the answer. A count of 0 with `isHere` is subject to the same.
 *   It MUST NOT resolve with DEFERRED if a node has delivered the message, as far as can be known within its timeouts.
 * - All attempts to deliver one direct message share one DirectAttempt. However many there are, and however late they arrive, each
 *   node MUST deliver the message at most once, and never after a later one of the same sender.
 *
 * Members
 * - `watch` MUST call `found` once, in order with `membersChanged`: earlier changes are included in it, later ones follow. It is a
 *   callback because with a promise a change could be processed in between. From then on every message that another node publishes
 *   on that channel MUST arrive.
 * - When a node is gone the other nodes MUST be notified once (`nodeGone`), and nothing of it MUST arrive afterwards. A node that was
 *   wrongly considered gone returns under another id.
 *
 * Other calls
 * - Simultaneous claims on all nodes together MUST NOT get more than the capacity, as long as the nodes can reach each other.
 * - `invalidate` resolves when every other node has finished its work, or after one second. It MAY be lost, and MUST say so: it makes other nodes read
 *   shared state earlier than they would. `withdrawn` is a text that only the node's parts understand: what the change takes away, for
 *   nodes that cannot read it. It MUST have at most WITHDRAWN_MAX_CHARS, and nodes of earlier versions ignore it.
 * - `request` and `notify` are for what operators look at: lists, charts, the live tail. They carry text that only the node's parts
 *   understand (node-requests.ts), MUST NOT delay messages, and MAY be lost: a `request` then misses a response and says so.
 * - Announcements, results and connection counts of any size, and the largest legal message, MUST arrive complete, whatever the
 *   payload limit of the transport.
 * - An engine between processes MUST survive a method of EngineCallbacks that throws: it reports the error, and the channel as
 *   `lost`.
 */

import type { AppId, SpaceId } from "../base/ids.ts";
import type { Scope } from "../protocol/patterns/scope.ts";
import type { Position } from "../protocol/position.ts";

export interface Envelope {
  readonly from: string;
  readonly metadataJson: string | undefined;
  readonly dataJson: string;
  /** What its publisher has named it. */
  readonly id?: string | undefined;
  /** Where it is in the stream of its channel, if that keeps history. */
  readonly stored?: Stored | undefined;
  /** A direct message to a peer that comes back: it must not reach a connection before the first roster of that. */
  readonly awaitsRoster?: true;
  /** It has waited, and its sender awaited no roster when it was sent: channels it has subscribed to since then are not shown by it. */
  readonly sentEarlier?: true;
  /** Within which the id of a message is unique; absent if it has no id, or if the connection that it comes from says so. */
  readonly idScope?: string | undefined;
}

/** One direct message, over all attempts to deliver it. */
export interface DirectAttempt {
  readonly spaceId: SpaceId;
  readonly to: string;
  /** Called as soon as a node has answered that it expects the peer back, before the attempt is decided; not with `isHere`. */
  readonly onDeferred: OnDeferred;
  /** Set by the engine with the first attempt, and repeated with each: a node that has delivered the message drops the others. */
  number: number;
  /** When the first attempt was made, monotonic ms of the engine. */
  firstMs: number;
  /** The node of the sender expects the peer back: it is tried again where no node has delivered it, also if that is not certain. */
  isHeld: boolean;
  /** Set by the engine: an attempt had a subscriber that has not answered. Until one confirms the message, it is not certain that none has it. */
  isUnanswered: boolean;
  /** Set by the engine: the connections it was delivered to, if a node confirms that after the attempt has ended with DEFERRED. */
  delivered: number;
  /** What this node has sent to the peer before is decided: this message is the next one. */
  isNext: boolean;
  /** There will be no further attempt: DEFERRED and 0 must be certain, otherwise it resolves with UNAVAILABLE. */
  isLast: boolean;
}

/** What the store has decided about a message of a channel with history. */
export interface Stored extends Position {
  /** Unix ms; never less than that of the message before it. */
  readonly time: number;
  /** The id of the connection that published it; `undefined` for REST. */
  readonly connection: string | undefined;
}

/** A member of a channel, as one node knows it from its own connections. */
export interface MemberState {
  readonly peerId: string;
  readonly metadataJson: string | undefined;
  /** When its newest connection on that node was made, Unix ms in the order of realtime/connections/connection-times.ts. The newest on all nodes decides the metadata and the state. */
  readonly since: number;
  /**
   * The node of that connection, by the name that it has for itself: new with each start of its process, and the same on every node.
   * A member that lingers keeps it, also on nodes that have inherited it. Decides between connections of the same time.
   */
  readonly node: string;
  /** It has no roster yet. If it is not shown already, it is shown when it is announced without this, or publishes. */
  readonly isArriving?: true;
  /** It had no connection for a while and is back, and has no roster yet. */
  readonly isReturning?: true;
  /** What the peer says about itself in this channel, on that connection; `undefined` if nothing. */
  readonly stateJson?: string | undefined;
  /** The key of that connection, in channels with a grace period: other nodes must know it if this one is lost. */
  readonly keyId?: string | undefined;
  /** It has no connection any more, but is still a member. */
  readonly lingers?: Lingers | undefined;
}

/** Why and until when a member without a connection lingers. */
export interface Lingers {
  /** `lost`: without a goodbye, in a channel with a grace period. `held`: the service itself closed the connection. */
  readonly why: "lost" | "held";
  /** Between nodes Unix ms of the clock of the node that announces it; within a node of its steady clock. */
  readonly untilMs: number;
  /** Between nodes: how much of it was left when it was announced. Absent in what nodes of earlier versions announce. */
  readonly leftMs?: number | undefined;
  /** The key of its last connection: it ends with the key. */
  readonly keyId: string;
  /** The peer had a connection on another node when this one ended: what is left of that one counts before this (realtime/state/newest.ts). */
  readonly hadOther?: true;
}

export interface ChannelCount {
  readonly channel: string;
  readonly peerIds: readonly string[];
  readonly connections: number;
}

export interface FoundChannels {
  readonly counts: readonly ChannelCount[];
  /** What it took to find them, in the steps of `Effort`; 0 where a node of an earlier version has answered. */
  readonly steps: number;
}

/** What several nodes have found. */
export const allOf = (found: readonly FoundChannels[]): FoundChannels => ({
  counts: found.flatMap(({ counts }) => counts),
  steps: found.reduce((sum, { steps }) => sum + steps, 0),
});

/** Which active channels are asked for: the first ones by name (in the order of `<`) that are behind `after` and within the scope. */
export interface ChannelsPage {
  readonly prefix: string;
  readonly after?: string | undefined;
  readonly limit: number;
  readonly scope: Scope;
}

/** Capacity for one more connection, reserved until `end`. */
export interface Claim {
  end(): void;
}

/** A node as members are kept by: another one for each incarnation, when a node returns after it was considered gone. */
export type NodeId = string;
/** What a node calls itself, the same on all nodes and for as long as its process runs: what it writes or sends is under this. */
export type NodeName = string;

/** The result from all nodes, or undefined: an incomplete result would be mistaken for a complete one. */
export type Complete<T> = T | undefined | Promise<T | undefined>;

/** Other nodes cannot be reached. Returned at once: nothing was delivered. Later: the message may have been delivered. */
export const UNAVAILABLE = "unavailable" as const;
/** Delivered to none, because a node has closed the peer's connection itself and expects it back within seconds. */
export const DEFERRED = "deferred" as const;
/** A node has delivered a later message, or this one in an earlier attempt: which of them is not known. It is not delivered any more. */
export const OVERTAKEN = "overtaken" as const;

/** To how many connections of one node, or why to none. */
export type DeliverResult = number | typeof DEFERRED;
/** To how many connections a direct message was delivered, or what became of it otherwise. */
export type SendResult = DeliverResult | typeof UNAVAILABLE | typeof OVERTAKEN;
/** Now or later. */
export type Sent = SendResult | Promise<SendResult>;

export type OnDeferred = (attempt: DirectAttempt) => void;

export interface Engine {
  /** There is no other node now, so that nothing need be announced: one that comes later asks for what it must know. */
  readonly isAlone?: boolean;
  /** Called once, before anything else. */
  attach(node: EngineCallbacks): void;
  /** Resolves when this node knows those that were there when it was attached, or after about a heartbeat. undefined: it does now. */
  othersKnown?(): Promise<void> | undefined;
  /** false: the other nodes cannot be reached. */
  publish(spaceId: SpaceId, channel: string, envelope: Envelope): boolean;
  /**
   * A connection of this peer is about to be made here. Where another node has one already, resolves when all nodes know that messages
   * to the peer are wanted here too, or after a moment: what is sent after the welcome must reach both. undefined: there is nothing
   * to wait for, as for almost every connect. Without a connection afterwards, the caller MUST call `release`.
   */
  prepare?(spaceId: SpaceId, peerId: string): Promise<void> | undefined;
  /** This node has the first connection of a peer. */
  serve(spaceId: SpaceId, peerId: string): void;
  /** This node has lost the last connection of a peer. */
  release(spaceId: SpaceId, peerId: string): void;
  /**
   * This node has closed the last connection of a peer and expects it back. When another node calls `serve` for the peer, `returned` is
   * called here, until `release` or the next `serve` of this node. The call MAY be lost.
   */
  expect(spaceId: SpaceId, peerId: string): void;
  /**
   * To how many connections of that peer on other nodes it was delivered, as far as known; 0: none; or UNAVAILABLE.
   * `isHere`: this node delivers it too, so that 0 need not be certain. DEFERRED: no connection, but a node has answered that it
   * expects the peer back. Without `attempt` there is one attempt.
   */
  send(spaceId: SpaceId, to: string, envelope: Envelope, isHere: boolean, attempt?: DirectAttempt): Sent;
  /** This node has the first subscriber of a channel. `found` gets the members on other nodes, now or later. */
  watch(spaceId: SpaceId, channel: string, found: (members: RemoteMembers) => void): void;
  /** This node has lost the last subscriber of a channel. */
  unwatch(spaceId: SpaceId, channel: string): void;
  /** The members that this node's own connections have in a channel have changed. */
  announce(spaceId: SpaceId, channel: string, joined: readonly MemberState[], left: readonly string[]): void;
  /** The peer must not connect to other nodes until then; a time that has passed ends its block. Resolves when they know, or after one second. */
  block(app: AppId, peerId: string, untilMs: number): void | Promise<void>;
  /** Closes the peer's connections on other nodes, and counts them. */
  kick(spaceId: SpaceId, peerId: string): number | Promise<number>;
  /**
   * Active channels on other nodes, one entry per node and channel. undefined: not every node has responded. With a page, those of
   * the page on each node; there MAY be others beside them, because nodes of earlier versions return all.
   */
  channels(spaceId: SpaceId, page?: ChannelsPage): Complete<FoundChannels>;
  /** Members of one channel on other nodes, including those not announced yet. undefined: not every node has responded. */
  members(spaceId: SpaceId, channel: string): Complete<RemoteMembers>;
  /** The number of this node's connections of an application has changed: other nodes must learn it soon. */
  counted(app: AppId, connections: number): void;
  /** Capacity for one more connection under the cap of an application on all nodes together. undefined: there is none. */
  claim(app: AppId, cap: number): Claim | undefined | Promise<Claim | undefined>;
  /** Connections of an application on other nodes, as far as known. */
  connections(app: AppId): number;
  /**
   * Makes the other nodes read shared state now. For an application they also write what they have not written yet, and its
   * `connections` are then as of that moment.
   */
  invalidate(app?: AppId, withdrawn?: string): Promise<Nudged>;
  /**
   * Asks every other node. Resolves when all have responded, or after a second. `isNew`: nodes of 0.1.0 do not know this request, and would report
   * it as a fault: they are not asked, and count as nodes that have not responded.
   */
  request(text: string, isNew?: boolean): Promise<NodeResponses>;
  /** Whether another node of this name is there, as far as this one knows. */
  knows(node: NodeName): boolean;
  /** Sends a text to one other node; unknown nodes and an outage are ignored. Texts to one node arrive in order, if they arrive. */
  notify(node: NodeName, text: string): void;
  close(): Promise<void>;
}

export interface NodeResponses {
  /** Bound: one per other node, RESPONSE_TEXT_MAX_CHARS each, for one request. */
  readonly responses: ReadonlyMap<NodeName, string>;
  /** Every other node has responded. */
  readonly isComplete: boolean;
}

export type RemoteMembers = ReadonlyMap<NodeId, readonly MemberState[]>;

/** Every other node has finished its work, some have not in time or did not get it, or the transport is down. */
export type Nudged = "answered" | "unanswered" | "unsent";

/** Longer texts of `invalidate` are not passed on. */
export const WITHDRAWN_MAX_CHARS = 2048;

/** What a node offers to its engine: the state of its own connections, and delivery to them. */
export interface EngineCallbacks {
  /** Also the id under which other nodes know this one, until they consider it gone. */
  readonly id: NodeName;
  deliver(spaceId: SpaceId, channel: string, envelope: Envelope): void;
  /** Returns to how many connections it was delivered, or DEFERRED if this node has none and expects the peer back. */
  deliverTo(spaceId: SpaceId, to: string, envelope: Envelope): DeliverResult;
  /** A peer that this node expects back (`expect`) has connected to another one. */
  returned(spaceId: SpaceId, peerId: string): void;
  membersChanged(
    node: NodeId,
    spaceId: SpaceId,
    channel: string,
    joined: readonly MemberState[],
    left: readonly string[],
  ): void;
  /** All members of one channel on one node; replaces what was known. */
  membersAre(node: NodeId, spaceId: SpaceId, channel: string, members: readonly MemberState[]): void;
  /** Messages of that channel were lost: its subscribers on this node must resynchronise. */
  lost(spaceId: SpaceId, channel: string): void;
  /** `name`: what the node has left in the store is under this. */
  nodeGone(node: NodeId, name: NodeName): void;
  /** The other nodes can be reached again: what they have stored meanwhile was not announced to this node. */
  reconnected(): void;
  /** Another node has called `invalidate`: read shared state now and, for an application, write what is not written yet. */
  invalidated(app?: AppId, withdrawn?: string): void | Promise<void>;
  /** The peer must not connect until then; a time that has passed ends its block. Its connections are closed by a kick. */
  blocked(app: AppId, peerId: string, untilMs: number): void;
  /** Closes the peer's connections, and counts them. */
  kicked(spaceId: SpaceId, peerId: string): number;
  /** Members of this node, as announced. */
  localMembers(spaceId: SpaceId, channel: string): readonly MemberState[];
  /** Members of this node, including those not announced yet. */
  localPeers(spaceId: SpaceId, channel: string): readonly MemberState[];
  /** Without a page, which nodes of earlier versions do not name, all of them. */
  localChannels(spaceId: SpaceId, page?: ChannelsPage): FoundChannels;
  localConnections(app: AppId): number;
  /** Another node has reported its connections of an application. */
  connectionsChanged(app: AppId): void;
  /** Connections of every application that has any. */
  localCounts(): ReadonlyMap<AppId, number>;
  /** Another node has called `request`. May be slow: it is not on the path of messages. */
  respond(text: string): string | Promise<string>;
  /** Another node has called `notify`. */
  notified(node: NodeName, text: string): void;
}
