/** For tests: nodes that share one history in memory, whose calls the test can pause or make fail. */
import { FakeClock } from "../../../base/testing/fake-clock.ts";
import { openMemoryHistory } from "../../../history/testing/memory.ts";
import { UnreliableHistory } from "../../../history/testing/unreliable.ts";
import type { ChannelRule } from "../../../protocol/patterns/channel-rules.ts";
import type { Received } from "../../testing/client.ts";
import { APP, type Client, type ConnectOptions, turn, World, type WorldOptions } from "../../testing/kit.ts";

export const ROOM = "room/1";
/** No rule has history for it. */
export const PLAIN = "plain";

const RULES: readonly ChannelRule[] = [{ pattern: "room/**", history: { messages: 5000, seconds: 3600 }, graceSec: 0 }];

/** Not more than the store takes in one batch. */
const BATCH = 32;

export class StreamsWorld extends World {
  readonly history: UnreliableHistory;

  constructor({ rules = RULES, ...options }: WorldOptions & { readonly rules?: readonly ChannelRule[] } = {}) {
    const clock = new FakeClock();
    const history = new UnreliableHistory(
      openMemoryHistory({ ...clock, retentionMs: clock.wallMs }),
      (options.nodes ?? 1) > 1,
    );
    super({ ...options, history, clock });
    this.history = history;
    this.setRules(rules);
  }

  setRules(channelRules: readonly ChannelRule[]): void {
    this.keys.editApp({ channelRules });
  }

  /** Time goes on, and what waits for the store gets its answers. */
  async pass(ms: number): Promise<void> {
    for (let i = 0; i < ms; i++) {
      this.advance(1);
      if (i % 10 === 0) await turn();
    }
    await this.answers();
  }

  /** What waits for the store gets its answers; time stands still. */
  async answers(): Promise<void> {
    for (let i = 0; i < 5; i++) await turn();
  }

  /** Connected, subscribed, roster read. */
  async joined(peerId: string, options: ConnectOptions & Readonly<Record<string, unknown>> = {}): Promise<Client> {
    const client = this.connect(peerId, options);
    client.subscribe(ROOM);
    await this.pass(60);
    client.take();
    return client;
  }

  /** Publishes these numbers one after the other, and waits until all are stored. */
  async publish(client: Client, from: number, to: number): Promise<void> {
    for (let n = from; n <= to; n++) {
      client.publish(ROOM, n);
      if (n % BATCH === 0) await this.answers();
    }
    await this.answers();
  }

  app = APP;
}

/** The data of its messages, in the order in which they came. */
export const dataOf = (frames: readonly Received[]): unknown[] =>
  frames.filter(({ type }) => type === "message").map(({ data }) => data);

/** What came since the last look, in short: the data of messages, `*` after replayed ones; "ack …" with its fields. */
export const seen = (client: Client): string[] =>
  client
    .take()
    .filter(({ type }) => type !== "presence")
    .map(({ type, data, replay, code, recovered, replay: count, duplicate }) => {
      if (type === "message") return `${data}${replay ? "*" : ""}`;
      if (type === "error") return `error ${code}`;
      if (type !== "ack") return type;
      const recovery = recovered === undefined ? "" : ` recovered:${recovered} replay:${count}`;
      return `ack${recovery}${duplicate ? " duplicate" : ""}`;
    });

/** The position that the client was sent last. */
export function positionOf(client: Client): string {
  const position = client.received.findLast(({ pos }) => typeof pos === "string")?.pos;
  if (typeof position !== "string") throw new Error("there was no position");
  return position;
}

/** The offset in a position. */
export const offsetOf = (position: unknown): number => Number(String(position).split(".")[1]);

export const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);
