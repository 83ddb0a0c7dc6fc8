/** What the control plane answers, as far as the dashboard uses it. The OpenAPI document describes all of it. */
import type { ChannelRule, Retention, StreamRule } from "../../../src/protocol/patterns/channel-rules.ts";
import type { Storage } from "./room-types.ts";

export type Role = "admin" | "read";

export interface Session {
  readonly name: string;
  readonly role: Role;
  readonly expiresAt: number;
}

/** `next` is the `after` of the next page; null on the last one. */
export interface List<T> {
  readonly data: readonly T[];
  readonly next: string | null;
  /** false: a node has not responded, and its part is missing. */
  readonly isComplete?: boolean;
  /** How many there are in all, in lists that count them. */
  readonly total?: number;
  /** Only of recordings. */
  readonly storage?: Storage;
}

export interface App {
  readonly _id: string;
  readonly name: string;
  readonly created: number;
  readonly plan: Plan;
  readonly retentionDays: number | null;
  readonly consolePayloads: boolean;
  readonly channelRules: readonly ChannelRule[];
  readonly maxHistoryBytes: number;
  readonly maxStreamBytes: number;
  readonly allowedFrameOrigins: readonly string[];
  readonly meetingRetentionDays: number;
  readonly maxRecordingBytesTotal: number;
  /** Previous secret keys in their grace period. */
  readonly previousSecrets: readonly { readonly endsAt: number }[];
}

export interface Plan {
  readonly name: string;
  readonly maxConcurrentConnections: number | null;
  readonly maxMessagesPerPeriod: number | null;
}

export interface Key {
  readonly keyId: string;
  readonly app: string;
  readonly type: "publishable" | "secret";
  readonly label: string | null;
  readonly channelPatterns: readonly string[];
  readonly actions: readonly string[];
  readonly allowedOrigins?: readonly string[];
  readonly turn: boolean;
  readonly created: number;
  readonly rotated: number | null;
  readonly revoked: number | null;
  readonly previousSecrets?: readonly { readonly endsAt: number }[];
  /** Only in the answer for one key. */
  readonly connections?: number;
  /** Only in the answers to create and rotate. */
  readonly secret?: string;
}

export interface NodeState {
  readonly nodeId: string;
  readonly worker?: number;
  readonly version: string;
  readonly startedAt: number;
  readonly connections: number;
  readonly channels: number;
  /** Absent: a node of an earlier version. */
  readonly messagesPerSec?: number;
  readonly cpu: number;
  readonly rssBytes: number;
  readonly loopLagMs: number;
  readonly nats: "ok" | "away" | null;
  readonly store: "ok" | "away";
}

export const RANGES = ["15m", "3h", "24h"] as const;
export type Range = (typeof RANGES)[number];
export type Metric =
  | "connections"
  | "connects"
  | "refusals"
  | "messages"
  | "deliveries"
  | "bytesOut"
  | "p50Ms"
  | "p99Ms"
  | "errors";

export interface Series {
  readonly metric: Metric;
  readonly stepSec: number;
  readonly nodes: readonly {
    readonly nodeId: string;
    /** Unix seconds of the first value. */
    readonly start: number;
    readonly values: readonly (number | null)[];
    /** Only for refusals: values by code. */
    readonly byReason?: Readonly<Record<string, readonly (number | null)[]>>;
  }[];
  readonly isComplete?: boolean;
}

/** What came with a key within a range. */
export interface KeyTraffic {
  readonly keyId: string;
  /** Open now. */
  readonly connections: number;
  readonly connects: number;
  readonly refusals: number;
  readonly messages: number;
  readonly errors: number;
  /** By step, the newest last. */
  readonly messagesPerSec: readonly (number | null)[];
}

export interface KeysTraffic extends List<KeyTraffic> {
  readonly stepSec: number;
  readonly start: number;
}

export interface ActiveChannel {
  readonly channel: string;
  readonly peers: number;
  readonly connections: number;
  readonly ratePerSec: number;
  readonly bytesPerSec: number;
  /** What is kept; null: nothing. */
  readonly history: Retention | null;
  /** The limits of a stream of this name; null: it cannot be one. Absent from nodes of earlier versions. */
  readonly stream?: StreamRule | null;
}

export interface ChannelMember {
  readonly peerId: string;
  readonly metadata?: object;
  readonly state?: object;
  /** Its connection was lost, and its grace has not ended. */
  readonly lost?: boolean;
  readonly connections: number;
}

export interface ChannelDetail extends ActiveChannel {
  readonly members: readonly ChannelMember[];
  readonly next: string | null;
}

