/** What nodes say to each other. encode.ts writes these messages, decode.ts reads them. */
import type { AppId, SpaceId } from "../../../base/ids.ts";
import type { ChannelsPage, Envelope, FoundChannels, MemberState } from "../../engine.ts";

/** Increased when nodes of two versions could not understand each other; they then ignore each other, and say so (other-wire.ts). */
export const VERSION = 2;

/** Place of an item in the sequence of one node on one channel. */
export interface SequencePlace {
  readonly node: string;
  readonly app: SpaceId;
  readonly channel: string;
  /** A sequence whose end was forgotten starts again with sequence number 1 in a later epoch. */
  readonly epoch: number;
  /** Sequence number. */
  readonly n: number;
}

export interface MembersChange {
  readonly joined: readonly MemberState[];
  readonly left: readonly string[];
}

export type SequenceItem =
  | { readonly kind: "message"; readonly place: SequencePlace; readonly envelope: Envelope }
  | { readonly kind: "members"; readonly place: SequencePlace; readonly change: MembersChange }
  /** Carries nothing new: it repeats the last sequence number, so that a node notices when the last item was lost. */
  | { readonly kind: "tail"; readonly place: SequencePlace };

export interface Heartbeat {
  readonly kind: "heartbeat";
  readonly node: string;
  /** By application. */
  readonly connections: ReadonlyMap<AppId, number>;
  /** Nodes whose heartbeats it receives. Empty if `list` has changes. */
  readonly receivesFrom: readonly string[];
  /** It was disconnected until now: what it knows of other nodes, and they of it, may be out of date. */
  readonly isReconnected: boolean;
  /** With very many applications a heartbeat has several parts, from 0. Only the first carries `receivesFrom` and `isReconnected`. */
  readonly part: number;
  readonly parts: number;
  /** The node's own clock, in whole milliseconds since any moment. undefined: it is of an earlier version. */
  readonly clockMs?: number | undefined;
  /** Written for nodes of other wires, and read by no other. */
  readonly about?: AboutNode | undefined;
  /** undefined: it is of an earlier version, or not the first part. */
  readonly list?: ListNumber | undefined;
}

/** How `receivesFrom` changes. Without changes, `receivesFrom` is whole. */
export interface ListNumber {
  /** Number of the last change. */
  readonly number: number;
  /** Since the heartbeat before. Both are empty if there is no change. */
  readonly added?: readonly string[] | undefined;
  readonly removed?: readonly string[] | undefined;
}

/** What operators know a node by. */
export interface AboutNode {
  /** PARLEY_NODE_ID. */
  readonly name: string;
  /** Of Parley. */
  readonly version: string;
}

/** The node is closing. */
export interface Farewell {
  readonly kind: "farewell";
  readonly node: string;
}

/** The connections of one application, sent between two heartbeats. */
export interface ConnectionCount {
  readonly kind: "count";
  readonly node: string;
  readonly app: AppId;
  readonly connections: number;
}

export type NodeRequest =
  /** The state of the node's sequences on these channels, with its members. */
  | { readonly kind: "sequences"; readonly channels: readonly (readonly [spaceId: SpaceId, channel: string])[] }
  /** The items from a place up to sequence number `to`. */
  | { readonly kind: "replay"; readonly from: SequencePlace; readonly to: number }
  /** `page` is undefined if a node of an earlier version asks; one that is asked ignores it, and returns all channels. */
  | { readonly kind: "channels"; readonly app: SpaceId; readonly page?: ChannelsPage | undefined }
  | { readonly kind: "members"; readonly app: SpaceId; readonly channel: string }
  | { readonly kind: "block"; readonly app: AppId; readonly peerId: string; readonly untilMs: number }
  | { readonly kind: "kick"; readonly app: SpaceId; readonly peerId: string }
  /** How many connections an application has, and claims older than the claim `number` of the requesting node. */
  | { readonly kind: "capacity"; readonly app: AppId; readonly number: number }
  /** Read shared state now; the response has the connections of the application. Nodes of earlier versions do not read `withdrawn`. */
  | { readonly kind: "invalidate"; readonly app?: AppId | undefined; readonly withdrawn?: string | undefined }
  /** The node's next heartbeat is for the asking node, and has the whole list of nodes that it receives. Only nodes that send `list` understand it. */
  | { readonly kind: "list" }
  /** A direct message whose subject seems to have no subscriber: the subscription may be too new for the servers to know. */
  /**
   * `nodes`: the names of the nodes whose answers are awaited. Another one must not deliver: after a partition a node can receive what
   * it is not yet asked for, and its sender would get `peer_not_found`. undefined: asked by an older version.
   */
  | { readonly kind: "deliver"; readonly text: string; readonly nodes?: readonly string[] | undefined }
  /** A request of a part of the node to its counterparts (requests/node-texts.ts). */
  | { readonly kind: "text"; readonly text: string };

