/**
 * Subjects of the node protocol. Names become one token each: base64url contains neither dots nor wildcards. The prefix separates
 * installations that share one transport.
 */
import type { SpaceId } from "../../../base/ids.ts";

/** The second token of each subject; part of the wire format. */
const KIND = { all: "all", node: "node", response: "answer", channel: "lane", peer: "peer", back: "back" } as const;

const token = (name: string): string => Buffer.from(name, "utf8").toString("base64url");

/** One text without its parts: a template would keep each part alive beside the subject, for as long as it is subscribed to. */
const joined = (...tokens: readonly string[]): string => tokens.join(".");

export class Subjects {
  constructor(
    private readonly prefix: string,
    private readonly self: string,
  ) {}

  /** Received by every node: heartbeats, farewells, requests to all. */
  get all(): string {
    return `${this.prefix}.${KIND.all}`;
  }

  /** Requests to one node. */
  node(id: string): string {
    return `${this.prefix}.${KIND.node}.${token(id)}`;
  }

  /** Responses to one request of this node. */
  response(number: number): string {
    return `${this.responsesTo(this.self)}.${number}`;
  }

  /** Responses to any request of this node. */
  get responses(): string {
    return `${this.responsesTo(this.self)}.*`;
  }

  /** The sequences of all nodes on one channel. */
  channel(spaceId: SpaceId, channel: string): string {
    return joined(this.prefix, KIND.channel, token(spaceId), token(channel));
  }

  /** Direct messages to one peer. */
  peer(spaceId: SpaceId, peerId: string): string {
    return joined(this.prefix, KIND.peer, token(spaceId), token(peerId));
  }

  /** For nodes that expect one peer back: it has connected. */
  returned(spaceId: SpaceId, peerId: string): string {
    return joined(this.prefix, KIND.back, token(spaceId), token(peerId));
  }

  private responsesTo(id: string): string {
    return `${this.prefix}.${KIND.response}.${token(id)}`;
  }
}

/** What the subjects of all peers of one application have in common. */
export const spaceOfPeer = (subject: string): string => subject.slice(0, subject.lastIndexOf("."));

/** The number of the request that a response subject belongs to. */
export const requestNumberOf = (subject: string): number => Number(subject.slice(subject.lastIndexOf(".") + 1));