/** Newest first with `before` or without a position. */
export interface HistoryPage {
  readonly messages: readonly HistoryMessage[];
  readonly more: boolean;
}

export interface HistoryMessage {
  readonly pos: string;
  readonly from: string;
  /** Absent unless the application allows it. */
  readonly data?: unknown;
  /** `data` is bytes, as text. */
  readonly encoding?: "base64";
  readonly bytes: number;
  /** Unix ms. */
  readonly time: number;
  readonly id?: string;
}

/** `index` is its place in the list, from 0. */
export interface MatchedRule extends ChannelRule {
  readonly index: number;
}

export interface ChannelMatch {
  readonly rule: MatchedRule | null;
  readonly keys: readonly Pick<Key, "keyId" | "label" | "type" | "actions">[];
}

export interface ListedPeer {
  readonly peerId: string;
  readonly connections: number;
  readonly channels: number;
  readonly since: number;
  /** What people call it, if it says so. */
  readonly name?: string;
  readonly lastMessage?: number;
}

export interface Block {
  readonly until: number;
  /** Who blocked it, if that is known. */
  readonly by?: string;
}

export interface BlockedPeer extends Block {
  readonly peerId: string;
}

export interface PeerConnection {
  readonly connectionId: string;
  readonly nodeId: string;
  readonly keyId: string;
  readonly address: string;
  readonly since: number;
  readonly subscriptions: readonly string[];
  readonly framesPerSec: number;
}

export interface RecordedEvent {
  /** Unix milliseconds. */
  readonly at: number;
  readonly kind: string;
  readonly connectionId?: string;
  readonly keyId?: string;
  readonly channel?: string;
  readonly code?: string | number;
  readonly count?: number;
}

export interface PeerDetail {
  readonly peerId: string;
  /** Connections on all nodes; `connections` has the newest. */
  readonly total: number;
  readonly isComplete?: boolean;
  readonly connections: readonly PeerConnection[];
  readonly recent: readonly RecordedEvent[];
  readonly name?: string;
  readonly lastMessage?: number;
  /** Absent while it is connected, or if no node remembers. */
  readonly offlineSince?: number;
  readonly block: Block | null;
}

export interface TailEvent {
  /** Unix milliseconds. */
  readonly at: number;
  readonly kind: string;
  readonly app?: string;
  readonly channel?: string;
  readonly peerId?: string;
  readonly to?: string;
  readonly keyId?: string;
  readonly connectionId?: string;
  readonly nodeId?: string;
  readonly address?: string;
  /** The web page that a refused connect came from. */
  readonly origin?: string;
  readonly change?: string;
  readonly code?: string | number;
  readonly bytes?: number;
  readonly data?: unknown;
  /** `data` is a text with the beginning of a long payload. */
  readonly truncated?: true;
  /** For `dropped`: how many events are missing. */
  readonly count?: number;
}

/** What was refused, as often as it happened. Times are in Unix seconds. */
export interface Refusal {
  /** A connect, or a frame. */
  readonly kind: "refuse" | "error";
  readonly code: string;
  readonly count: number;
  readonly first: number;
  readonly last: number;
  /** Absent: the credentials are unknown. */
  readonly app?: string;
  /** Absent also if the application is deleted. */
  readonly appName?: string;
  readonly keyId?: string;
  readonly peerId?: string;
  /** What was sent instead of a known key or token; only without `app`. */
  readonly offered?: string;
  readonly channel?: string;
  readonly origin?: string;
  readonly address?: string;
  readonly nodeId: string;
}

export interface Check {
  readonly name: string;
  readonly result: "passes" | "refuses" | "not reached";
  readonly why?: string;
  readonly hint?: string;
}

export interface Explanation {
  readonly checks: readonly Check[];
  readonly allowed: boolean;
}

export interface AuditEntry {
  readonly _id: string;
  readonly at: number;
  readonly who: string;
  readonly what: string;
  readonly on: string;
  /** Id of the application. */
  readonly app: string | null;
  /** null for most entries of a deleted application. */
  readonly appName: string | null;
  /** null for the command line. */
  readonly address: string | null;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
}

export interface OperatorRow {
  readonly _id: string;
  readonly name: string;
  readonly role: Role;
  readonly created: number;
  readonly lastUsed: number | null;
  /** Only in the answer to create. */
  readonly token?: string;
}

export interface SettingRow {
  readonly name: string;
  /** Secrets are `(hidden)`. */
  readonly value: string;
  readonly source: "flag" | "environment" | "file" | "default";
  readonly default: string;
  readonly meaning: string;
}
