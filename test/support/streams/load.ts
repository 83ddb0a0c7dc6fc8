/** A load on streams over HTTP whose every value is accounted for: writers with and without producers, and readers of each kind. */
import { expect } from "bun:test";
import type { Admin, SecretKey } from "../admin.ts";
import { Chance } from "../random.ts";
import { until, within } from "../wait.ts";
import { CONTENT_TYPES, codingOf, isAgain, offsetOf, type StreamName, StreamsHttp } from "./http.ts";
import { judge, type Stored } from "./judge.ts";
import { CatchUpReader, EventSourceReader, EventsReader, LongPollReader, type Reader, Subscriber } from "./readers.ts";
import { PlainWriter, ProducerWriter } from "./writers.ts";

const RULES = [{ pattern: "runs/**", stream: { seconds: 3600, bytes: 64 * 1024 * 1024 } }];
const POLLING = [CatchUpReader, LongPollReader];
const OVER_HTTP = [...POLLING, EventsReader, EventSourceReader];
/** Which readers come to where the load goes. */
const READERS = {
  all: [...OVER_HTTP, Subscriber],
  "over HTTP": OVER_HTTP,
  "without events": POLLING,
  "event sources": [CatchUpReader, EventSourceReader],
} as const;
/** Then every writer of a small load has been answered some times. */
const FLOWING = 60;
const SETTLE_MS = 60_000;
const STOP_MS = 60_000;

export interface StreamLoadOptions {
  readonly seed: number;
  /** How many there are of each content type. */
  readonly streams: number;
  /** For each stream. */
  readonly producers: number;
  readonly plain: number;
  /** How many there are of each kind, for each stream. */
  readonly readers: number;
  /** Default: all. */
  readonly kinds?: keyof typeof READERS;
}

/** What admits to an application whose channels `runs/…` are streams. */
export interface StreamApp {
  readonly http: StreamsHttp;
  readonly key: SecretKey;
}

export async function streamApp(admin: Admin, urls: () => readonly string[]): Promise<StreamApp> {
  const { _id } = await admin.createApp();
  await admin.must("PATCH", `/apps/${_id}`, { channelRules: RULES });
  const key = await admin.createKey(_id);
  return { http: new StreamsHttp(urls, key.credential), key };
}

let names = 0;
export const streamName = (type: StreamName["type"]): StreamName => ({ channel: `runs/${++names}/out`, type });

export class StreamLoad {
  private readonly streams: StreamName[] = [];
  private readonly producers: ProducerWriter[] = [];
  private readonly plain: PlainWriter[] = [];
  private readonly readers: Reader[] = [];

  private constructor(private readonly http: StreamsHttp) {}

  static async on({ http, key }: StreamApp, options: StreamLoadOptions): Promise<StreamLoad> {
    const load = new StreamLoad(http);
    const { seed, streams, producers, plain, readers, kinds = "all" } = options;
    let nr = 0;
    const chance = (): Chance => new Chance(seed * 1000 + nr++);
    for (const type of CONTENT_TYPES)
      for (let count = 0; count < streams; count++) {
        const stream = streamName(type);
        const from = await http.create(stream);
        load.streams.push(stream);
        for (let at = 0; at < producers; at++)
          load.producers.push(new ProducerWriter(http, stream, `p${++nr}`, chance()));
        for (let at = 0; at < plain; at++) load.plain.push(new PlainWriter(http, stream, `w${++nr}`, chance()));
        for (const Kind of READERS[kinds])
          for (let at = 0; at < readers; at++)
            load.readers.push(new Kind({ http, stream, from, key, chance: chance() }, `${Kind.name}-${++nr}`));
      }
    return load;
  }

  private get writers(): readonly (ProducerWriter | PlainWriter)[] {
    return [...this.producers, ...this.plain];
  }

  /** Resolves when writes are answered, and every reader gets some. */
  async flowing(): Promise<void> {
    const answered = (): number => this.writers.reduce((sum, writer) => sum + writer.answered, 0);
    const wanted = answered() + FLOWING;
    const before = this.readers.map(({ values }) => values);
    const waiting = (): readonly Reader[] => this.readers.filter(({ values }, at) => values <= (before[at] ?? 0));
    const flows = (): boolean => this.hasComplaints || (answered() >= wanted && waiting().length === 0);
    await until("streams flow", flows).catch((error: unknown) => {
      const names = waiting().map(({ name, evidence }) => `${name} of ${evidence.stream}`);
      throw new Error(`${error}: ${answered()} of ${wanted} writes answered, nothing comes to ${names.join(", ")}`);
    });
  }

  private get hasComplaints(): boolean {
    return [...this.writers, ...this.readers].some(({ evidence }) => evidence.complaints.length > 0);
  }

  /** Ends the load: nothing may be wrong. */
  async settle(name: string): Promise<void> {
    await within("a write was not answered", Promise.all(this.writers.map((writer) => writer.stop())), STOP_MS);
    await Promise.all(this.streams.map((stream) => this.close(stream)));
    const streams = new Map<string, readonly Stored[]>();
    for (const stream of this.streams) streams.set(stream.channel, await this.stored(stream));
    const isDone = (reader: Reader): boolean => {
      const { length = 0 } = streams.get(reader.evidence.stream) ?? [];
      return reader.isStuck || (reader.values >= length && (reader.isAtEnd || reader instanceof Subscriber));
    };
    // Those who are late are named by the judge.
    await until("all readers are at the end", () => this.readers.every(isDone), SETTLE_MS).catch(() => undefined);
    const writings = this.writers.map(({ evidence }) => evidence);
    const readings = this.readers.map(({ evidence }) => evidence);
    const writes = writings.flatMap((writing) => writing.writes);
    console.log(
      `${name}: ${JSON.stringify({
        values: [...streams.values()].reduce((sum, stored) => sum + stored.length, 0),
        writes: writes.length,
        resent: writes.filter(({ times }) => times > 1).length,
        pieces: readings.reduce((sum, { pieces }) => sum + pieces.length, 0),
      })}`,
    );
    expect(judge({ streams, writings, readings })).toEqual([]);
    expect(this.readers.filter((reader) => !isDone(reader)).map((reader) => reader.name)).toEqual([]);
  }

  /** By the last write of a producer, where there is one. */
  private async close({ channel }: StreamName): Promise<void> {
    const producer = this.producers.find(({ evidence }) => evidence.stream === channel);
    if (producer) return producer.close();
    const headers = { "Stream-Closed": "true" };
    const isClosed = async (): Promise<boolean> =>
      (await this.http.ask(channel, { method: "POST", headers }).catch(() => undefined))?.status === 204;
    await until("the stream is closed", isClosed);
  }

  /** All that the store has. */
  private async stored(stream: StreamName): Promise<readonly Stored[]> {
    const all: Stored[] = [];
    for (let offset = "-1"; ; ) {
      const answer = await this.http.ask(stream.channel, { query: { offset, as: "messages" } });
      if (isAgain(answer.status)) continue;
      expect(answer.status).toBe(200);
      const entries: { pos: string; data: unknown }[] = JSON.parse(Buffer.from(answer.bytes).toString());
      for (const { pos, data } of entries) all.push({ offset: offsetOf(pos), value: codingOf(stream).ofData(data) });
      offset = answer.next;
      if (answer.isClosed) return all;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.readers.map((reader) => reader.stop()));
    await Promise.all(this.writers.map((writer) => writer.giveUp()));
  }
}
