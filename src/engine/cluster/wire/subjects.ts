/**
 * Subjects of the node protocol. Names become one token each: base64url contains neither dots nor wildcards. The prefix separates
 * installations that share one transport.
 */
import type { SpaceId } from "../../../base/ids.ts";

/** The second token of each subject; part of the wire format. */
const KIND = { all: "all", node: "node", response: "answer", channel: "lane", peer: "peer", back: "back" } as const;

const encoded = (name: string): string => Buffer.from(name, "utf8").toString("base64url");

/** Where subjects are only compared, a name is its own token, unless it would be read as several or as a wildcard. */
const MARK = "=";
const named = (token: string): string =>
  token.startsWith(MARK) ? Buffer.from(token.slice(MARK.length), "base64url").toString("utf8") : token;
const plain = (name: string): string =>
  name.includes(".") || name === "*" || name.startsWith(MARK) ? MARK + encoded(name) : name;

/** One text without its parts: a template would keep each part alive beside the subject, for as long as it is subscribed to. */
const joined = (...tokens: readonly string[]): string => tokens.join(".");

export class Subjects {
  private readonly token: (name: string) => string;
  private readonly ownResponses: string;
  /** What the subjects of all channels begin with. */
  private readonly channels: string;

  constructor(
    private readonly prefix: string,
    self: string,
    /** Only processes of this build see them. */
    isPrivate = false,
  ) {
    this.token = isPrivate ? plain : encoded;
    this.channels = joined(prefix, KIND.channel, "");
    this.ownResponses = joined(prefix, KIND.response, encoded(self));
  }

  /** Received by every node: heartbeats, farewells, requests to all. */
  get all(): string {
    return `${this.prefix}.${KIND.all}`;
  }

  /** Requests to one node. */
  node(id: string): string {
    return `${this.prefix}.${KIND.node}.${encoded(id)}`;
  }

  /** Responses to one request of this node. */
  response(number: number): string {
    return `${this.ownResponses}.${number}`;
  }

  /** Responses to any request of this node. */
  get responses(): string {
    return `${this.ownResponses}.*`;
  }

  /** The sequences of all nodes on one channel. */
  channel(spaceId: SpaceId, channel: string): string {
    return joined(this.prefix, KIND.channel, this.token(spaceId), this.token(channel));
  }

  /** The channel that a subject of `channel` is of; undefined: it is of something else. Only where subjects are private. */
  channelOf(subject: string): readonly [spaceId: SpaceId, channel: string] | undefined {
    if (!subject.startsWith(this.channels)) return undefined;
    const space = this.channels.length;
    const dot = subject.indexOf(".", space);
    return [named(subject.slice(space, dot)) as SpaceId, named(subject.slice(dot + 1))];
  }

  /** Direct messages to one peer. */
  peer(spaceId: SpaceId, peerId: string): string {
    return joined(this.prefix, KIND.peer, this.token(spaceId), this.token(peerId));
  }

  /** For nodes that expect one peer back: it has connected. */
  returned(spaceId: SpaceId, peerId: string): string {
    return joined(this.prefix, KIND.back, this.token(spaceId), this.token(peerId));
  }
}

/** What the subjects of all peers of one application have in common. */
export const spaceOfPeer = (subject: string): string => subject.slice(0, subject.lastIndexOf("."));

/** The number of the request that a response subject belongs to. */
export const requestNumberOf = (subject: string): number => Number(subject.slice(subject.lastIndexOf(".") + 1));