export interface RequestMessage {
  readonly kind: "request";
  readonly node: string;
  readonly request: NodeRequest;
}

/** A text from a part of one node to its counterpart on this one (requests/node-texts.ts). */
export interface Notification {
  readonly kind: "notification";
  readonly node: string;
  readonly text: string;
}

/** The state of one sequence of the responding node. Epoch 0: it has no sequence on that channel, or does not remember its end. */
export interface SequenceState {
  readonly app: SpaceId;
  readonly channel: string;
  readonly epoch: number;
  /** The last sequence number. */
  readonly n: number;
  readonly members: readonly MemberState[];
  /** The node has published no message on the channel for this time. undefined: it is of an earlier version. */
  readonly idleMs?: number | undefined;
  /** The same of earlier epochs on the channel, whose ends it does not remember. */
  readonly earlierIdleMs?: number | undefined;
  /** The node's own clock, as in its heartbeats. */
  readonly clockMs?: number | undefined;
}

/** Nodes of earlier versions report epoch 0 for a sequence that was idle for this time, and do not report `idleMs`. */
export const EARLIER_VERSION_FORGETS_AFTER_MS = 60_000;

export type NodeResponse =
  | { readonly kind: "sequences"; readonly sequences: readonly SequenceState[] }
  /** Items as they were sent; undefined: they are no longer kept. */
  | { readonly kind: "replay"; readonly items: readonly string[] | undefined }
  | ({ readonly kind: "channels" } & FoundChannels)
  | { readonly kind: "members"; readonly members: readonly MemberState[] }
  | { readonly kind: "block" }
  | { readonly kind: "kick"; readonly closed: number }
  | { readonly kind: "capacity"; readonly taken: number }
  | { readonly kind: "invalidate"; readonly connections: number }
  /** `isLate` and `isDeferred` as in DeliveryCount. */
  | { readonly kind: "deliver"; readonly count: number; readonly isLate?: boolean; readonly isDeferred?: boolean }
  /** The text, or in a part a piece of it. */
  | { readonly kind: "text"; readonly text: string };

/** A long response has several parts, from 0. */
export interface ResponsePart {
  readonly node: string;
  readonly part: number;
  readonly parts: number;
  readonly response: NodeResponse;
}

export interface DirectMessage {
  readonly node: string;
  /** Higher than the number of any earlier direct message of the same node. */
  readonly number: number;
  readonly app: SpaceId;
  readonly to: string;
  readonly envelope: Envelope;
  /**
   * What the node has sent to the peer before is decided: it need not wait for an earlier one that was answered with `isDeferred`. Nodes of
   * earlier versions do not say it: of them, those that await a roster are tried again in their order.
   */
  readonly isNext?: boolean | undefined;
  /** If it is not the next one: the number of the oldest that may be sent again. All before that are decided. */
  readonly oldest?: number | undefined;
}

/** A peer has connected to a node, for those that expect it back. */
export interface PeerReturned {
  readonly node: string;
  readonly app: SpaceId;
  readonly peerId: string;
}

/** The receipt of a direct message: to how many connections a node has delivered it. */
export interface DeliveryCount {
  readonly node: string;
  readonly count: number;
  /** The node has no connection of the peer, but expects it back. Nodes of earlier versions read only the count, which is 0. */
  readonly isDeferred?: boolean;
  /** The node has delivered a newer message of the same node, or this one, and does not deliver it any more. The count is 0. */
  readonly isLate?: boolean;
}
