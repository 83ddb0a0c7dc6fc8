/** The model: keys, connections, subscriptions and messages as they should be. Small enough to be checked by reading. */
import type { Action } from "../../src/protocol/actions.ts";
import type { FakeSocket } from "../../src/realtime/testing/fake-socket.ts";

export interface SecretState {
  readonly seq: number;
  endsMs: number | null;
}

export interface KeyState {
  readonly id: string;
  readonly app: string;
  readonly type: "secret" | "publishable";
  patterns: readonly string[];
  actions: readonly Action[];
  revoked: boolean;
  /** Newest first. */
  secrets: SecretState[];
}

/** A channel that a connection has subscribed to, acked or not. */
export interface Subscription {
  readonly channel: string;
  /** Messages up to this number were sent before the subscribe. */
  readonly afterMessage: number;
  wantsMetadata: boolean;
  /** It has the presence action: it sees presence and is shown. */
  presence: boolean;
  /** The key has got the action while the subscribe may have waited for messages to be committed. */
  mayGainPresence?: boolean;
  acked: boolean;
  /** It was acked between these two times. */
  ackedAfterMs: number;
  ackedMs: number;
  /** The other members it was shown; "awaited" between ack and roster. */
  roster: Roster | "awaited" | undefined;
  /** When its last roster was read. */
  rosterMs: number;
  /** An edit of the key has ended it. */
  isRevoked: boolean;
  /** The number of the ping behind the last ack, for whose pong the roster waits. */
  ping: number;
}

/** By peer id: the metadata as JSON, "" for none. */
export type Roster = Map<string, string>;

export interface Request {
  readonly expect: "ack" | "sent" | string;
  /** For a subscribe. */
  readonly subscription?: Subscription;
  /** For a publish with history and a send: the number of its message. */
  readonly message?: number;
  /** For a publish with history: its channel. */
  readonly channel?: string;
  /** For a publish under an id that was used before: the number of the first message. */
  readonly first?: number;
  /** For a subscribe: from where it is to begin. */
  readonly start?: Start | undefined;
  /** For a subscribe: it asks for states. */
  readonly wantsStates?: boolean;
  /** For an unsubscribe: the channel. */
  readonly leaves?: string;
  /** For an unsubscribe: what it ends. */
  readonly ends?: Subscription | undefined;
  /** For a state: its JSON. */
  readonly state?: string;
  /** For a publish without history that waits for one with history: who must receive it once it is acked. */
  readonly receivers?: readonly { readonly connection: Connection; readonly subscription: Subscription }[];
  /** For a send: it may wait, because its receiver is held or an earlier message is not committed. */
  readonly mayWait?: boolean;
  /** When it was sent, where that matters. */
  readonly sentMs?: number;
  /** For a send: the connections it must reach, unless they end before. */
  readonly targets?: readonly Connection[];
}

/** From where a subscription to a channel with history asks to begin. */
export type Start =
  | { readonly kind: "recover"; readonly position: string; readonly connection: string | undefined }
  | { readonly kind: "rewind"; readonly count: number };

export interface Connection {
  readonly number: number;
  /** As `welcome` names it. */
  readonly id: string;
  readonly app: string;
  readonly peerId: string;
  readonly node: number;
  // Until its token is renewed.
  key: KeyState;
  secret: SecretState | undefined;
  expiresAtMs: number;
  patterns: readonly string[] | undefined;
  permissions: readonly Action[] | undefined;
  /** peerMetadata as JSON, "" for none. */
  metadata: string;
  /** Every metadata that it has had. */
  readonly shownAs: Set<string>;
  readonly socket: FakeSocket;
  isOpen: boolean;
  /** The number of pings that have followed acks, and the highest of them that was answered. */
  pings: number;
  ponged: number;
  /** Frames read so far. */
  read: number;
  requests: number;
  readonly subscriptions: Map<string, Subscription>;
  readonly unanswered: Map<string, Request>;
  /** Errors that answer no request and must have come by the end of the step. */
  errors: string[];
  readonly received: Set<number>;
  /** Messages that must still come, with their channel; "" for direct ones. */
  readonly due: Map<number, string>;
  /** By sender and sequence: the last message received. Between nodes, each channel is a sequence of its own. */
  readonly lastMessage: Map<string, number>;
  /** The code it must be closed with in this step. */
  mustClose: number | undefined;
  /** Since when it reads nothing; undefined: it reads. */
  stalledMs: number | undefined;
  /** When it last began to read again. */
  drainedMs: number;
}

