/** The model: keys, who may do what, who is connected and holds what. Small enough to be seen to be right. */
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

/** A channel that a connection has asked for and not given up. */
export interface Held {
  readonly channel: string;
  /** Words before this one were spoken before it was asked for. */
  readonly afterWord: number;
  wantsMetadata: boolean;
  /** It sees presence and is shown. */
  presence: boolean;
  acked: boolean;
  /** Between these two it was acked. */
  ackedAfterMs: number;
  ackedMs: number;
  /** Who it has been told is there, itself left out; "awaited" between ack and roster. */
  picture: Picture | "awaited" | undefined;
  /** When its last roster was read. */
  rosterMs: number;
  /** At its ack the others had been told of this peer already: no newcomer. */
  wasKnown: boolean;
  /** An edit of the key has taken it away. */
  isTaken: boolean;
  /** The number of the ping behind the last ack, whose pong opens the roster. */
  gate: number;
}

/** By peer id: the metadata as JSON, "" for none. */
export type Picture = Map<string, string>;

export interface Request {
  readonly expect: "ack" | "sent" | string;
  /** Of a subscribe. */
  readonly held?: Held;
  /** Of a send. */
  readonly word?: number;
  /** Of a send: the connections it must reach, unless they end before. */
  readonly targets?: readonly Line[];
}

/** One connection. */
export interface Line {
  readonly number: number;
  readonly app: string;
  readonly peerId: string;
  readonly node: number;
  readonly key: KeyState;
  readonly secret: SecretState | undefined;
  readonly expiresAtMs: number;
  readonly patterns: readonly string[] | undefined;
  readonly permissions: readonly Action[] | undefined;
  /** peerMetadata as JSON, "" for none. */
  readonly metadata: string;
  readonly socket: FakeSocket;
  isOpen: boolean;
  /** How many pings have followed acks; the highest of them that was answered. */
  gates: number;
  ponged: number;
  /** Frames read so far. */
  read: number;
  requests: number;
  readonly held: Map<string, Held>;
  readonly unanswered: Map<string, Request>;
  /** Errors that answer no request and must have come by the end of the step. */
  errors: string[];
  readonly heard: Set<number>;
  /** Words that must still come, with their channel; "" for direct ones. */
  readonly owed: Map<number, string>;
  /** By sender and lane: the last word heard. */
  readonly lastWord: Map<string, number>;
  /** The code it must be closed with in this step. */
  mustClose: number | undefined;
  /** Since when it takes nothing from its socket; undefined: it does. */
  stalledMs: number | undefined;
  /** When it last began to take again what was written to it. */
  drainedMs: number;
}

/** Something that was said. */
export interface Word {
  readonly line: Line;
  readonly channel: string | undefined;
  readonly to: string | undefined;
  /** The speaker's connection was shown in that channel. */
  readonly wasMember: boolean;
  readonly atMs: number;
}

/** Patterns here are `**`, `x/*` or a name. */
function matches(pattern: string, channel: string): boolean {
  if (pattern === "**") return true;
  return pattern.endsWith("/*") ? channel.startsWith(pattern.slice(0, -1)) : pattern === channel;
}

/** Whether a pattern of a token lies within a key's: of these patterns, only one that another contains alone. */
const isWithin = (pattern: string, patterns: readonly string[]): boolean =>
  patterns.some((of) => of === "**" || of === pattern || (pattern !== "**" && matches(of, pattern)));

export const exceeds = (
  key: KeyState,
  patterns: readonly string[] | undefined,
  permissions: readonly Action[] | undefined,
): boolean =>
  (patterns ?? []).some((pattern) => !isWithin(pattern, key.patterns)) ||
  (permissions ?? []).some((action) => !key.actions.includes(action));

export const may = ({ key, permissions }: Line, action: Action): boolean =>
  key.actions.includes(action) && (permissions === undefined || permissions.includes(action));

export const covers = ({ key, patterns }: Line, channel: string): boolean =>
  key.patterns.some((pattern) => matches(pattern, channel)) &&
  (patterns === undefined || patterns.some((pattern) => matches(pattern, channel)));

/** Unix ms from which nothing it says counts any more. */
export const deadlineOf = ({ expiresAtMs, secret }: Line): number =>
  Math.min(expiresAtMs - 250, secret?.endsMs ?? Number.POSITIVE_INFINITY);

export const isShown = (line: Line, channel: string): boolean => {
  const held = line.held.get(channel);
  return line.isOpen && held?.acked === true && held.presence;
};

/** Who is in a channel, with the metadata of its newest connection there. Lines are in the order they were made. */
export function membersOf(lines: readonly Line[], app: string, channel: string): Picture {
  const members: Picture = new Map();
  for (const line of lines) if (line.app === app && isShown(line, channel)) members.set(line.peerId, line.metadata);
  return members;
}

/** It holds a channel no more, and what was said there need not come. */
export function giveUp(line: Line, channel: string): void {
  line.held.delete(channel);
  for (const [number, of] of line.owed) if (of === channel) line.owed.delete(number);
}
