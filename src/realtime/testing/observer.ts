/** For tests: what a client believes about its channels, from its own frames alone, and which promises were broken to it. */
import type { Client, Entry, Received } from "./kit.ts";

/** By peer id: the metadata, as JSON. */
export type Roster = Map<string, string | undefined>;

/** In what a client publishes: whether it is in that channel itself, so that everybody there must know it. */
export interface Words {
  readonly isMember: boolean;
}

interface Request {
  readonly type: "subscribe" | "unsubscribe";
  readonly channel: string;
  readonly number: number;
}

export class Observer {
  readonly broken: string[] = [];
  /** A roster, or the wait for it between an ack and it. */
  private readonly channels = new Map<string, Roster | "awaited">();
  private readonly asked = new Map<string, Request>();
  /** By channel: what was asked last, and of what is answered the last. */
  private readonly last = new Map<string, Request>();
  private readonly answered = new Map<string, Request>();

  constructor(
    readonly client: Client,
    private readonly peerId: string,
  ) {}

  subscribe(channel: string): void {
    this.ask("subscribe", channel);
  }

  unsubscribe(channel: string): void {
    this.ask("unsubscribe", channel);
  }

  private ask(type: Request["type"], channel: string): void {
    // What has come up to now has come before this was asked.
    this.read();
    const request: Request = { type, channel, number: this.asked.size };
    this.last.set(channel, request);
    this.asked.set(this.client[type](channel), request);
    this.read();
  }

  /** Its subscribe is acked, and not given up since. */
  holds(channel: string): boolean {
    return this.channels.has(channel);
  }

  /** Everybody else it believes to be there; undefined if it has no roster. */
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
    const request = this.asked.get(requestId);
    if (!request) return;
    const { type, channel, number } = request;
    // An ack that had to wait for the engine may come behind that of a later request, which is the one that counts.
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
    if (roster === undefined) return wrong("presence of a channel it does not hold");
    if (snapshot) {
      if (roster !== "awaited") wrong("a roster it did not ask for");
      if (joined.some((entry) => entry.peerId === this.peerId)) wrong("itself in its roster");
      if (new Set(joined.map((entry) => entry.peerId)).size < joined.length) wrong("somebody twice in a roster");
      this.channels.set(channel, new Map(joined.map(asPair)));
      return;
    }
    if (roster === "awaited") return wrong("a change between ack and roster");
    if (joined.length + left.length === 0) wrong("a change of nothing");
    for (const [peerId, metadata] of joined.map(asPair)) {
      if (roster.has(peerId) && roster.get(peerId) === metadata) wrong(`${peerId} joined again with the same metadata`);
      roster.set(peerId, metadata);
    }
    for (const { peerId } of left) if (!roster.delete(peerId)) wrong(`${peerId} left, who was not there`);
  }

  private message({ channel = "", from = "", data }: Received): void {
    const roster = this.channels.get(channel);
    // Between a subscribe and its ack messages may come already.
    if (roster === undefined && this.last.get(channel)?.type !== "subscribe")
      this.broken.push(`${this.peerId}: a message on ${channel}, which it does not hold`);
    if (roster && roster !== "awaited" && from !== this.peerId && (data as Words).isMember && !roster.has(from))
      this.broken.push(`${this.peerId} on ${channel}: ${from} spoke and was not known`);
  }
}

const asPair = ({ peerId, metadata }: Entry): [string, string | undefined] => [
  peerId,
  metadata === undefined ? undefined : JSON.stringify(metadata),
];
