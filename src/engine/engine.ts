/**
 * The contract of what joins nodes. The heart (realtime/) is written against it; with one node it has nothing to do.
 *
 * Every text named `…Json` is JSON already. Answers may come at once or as a promise: the caller must cope with both, and
 * must not assume that two calls about different channels are answered in the order they were made.
 *
 * - `publish` and `send` MUST decide whether they can reach the others before they return; when they cannot, they MUST NOT
 *   have handed anything to anybody.
 * - What one node announces and publishes on one channel MUST arrive in that order: a member is known before it speaks.
 * - Messages of one node on one channel, and of one sender to one peer, MUST arrive in the order they were given.
 * - Nothing a node gives MUST come back to it.
 * - `watch` MUST answer once, in line with `membersChanged`: what comes before the answer is in it, what is not in it comes
 *   behind it (a callback, because a promise would let something slip in between). From then on every message that another
 *   node publishes on that channel MUST arrive.
 * - When a node goes, the others MUST be told once (`nodeGone`), and nothing of it MUST arrive afterwards. One that was taken
 *   for gone and is not comes back under another id.
 * - A message that a watched channel owes and that cannot be had any more MUST be told (`lost`), before anything behind it.
 * - However many claims are made on however many nodes at one moment, no more MUST be given than there is room for, as long as
 *   the nodes reach each other.
 * - `nudge` resolves when every other node that is there has seen to it, or a second has passed. It MAY be lost: it only makes
 *   the others look sooner than they would.
 * - Announcements, answers and counts of connections of any size, and the largest legal message, MUST arrive whole, whatever the payload
 *   limit of the transport is.
 * - An engine between processes MUST survive a method of NodeEnd that throws: it reports the error, and the channel as `lost`.
 * - `send` reaches a peer where it is held (`hold`). Once it is known that it was handed to somebody, it MAY answer: the count
 *   is then of those who have answered.
 */

export interface Envelope {
  readonly from: string;
  readonly metadataJson: string | undefined;
  readonly dataJson: string;
}

/** What one node knows of one member of a channel through its own connections. */
export interface MemberState {
  readonly peerId: string;
  readonly metadataJson: string | undefined;
  /** When its newest connection there was made, Unix ms: the newest of all nodes gives the metadata. */
  readonly since: number;
  /** It has no roster yet: unless it is shown already, it is shown when it is announced again without this, or speaks. */
  readonly isArriving?: true;
}

export interface ChannelCount {
  readonly channel: string;
  readonly peerIds: readonly string[];
  readonly connections: number;
}

/** Room for one connection more, kept until `end`. */
export interface Claim {
  end(): void;
}

export type NodeId = string;

/** The answer of all nodes, or undefined: an incomplete answer would be taken for a complete one. */
export type Whole<T> = T | undefined | Promise<T | undefined>;

/** Could not find out: nothing was handed to anybody. */
export const UNAVAILABLE = -1;

export interface Engine {
  /** Called once, before anything else. */
  attach(node: NodeEnd): void;
  /** false: the others cannot be reached. */
  publish(app: string, channel: string, envelope: Envelope): boolean;
  /** This node has its first connection of a peer, or has lost its last. */
  hold(app: string, peerId: string): void;
  release(app: string, peerId: string): void;
  /**
   * How many connections of that peer on other nodes it was handed to, as far as is known; 0: none; or UNAVAILABLE.
   * `isHere`: this node hands it to somebody as well, so that 0 need not be certain.
   */
  send(app: string, to: string, envelope: Envelope, isHere: boolean): number | Promise<number>;
  /** This node has its first subscriber of a channel. `found` is told, at once or later, who is in it elsewhere. */
  watch(app: string, channel: string, found: (members: RemoteMembers) => void): void;
  /** This node has lost its last subscriber. */
  unwatch(app: string, channel: string): void;
  /** What this node's own connections make of the membership has changed. */
  announce(app: string, channel: string, joined: readonly MemberState[], left: readonly string[]): void;
  /** The peer may not connect to other nodes until then. Resolves when they know, or a second has passed. */
  block(app: string, peerId: string, untilMs: number): void | Promise<void>;
  /** Closes the peer's connections on other nodes: how many. */
  kick(app: string, peerId: string): number | Promise<number>;
  /** Channels that are active on other nodes, one entry for each node and channel; undefined: not every node has answered. */
  channels(app: string): Whole<readonly ChannelCount[]>;
  /** Members of one channel on other nodes, also those not announced yet; undefined: not every node has answered. */
  members(app: string, channel: string): Whole<RemoteMembers>;
  /** This node's connections of an application are so many now: the others must not be far behind. */
  counted(app: string, connections: number): void;
  /** Room for one more of the connections that an application may have on all nodes together; undefined: there is none. */
  claim(app: string, cap: number): Claim | undefined | Promise<Claim | undefined>;
  /** Connections of an application on other nodes, as far as is known now. */
  connections(app: string): number;
  /**
   * The others read at once what is new in what the nodes share besides. About an application: they write what they hold
   * back of it too, and its `connections` are then as they were when they did.
   */
  nudge(app?: string): Promise<void>;
  close(): Promise<void>;
}

export type RemoteMembers = ReadonlyMap<NodeId, readonly MemberState[]>;

/** What a node offers to the engine: the truth about its own connections, and delivery to them. */
export interface NodeEnd {
  readonly id: NodeId;
  deliver(app: string, channel: string, envelope: Envelope): void;
  /** How many connections it was handed to. */
  deliverTo(app: string, to: string, envelope: Envelope): number;
  membersChanged(
    node: NodeId,
    app: string,
    channel: string,
    joined: readonly MemberState[],
    left: readonly string[],
  ): void;
  /** The whole truth of one node about one channel, in place of whatever was known. */
  membersAre(node: NodeId, app: string, channel: string, members: readonly MemberState[]): void;
  /** Messages of that channel were lost on the way: whoever listens to it here must know. */
  lost(app: string, channel: string): void;
  nodeGone(node: NodeId): void;
  /** Another node asks for it: what all share is read now; and, about an application, what is held back is written. */
  nudged(app?: string): void | Promise<void>;
  /** The peer may not connect until then; those that it has are closed by a kick. */
  blocked(app: string, peerId: string, untilMs: number): void;
  /** Closes the peer's connections. */
  kicked(app: string, peerId: string): number;
  /** As announced. */
  localMembers(app: string, channel: string): readonly MemberState[];
  /** And those about to be. */
  localPeers(app: string, channel: string): readonly MemberState[];
  localChannels(app: string): readonly ChannelCount[];
  localConnections(app: string): number;
  /** Another node has told how many connections of an application it has. */
  connectionsChanged(app: string): void;
  /** Connections of every application that has any. */
  localCounts(): ReadonlyMap<string, number>;
}
