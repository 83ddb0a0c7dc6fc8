/**
 * What travels between nodes, and how it is written: a text, one line of JSON, then, where there is one, what a client or a
 * backend said, byte for byte. decode.ts reads it.
 */
import type { ChannelCount, Envelope, MemberState } from "../engine.ts";
import { chunksOf } from "./payload.ts";

/** Bumped when nodes of two versions could not understand each other; they then do not hear each other at all. */
export const VERSION = 2;

/** Its place in the lane of one node on one channel. Lanes are numbered too: one that was forgotten begins anew. */
export interface Place {
  readonly node: string;
  readonly app: string;
  readonly channel: string;
  readonly epoch: number;
  readonly n: number;
}

export interface Change {
  readonly joined: readonly MemberState[];
  readonly left: readonly string[];
}

export type LaneItem =
  | { readonly kind: "message"; readonly place: Place; readonly envelope: Envelope }
  | { readonly kind: "members"; readonly place: Place; readonly change: Change }
  /** Nothing new: `n` is the last that was given. */
  | { readonly kind: "tail"; readonly place: Place };

export interface Beat {
  readonly kind: "beat";
  readonly node: string;
  /** By application. */
  readonly connections: ReadonlyMap<string, number>;
  /** Nodes whose beats it hears. */
  readonly hears: readonly string[];
  /** It was cut off: what it knows of others, and they of it, may be old. */
  readonly isBack: boolean;
  /** With very many applications a heartbeat has several parts, from 0. Only the first carries `hears` and `isBack`. */
  readonly part: number;
  readonly parts: number;
}

export interface Farewell {
  readonly kind: "farewell";
  readonly node: string;
}

/** One application's connections, between two beats. */
export interface Count {
  readonly kind: "count";
  readonly node: string;
  readonly app: string;
  readonly connections: number;
}

/** What a node may be asked. */
export type Question =
  | { readonly what: "who"; readonly channels: readonly (readonly [app: string, channel: string])[] }
  | { readonly what: "again"; readonly place: Place; readonly to: number }
  | { readonly what: "channels"; readonly app: string }
  | { readonly what: "members"; readonly app: string; readonly channel: string }
  | { readonly what: "block"; readonly app: string; readonly peerId: string; readonly untilMs: number }
  | { readonly what: "kick"; readonly app: string; readonly peerId: string }
  /** How many connections, and claims older than number `n` of whoever asks. */
  | { readonly what: "room"; readonly app: string; readonly n: number }
  /** See to what all share; and how many connections that application has. */
  | { readonly what: "look"; readonly app?: string | undefined }
  /** A direct message whose inbox nobody seems to have: it may be younger than what the servers know. */
  | { readonly what: "hand"; readonly text: string };

export interface Asked {
  readonly kind: "question";
  readonly node: string;
  readonly question: Question;
}

/** The state of one lane of the node that answers. */
export interface LaneState {
  readonly app: string;
  readonly channel: string;
  readonly epoch: number;
  readonly n: number;
  readonly members: readonly MemberState[];
}

export type Answer =
  | { readonly what: "who"; readonly lanes: readonly LaneState[] }
  /** Items as they were sent; undefined: they are not kept any more. */
  | { readonly what: "again"; readonly items: readonly string[] | undefined }
  | { readonly what: "channels"; readonly counts: readonly ChannelCount[] }
  | { readonly what: "members"; readonly members: readonly MemberState[] }
  | { readonly what: "block" }
  | { readonly what: "kick"; readonly closed: number }
  | { readonly what: "room"; readonly taken: number }
  | { readonly what: "look"; readonly connections: number }
  /** `isLate`: it has come behind a newer one, and was handed to nobody. */
  | { readonly what: "hand"; readonly count: number; readonly isLate?: boolean };

/** Answers may be longer than a payload: `part` of `parts`, from 0. */
export interface Answered {
  readonly node: string;
  readonly part: number;
  readonly parts: number;
  readonly answer: Answer;
}

export interface Direct {
  readonly node: string;
  /** Higher than that of any before it from the same node. */
  readonly number: number;
  readonly app: string;
  readonly to: string;
  readonly envelope: Envelope;
}

/** Writing */

const line = (kind: string, ...fields: readonly unknown[]): string => JSON.stringify([VERSION, kind, ...fields]);

const withWords = (head: string, { metadataJson, dataJson }: Envelope): string =>
  `${head}\n${metadataJson ?? ""}${dataJson}`;

const metadataChars = ({ metadataJson }: Envelope): number => metadataJson?.length ?? -1;

export const message = ({ node, app, channel, epoch, n }: Place, envelope: Envelope): string =>
  withWords(line("message", node, app, channel, epoch, n, envelope.from, metadataChars(envelope)), envelope);

export const members = ({ node, app, channel, epoch, n }: Place, { joined, left }: Change): string =>
  line("members", node, app, channel, epoch, n, joined.map(stateOut), left);

/** Splits a change into items of the lane: each can be decoded by itself and has a sequence number of its own. */
export const changesOf = ({ joined, left }: Change): Change[] =>
  chunksOf([...joined, ...left]).map((some) => ({
    joined: some.filter((one) => typeof one !== "string"),
    left: some.filter((one) => typeof one === "string"),
  }));

export const tail = ({ node, app, channel, epoch, n }: Place): string => line("tail", node, app, channel, epoch, n);

export const beat = (one: Omit<Beat, "kind">): string =>
  line("beat", one.node, [...one.connections], one.hears, one.isBack, one.part, one.parts);

export const farewell = (node: string): string => line("farewell", node);

export const count = (node: string, app: string, connections: number): string => line("count", node, app, connections);

export const question = (node: string, asked: Question): string => line("question", node, asked);

export const answered = ({ node, part, parts, answer }: Answered): string =>
  line("answer", node, part, parts, { ...answer, ...(answer.what === "again" && { items: answer.items ?? null }) });

export const direct = ({ node, number, app, to, envelope }: Direct): string =>
  withWords(line("direct", node, number, app, to, envelope.from, metadataChars(envelope)), envelope);

/** To whoever sent a direct message: how many connections it was handed to. */
export const handed = (node: string, count: number): string => line("handed", node, count);

function stateOut({ peerId, since, metadataJson, isArriving }: MemberState): unknown[] {
  if (isArriving) return [peerId, since, metadataJson ?? null, isArriving];
  return metadataJson === undefined ? [peerId, since] : [peerId, since, metadataJson];
}
