/** What connections to several workers must get, and what has happened to them. */
import type { SecretKey } from "../../support/admin.ts";
import { SOON_MS, until } from "../../support/wait.ts";
import type { Wire } from "../../support/wire/wire.ts";

const STORY_SHOWN = 60;
/** Another worker knows of a connection a moment after its welcome: until then, messages to its peer reach only the other connections of that peer. */
const NEW_MS = 500;
/** As long as a message between workers may take on a busy machine. */
const ON_ITS_WAY_MS = 5000;

export interface Connection {
  readonly id: number;
  /** When it got its welcome. */
  readonly sinceMs: number;
  readonly wire: Wire;
  readonly peer: string;
  readonly key: Key;
  readonly channels: Set<string>;
  /** The numbers of the messages that it must get. */
  readonly due: number[];
  /** Those that it may get or lack: they were on their way to its worker when it subscribed or unsubscribed. */
  readonly optional: Set<number>;
}

export interface Key {
  readonly secret: SecretKey;
  /** Only channels of `open/`. */
  isNarrow: boolean;
}

export class Reference {
  connections: Connection[] = [];
  /** What was done, for an error. */
  readonly story: string[] = [];
  private readonly ended: Connection[] = [];
  private readonly log: { readonly number: number; readonly channel: string; readonly atMs: number }[] = [];
  private lastId = 0;

  opened(wire: Wire, peer: string, key: Key): void {
    const [id, sinceMs] = [++this.lastId, performance.now()];
    this.connections.push({ id, sinceMs, wire, peer, key, channels: new Set(), due: [], optional: new Set() });
  }

  /** To be called before the request is sent. */
  changing(one: Connection, channel: string): void {
    for (const number of this.recent(channel)) one.optional.add(number);
  }

  subscribed(one: Connection, channel: string): void {
    one.channels.add(channel);
    this.story.push(`  ${one.peer} ${one.id} ${channel}`);
  }

  unsubscribed(one: Connection, channel: string): void {
    one.channels.delete(channel);
    this.story.push(`  ${one.peer} ${one.id} not ${channel}`);
  }

  membersOf(channel: string): string[] {
    const inIt = this.connections.filter(({ channels }) => channels.has(channel));
    return [...new Set(inIt.map(({ peer }) => peer))].sort();
  }

  /** All messages have arrived where they must, and nowhere else. */
  async check(): Promise<void> {
    for (const one of this.connections)
      await until("messages are missing", () => missing(one).length === 0, SOON_MS).catch(() => {
        throw new Error(`${one.peer} ${one.id} lacks messages: ${missing(one)}`);
      });
    for (const { id, wire, peer, due, optional } of [...this.connections, ...this.ended]) {
      const got = numbersOf(wire);
      const extra = got.filter((number) => !due.includes(number) && !optional.has(number));
      if (extra.length > 0 || new Set(got).size < got.length)
        throw new Error(`${peer} ${id} got ${extra} that it must not get`);
    }
    for (const { wire, peer } of this.connections) if (wire.isOver) throw new Error(`${peer} was disconnected`);
  }

  published(number: number, channel: string, from?: Connection): void {
    this.log.push({ number, channel, atMs: performance.now() });
    this.owe(number, (one) => one !== from && one.channels.has(channel));
  }

  private recent(channel: string): number[] {
    const sinceMs = performance.now() - ON_ITS_WAY_MS;
    return this.log.flatMap((one) => (one.channel === channel && one.atMs > sinceMs ? [one.number] : []));
  }

  private owe(number: number, isReceiver: (one: Connection) => boolean): void {
    this.story.push(
      `  message ${number}: ${this.connections.flatMap((one) => (isReceiver(one) ? [`${one.id} ${one.peer}`] : []))}`,
    );
    for (const one of this.connections) if (isReceiver(one)) one.due.push(number);
  }

  /** A message to oneself reaches one's other connections. */
  sent(isAcked: boolean, to: string, number: number, from?: Connection): void {
    const isReceiver = (one: Connection): boolean => one.peer === to && one !== from;
    const isThere = this.connections.some(isReceiver);
    if (isAcked !== isThere)
      throw new Error(
        `a message to ${to} was ${isAcked ? "acked" : "refused"}, and it is ${isThere ? "" : "not "}there`,
      );
    const receivers = this.connections.filter(isReceiver);
    const isNew = ({ sinceMs }: Connection): boolean => performance.now() - sinceMs < NEW_MS;
    if (receivers.length > 1) for (const one of receivers) if (isNew(one)) one.optional.add(number);
    this.owe(number, isReceiver);
  }

  end(gone: readonly Connection[]): void {
    for (const one of gone) this.story.push(`  ended ${one.peer} ${one.id}`);
    this.connections = this.connections.filter((one) => !gone.includes(one));
    this.ended.push(...gone);
  }

  async areClosed(gone: readonly Connection[], code: number): Promise<void> {
    for (const { wire, peer } of gone) {
      const closed = await wire.closed(SOON_MS);
      if (closed.code !== code) throw new Error(`${peer} was closed with ${closed.code} instead of ${code}`);
    }
    this.end(gone);
  }

  /** The error with what was done before. */
  explain(error: unknown): Error {
    return new Error(`${error}\n${this.story.slice(-STORY_SHOWN).join("\n")}`);
  }
}

export const isAllowed = ({ isNarrow }: Key, channel: string): boolean => !isNarrow || channel.startsWith("open/");

const numbersOf = (wire: Wire): number[] =>
  wire.frames.flatMap((frame) => (frame.type === "message" || frame.type === "direct" ? [Number(frame.data)] : []));

function missing({ wire, due, optional }: Connection): number[] {
  const got = new Set(numbersOf(wire));
  return due.filter((number) => !got.has(number) && !optional.has(number));
}
