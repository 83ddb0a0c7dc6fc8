/**
 * Random orders of everything that can happen to a channel with history: lost connections, frames that wait, listeners that come and
 * go, refused subscriptions and trimmed history. Every message of others comes once and in order, or a gap is reported; own messages
 * never come; every publish is settled, and with a queue accepted once.
 */
import { expect, test } from "bun:test";
import { OfflineQueue } from "./queue.ts";
import { stateOf } from "./state.ts";
import { settled } from "./testing/clock.ts";
import { FakeHistory } from "./testing/history.ts";
import { Kit } from "./testing/kit.ts";

const RUNS = Number(process.env.PARLEY_TEST_FULL) ? 5000 : 300;
const STEPS = 120;

/** Random numbers that a seed repeats. */
function chanceOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

class Race {
  readonly faults: string[] = [];
  private readonly kit = new Kit();
  private readonly chance: () => number;
  private readonly history: FakeHistory;
  private readonly parley;
  private readonly chat;
  private readonly results: string[] = [];
  private published = 0;
  /** How many of the client's sockets were welcomed. */
  private connected = 0;
  /** The last message since someone listens; `undefined` after a gap. */
  private last: number | undefined;
  private stops: readonly (() => void)[] = [];
  private endStates: (() => void) | undefined;

  constructor(
    seed: number,
    private readonly hasQueue: boolean,
  ) {
    this.kit.clock.random = 0.1;
    this.chance = chanceOf(seed);
    this.history = new FakeHistory("chat", this.chance);
    this.parley = this.kit.client(hasQueue ? { queue: new OfflineQueue() } : {});
    this.chat = this.parley.channel<string>("chat");
  }

  async run(): Promise<void> {
    try {
      this.listen();
      for (let step = 0; step < STEPS && this.faults.length === 0; step++) await this.step();
      if (this.faults.length === 0) await this.end();
    } finally {
      this.kit.restore();
    }
  }

  private upTo(count: number): number {
    return Math.ceil(this.chance() * count);
  }

  private async step(): Promise<void> {
    const { history } = this;
    const steps: readonly [number, () => unknown][] = [
      [8, () => this.cut()],
      [17, () => this.connect()],
      [20, () => history.publishOther()],
      [5, () => (this.stops.length > 0 ? this.unlisten() : this.listen())],
      [10, () => this.publish()],
      [2, () => this.trim()],
      [2, () => this.toggleStates()],
      [1, () => history.narrow()],
      [3, () => this.kit.clock.advance(this.upTo(3000))],
      [15, () => history.read(this.upTo(3))],
      [17, () => history.deliver(this.upTo(4))],
    ];
    let at = this.chance() * 100;
    for (const [weight, run] of steps) {
      at -= weight;
      if (at >= 0) continue;
      await run();
      break;
    }
    // Sometimes two things happen in the same turn.
    if (this.chance() < 0.8) await settled();
  }

  /** Everything arrives at last. */
  private async end(): Promise<void> {
    const { history } = this;
    if (this.stops.length === 0) this.listen();
    for (let round = 0; round < 40; round++) {
      // A subscription that was refused is tried again when a listener is added.
      if (round === 10) this.chat.on("gap", () => undefined);
      await this.connect();
      history.read(1000);
      history.deliver(1000);
      await this.kit.clock.advance(500);
    }
    history.publishOther();
    history.deliver(1000);
    if (this.last !== history.stored.length) this.faults.push(`the last message is missing after ${this.last}`);
    if (this.results.length !== this.published) this.faults.push("a publish is not settled");
    const stored = history.stored.filter(({ from }) => from === "me").map(({ data }) => String(data));
    const accepted = stored.filter((data) => this.results.includes(data));
    const wanted = this.results.filter((one) => !one.includes(" "));
    const isRight = this.hasQueue ? accepted.join() === wanted.join() : accepted.sort().join() === wanted.sort().join();
    if (!isRight) this.faults.push(`stored: ${accepted}; accepted: ${wanted}`);
    this.parley.close();
    await settled();
    if (this.kit.clock.waiting > 0) this.faults.push("a timer is left");
  }

  private async cut(): Promise<void> {
    this.history.read(this.upTo(3) - 1);
    await this.history.cut();
  }

  private async connect(): Promise<void> {
    if (this.history.connection) return;
    await settled();
    const { sockets } = this.kit.service;
    if (this.connected === sockets.length) await this.kit.comesBack();
    this.connected = sockets.length;
    this.history.welcome(this.kit.service.socket);
  }

  private listen(): void {
    this.last = undefined;
    this.stops = [
      this.chat.on("message", ({ from, pos }) => this.received(from, Number(pos))),
      this.chat.on("gap", () => {
        this.last = undefined;
      }),
    ];
  }

  private async unlisten(): Promise<void> {
    for (const stop of this.stops) stop();
    this.stops = [];
    // Those who listen again in the same turn have not left.
    await settled();
  }

  private received(from: string, offset: number): void {
    const { last } = this;
    if (from === "me") this.faults.push(`own message ${offset}`);
    if (last !== undefined && offset <= last) this.faults.push(`${offset} came after ${last}`);
    const missed = this.history.stored.slice(last ?? offset, offset - 1).filter((one) => one.from === "other");
    if (missed.length > 0) this.faults.push(`${missed.length} are missing between ${last} and ${offset}`);
    this.last = offset;
  }

  private publish(): void {
    const data = `own${this.published++}`;
    this.chat.publish(data).then(
      () => this.results.push(data),
      (error) => this.results.push(`${data} ${error.code}`),
    );
  }

  private trim(): void {
    this.history.trimmed = Math.max(0, this.history.stored.length - 5);
  }

  private toggleStates(): void {
    this.endStates?.();
    this.endStates = this.endStates ? undefined : stateOf(this.chat).on("changed", () => undefined);
  }
}

for (const hasQueue of [false, true])
  test(`${RUNS} random orders of events ${hasQueue ? "with" : "without"} a queue`, async () => {
    for (let seed = 1; seed <= RUNS; seed++) {
      const race = new Race(seed, hasQueue);
      await race.run();
      expect({ seed, faults: race.faults }).toEqual({ seed, faults: [] });
    }
  }, 300_000);
