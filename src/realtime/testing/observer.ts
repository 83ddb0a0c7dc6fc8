/** For tests: the members that a client knows from its own frames, and the rules of the protocol that these frames break. */
import type { Client, Entry, Received } from "./kit.ts";

/** By peer id: the metadata, as JSON. */
export type Roster = Map<string, string | undefined>;

/** What a client publishes: whether it is a member of that channel, so that the receivers must know it. */
export interface TestMessage {
  readonly isMember: boolean;
}

interface Request {
  readonly type: "subscribe" | "unsubscribe";
  readonly channel: string;
  readonly number: number;
}

export class Observer {
  readonly broken: string[] = [];
  /** By channel: the members it knows; "awaited" between an ack and its roster. */
  private readonly channels = new Map<string, Roster | "awaited">();
  private readonly requests = new Map<string, Request>();
  /** By channel: the last request, and the last that was answered. */
  private readonly last = new Map<string, Request>();
  private readonly answered = new Map<string, Request>();

  constructor(
    readonly client: Client,
    private readonly peerId: string,
  ) {}

  subscribe(channel: string): void {
    this.request("subscribe", channel);
  }

  unsubscribe(channel: string): void {
    this.request("unsubscribe", channel);
  }

  private request(type: Request["type"], channel: string): void {
    // Frames that have come up to now came before this request.
    this.read();
    const request: Request = { type, channel, number: this.requests.size };
    this.last.set(channel, request);
    this.requests.set(this.client[type](channel), request);
    this.read();
  }

  /** Its subscribe is acked, and it has not unsubscribed since. */
  holds(channel: string): boolean {
    return this.channels.has(channel);
  }

  /** The other members that it knows; undefined if it has no roster. */
  others(channel: string): Roster | undefined {
    const roster = this.channels.get(channel);
    if (roster === undefined || roster === "awaited") return undefined;
    return new Map([...roster].filter(([peerId]) => peerId !== this.peerId));
  }

  /** Reads what has come since the last time. */
  read(): void {
    for (const frame of this.client.take()) {
      if (frame.type === "ack") this.acked(frame.requestId ?? "");
      else if (frame.type === "presence") this.presence(frame);
      else if (frame.type === "message") this.message(frame);
    }
  }

  private acked(requestId: string): void {
    const request = this.requests.get(requestId);
    if (!request) return;
    const { type, channel, number } = request;
    // An ack that had to wait for the engine may come after the ack of a later request, which is the one that counts.
    if (number < (this.answered.get(channel)?.number ?? -1)) return;
    this.answered.set(channel, request);
    if (type === "subscribe") this.channels.set(channel, "awaited");
    else this.channels.delete(channel);
  }

  private presence({ channel = "", joined = [], left = [], snapshot }: Received): void {
    const roster = this.channels.get(channel);
    const wrong = (what: string): void => {
      this.broken.push(`${this.peerId} on ${channel}: ${what}`);
    };
    if (roster === undefined) return wrong("presence of a channel that it does not subscribe to");
    if (snapshot) {
      if (roster !== "awaited") wrong("an unexpected roster");
      if (joined.some((entry) => entry.peerId === this.peerId)) wrong("itself in its roster");
      if (new Set(joined.map((entry) => entry.peerId)).size < joined.length) wrong("a peer twice in a roster");
      this.channels.set(channel, new Map(joined.map(asPair)));
      return;
    }
    if (roster === "awaited") return wrong("a change between ack and roster");
    if (joined.length + left.length === 0) wrong("a change of nothing");
    for (const [peerId, metadata] of joined.map(asPair)) {
      if (roster.has(peerId) && roster.get(peerId) === metadata) wrong(`${peerId} joined twice with the same metadata`);
      roster.set(peerId, metadata);
    }
    for (const { peerId } of left) if (!roster.delete(peerId)) wrong(`${peerId} left without being a member`);
  }

  private message({ channel = "", from = "", data }: Received): void {
    const roster = this.channels.get(channel);
    // Messages may come between a subscribe and its ack.
    if (roster === undefined && this.last.get(channel)?.type !== "subscribe")
      this.broken.push(`${this.peerId}: a message on ${channel}, which it does not subscribe to`);
    if (roster && roster !== "awaited" && from !== this.peerId && (data as TestMessage).isMember && !roster.has(from))
      this.broken.push(`${this.peerId} on ${channel}: a message of ${from}, which it does not know`);
  }
}

const asPair = ({ peerId, metadata }: Entry): [string, string | undefined] => [
  peerId,
  metadata === undefined ? undefined : JSON.stringify(metadata),
];
