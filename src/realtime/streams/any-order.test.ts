/**
 * Random walks: nodes whose messages travel in any order or get lost, a store that is slow, fails or answers too late, and clients
 * that come back with their last position. Each client must get every message of the stream once and in order, except its own,
 * unless it is answered `recovered: false`.
 */
import { expect, test } from "bun:test";
import type { Engine } from "../../engine/engine.ts";
import { shuffled } from "../../engine/testing/traffic.ts";
import type { Appended, Batch } from "../../history/contract/history.ts";
import type { Fate } from "../../history/testing/unreliable.ts";
import type { Client, WorldOptions } from "../testing/kit.ts";
import { offsetOf, ROOM, StreamsWorld } from "./testing/streams-world.ts";

const NODES = 3;
const STEPS = 250;

/** Mulberry32. */
function chance(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One person: connects again and again, and checks what comes. */
class Person {
  private client: Client | undefined;
  private position: string | undefined;
  private connection: string | undefined;
  private read = 0;
  private published = 0;
  /** Offsets of its own acked messages. */
  private readonly own = new Set<number>();
  recovered = 0;
  notRecovered = 0;
  messages = 0;
  acks = 0;

  constructor(
    private readonly world: WalkWorld,
    readonly name: string,
  ) {}

  get isConnected(): boolean {
    return this.client !== undefined && this.client.closeCode === undefined;
  }

  connect(node: number): void {
    if (this.world.nodeAt(node).clock.isStopped) return;
    const client = this.world.connect(this.name, { node });
    this.client = client;
    this.read = client.received.length;
    const { position: recover, connection } = this;
    client.subscribe(ROOM, recover === undefined ? {} : { recover, connection });
    this.connection = client.connection.id;
  }

  publish(): void {
    this.client?.publish(ROOM, `${this.name} ${++this.published}`);
  }

  vanish(): void {
    this.look();
    this.client?.vanish();
  }

  /** Checks the frames that have come. Positions advance by one, or skip its own messages. */
  look(): void {
    if (!this.client) return;
    const frames = this.client.received.slice(this.read);
    this.read += frames.length;
    for (const { type, pos, recovered, replay, from, requestId } of frames) {
      if (type === "error" && requestId === "r1") {
        // The store was unavailable. What it publishes now says nothing about what was delivered to it.
        this.client.vanish();
        return;
      }
      if (type === "ack" && requestId === "r1") {
        const isBehind = recovered === true && Number(replay) > 0;
        if (recovered === true) this.recovered++;
        if (recovered === false) this.notRecovered++;
        if (recovered === true && !isBehind) this.expectContiguous(String(pos), 1, true);
        if (!isBehind) this.position = String(pos);
      } else if (type === "ack") {
        this.acks++;
        this.own.add(offsetOf(pos));
        // Everything before it has come.
        this.expectContiguous(String(pos), 0, true);
        // Its subscription may have begun behind it.
        if (offsetOf(pos) > offsetOf(this.position)) this.position = String(pos);
      } else if (type === "message") {
        this.messages++;
        if (from === this.name) this.own.add(offsetOf(pos));
        this.expectContiguous(String(pos), 0, false);
        this.position = String(pos);
      }
    }
  }

  /**
   * All messages before this one have come, and before the `more` behind it. `mayRepeat`: the position may be one that was passed
   * already. Own messages may lie in between: they are not sent.
   */
  private expectContiguous(position: string, more: number, mayRepeat: boolean): void {
    if (this.position === undefined) return;
    const epoch = epochOf(position);
    expect([this.name, epoch]).toEqual([this.name, epochOf(this.position)]);
    const [last, offset] = [offsetOf(this.position), offsetOf(position) + more];
    if (mayRepeat && offset <= last + 1) return;
    const between: number[] = [];
    for (let at = last + 1; at < offset; at++) if (this.world.publisherOf(epoch, at) !== this.name) between.push(at);
    expect([this.name, offset > last, between]).toEqual([this.name, true, []]);
  }

  /** It has got everything up to this offset. */
  expectAllUpTo(epoch: string, top: number): void {
    this.look();
    expect([this.name, this.isConnected, epochOf(this.position ?? "")]).toEqual([this.name, true, epoch]);
    this.expectContiguous(`${epoch}.${top}.x`, 1, true);
  }
}

const epochOf = (position: string): string => position.split(".")[0] ?? "";

class WalkWorld extends StreamsWorld {
  /** Who has published each message, as the store has them. */
  private readonly publishers = new Map<string, string>();
  epoch = "";
  top = 0;

  constructor(options: WorldOptions) {
    super(options);
    const { inner } = this.history;
    const append = inner.append.bind(inner);
    Object.assign(inner, {
      append: async (batch: Batch): Promise<readonly Appended[]> => {
        const appended = await append(batch);
        for (const [i, { epoch, offset }] of appended.entries())
          this.publishers.set(`${epoch}.${offset}`, batch.messages[i]?.from ?? "");
        return appended;
      },
    });
  }

  publisherOf(epoch: string, offset: number): string | undefined {
    return this.publishers.get(`${epoch}.${offset}`);
  }

  async readAll(): Promise<string[]> {
    const data: string[] = [];
    for (let after = 0; ; ) {
      const page = await this.history.inner.read(this.app, ROOM, { after, limit: 1000, maxBytes: 1 << 30 });
      for (const { offset, dataJson } of page?.messages ?? []) {
        data.push(JSON.parse(dataJson));
        after = offset;
      }
      this.epoch = page?.state.epoch ?? "";
      this.top = page?.state.top ?? 0;
      if (!page?.more) return data;
    }
  }
}

const SEEDS = Array.from(
  { length: Number(process.env.PARLEY_TEST_WALKS ?? (process.env.PARLEY_TEST_FULL ? 8 : 3)) },
  (_, i) => i + 1,
);

test.each(SEEDS)("walk %i", async (seed) => {
  const next = chance(seed);
  const at = (count: number): number => Math.floor(next() * count);
  let isLosing = false;
  const losing = (engine: Engine): Engine => {
    const publish = engine.publish.bind(engine);
    return Object.assign(engine, {
      publish: (...args: Parameters<Engine["publish"]>): boolean =>
        isLosing && args[2].stored ? false : publish(...args),
    });
  };
  const world = new WalkWorld({ nodes: NODES, traffic: shuffled(seed), engine: losing });
  let trouble = 0;
  world.history.fate = (call): Fate | Promise<Fate> => {
    const fate: Fate = next() < trouble ? (next() < 0.5 ? "lose" : "fail") : "answer";
    if (call === "settle" && fate === "lose") return "fail";
    const waitMs = next() < 0.3 ? at(40) : 0;
    return waitMs === 0 ? fate : new Promise((resolve) => world.clock.after(waitMs, () => resolve(fate)));
  };
  const people = Array.from({ length: 8 }, (_, i) => new Person(world, `p${i}`));
  const someone = (): Person => people[at(people.length)] as Person;
  for (let step = 0; step < STEPS; step++) {
    const roll = next();
    if (roll < 0.02) isLosing = !isLosing;
    else if (roll < 0.04) trouble = trouble > 0 ? 0 : next() * 0.5;
    else if (roll < 0.045 && seed % 2 === 0) await world.history.inner.remove(world.app, ROOM);
    else if (roll < 0.05 && seed % 3 === 0) world.kill(NODES - 1);
    else if (roll < 0.1) someone().vanish();
    else if (roll < 0.8) someone().publish();
    for (const person of people) if (!person.isConnected && next() < 0.5) person.connect(at(NODES));
    await world.pass(at(30));
    await world.readAll();
    for (const person of people) person.look();
  }
  [trouble, isLosing] = [0, false];
  for (let i = 0; i < 5; i++) {
    for (const person of people) if (!person.isConnected) person.connect(at(NODES));
    await world.pass(1500);
  }
  const stored = await world.readAll();
  for (const person of people) person.expectAllUpTo(world.epoch, world.top);
  expect(new Set(stored).size).toBe(stored.length);
  const sum = (of: (person: Person) => number): number => people.reduce((total, person) => total + of(person), 0);
  // The walk has tried something.
  expect(sum(({ messages }) => messages)).toBeGreaterThan(100);
  expect(sum(({ recovered }) => recovered)).toBeGreaterThan(3);
  if (seed % 2 === 1) expect(sum(({ acks }) => acks)).toBeLessThanOrEqual(stored.length);
  if (process.env.PARLEY_TEST_WALKS)
    console.log(
      seed,
      stored.length,
      sum((one) => one.messages),
      sum((one) => one.recovered),
      sum((one) => one.notRecovered),
    );
});