export interface Message {
  readonly connection: Connection;
  readonly channel: string | undefined;
  readonly to: string | undefined;
  /** That of the sender when it sent the message. */
  readonly metadata: string;
  /** The sender was a member of that channel. */
  readonly wasMember: boolean;
  readonly atMs: number;
  /** The `id` it was published or sent with. */
  readonly id?: string | undefined;
  /** With history: the subscription that made the sender a member of the channel. */
  readonly memberAs?: Subscription | undefined;
  /** It waits until earlier messages of its connection are committed. */
  readonly isWaiting?: boolean;
  /** It was answered with `backend_error`: it may come late, or never. */
  hasFailed?: boolean;
}

/** Patterns here are `**`, `x/*` or a name. */
function matches(pattern: string, channel: string): boolean {
  if (pattern === "**") return true;
  return pattern.endsWith("/*") ? channel.startsWith(pattern.slice(0, -1)) : pattern === channel;
}

/** Whether a pattern of a token is contained in one of a key's patterns. */
const isWithin = (pattern: string, patterns: readonly string[]): boolean =>
  patterns.some((of) => of === "**" || of === pattern || (pattern !== "**" && matches(of, pattern)));

export const exceeds = (
  key: KeyState,
  patterns: readonly string[] | undefined,
  permissions: readonly Action[] | undefined,
): boolean =>
  (patterns ?? []).some((pattern) => !isWithin(pattern, key.patterns)) ||
  (permissions ?? []).some((action) => !key.actions.includes(action));

export const may = ({ key, permissions }: Connection, action: Action): boolean =>
  key.actions.includes(action) && (permissions === undefined || permissions.includes(action));

export const covers = ({ key, patterns }: Connection, channel: string): boolean =>
  key.patterns.some((pattern) => matches(pattern, channel)) &&
  (patterns === undefined || patterns.some((pattern) => matches(pattern, channel)));

/** Unix ms from which its frames have no effect. */
export const deadlineOf = ({ expiresAtMs, secret }: Connection): number =>
  Math.min(expiresAtMs - 250, secret?.endsMs ?? Number.POSITIVE_INFINITY);

export const isShown = (connection: Connection, channel: string): boolean => {
  const subscription = connection.subscriptions.get(channel);
  return connection.isOpen && subscription?.acked === true && subscription.presence;
};

/** It has unsubscribed, from this channel or any, and is not answered yet: what comes meanwhile does not count. */
export function isLeaving(connection: Connection, channel?: string): boolean {
  for (const { leaves } of connection.unanswered.values())
    if (leaves !== undefined && (channel === undefined || leaves === channel)) return true;
  return false;
}

/** It has subscribed to this channel, for the first time or again, and is not answered yet. */
export function isAsking(connection: Connection, channel: string): boolean {
  for (const { subscription } of connection.unanswered.values()) if (subscription?.channel === channel) return true;
  return false;
}

/**
 * The members of a channel, with the metadata of their newest connection there. Connections are in the order they were made.
 * `message`: only those that had subscribed when that message was sent.
 */
export function membersOf(
  connections: readonly Connection[],
  app: string,
  channel: string,
  message = Number.POSITIVE_INFINITY,
): Roster {
  const members: Roster = new Map();
  for (const connection of connections) {
    if (connection.app !== app || !isShown(connection, channel)) continue;
    const { afterMessage = 0 } = connection.subscriptions.get(channel) ?? {};
    if (afterMessage < message) members.set(connection.peerId, connection.metadata);
  }
  return members;
}

/** It is not subscribed any more, and messages of that channel need not come. */
export function endSubscription(connection: Connection, channel: string): void {
  connection.subscriptions.delete(channel);
  for (const [number, of] of connection.due) if (of === channel) connection.due.delete(number);
}
