/**
 * A server under attack: two healthy peers keep exchanging messages meanwhile, the server still answers afterwards, and its memory
 * returns to the level it had after a warm-up with the same attack.
 */
import { readFileSync } from "node:fs";
import { fresh, startWorld, tokenQuery, type World } from "../../conformance/raw/support/world.ts";
import { call } from "../../support/http.ts";
import { IS_FULL, SLACK_MS } from "../../support/slack.ts";
import { until } from "../../support/wait.ts";
import { connect } from "../../support/wire/connect.ts";
import type { Wire } from "../../support/wire/wire.ts";

const QUIET_LOOK_EVERY_MS = 10;

/** The full run repeats more; the sample shows the same in less time. */
export const FULL = IS_FULL;

const MIB = 1024 * 1024;
const PAGE_BYTES = 4096;
/** How far memory may stay above the warm baseline. */
const RSS_SLACK_BYTES = 20 * MIB;
const RSS_PATIENCE_MS = 30_000;
/** The timeout for one message of the healthy pair with its ack, on a machine that is busy with the attack. */
const EXCHANGE_MAX_MS = 5000 + 2 * SLACK_MS;
/** The least number of messages: fewer would prove nothing. */
const EXCHANGES_MIN = 10;
/** Well below the allowed rate. */
const EXCHANGE_EVERY_MS = 12;

/** Peers that neither see presence nor appear in it. */
export const QUIET = { permissions: ["publish", "subscribe", "send"] };

export class Siege {
  /** Connections that the current attack has opened. */
  private open: { drop(): void }[] = [];

  private constructor(readonly world: World) {}

  static async start(env: Readonly<Record<string, string>> = {}): Promise<Siege> {
    return new Siege(await startWorld({ env }));
  }

  get url(): string {
    return this.world.url;
  }

  get rss(): number {
    return Number(readFileSync(`/proc/${this.world.server.pid}/statm`, "utf8").split(" ")[1]) * PAGE_BYTES;
  }

  query(claims: object = {}): string {
    return tokenQuery(this.world.token({ ...QUIET, ...claims }));
  }

  /** A welcomed connection that is closed when the attack is over. */
  async wire(claims: object = {}): Promise<Wire> {
    const wire = this.keep(await connect(this.url, { query: this.query(claims) }));
    await wire.frame("welcome");
    return wire;
  }

  keep<T extends { drop(): void }>(one: T): T {
    this.open.push(one);
    return one;
  }

  /** `attack` runs twice: first to warm the server up, then with all checks during and after it. */
  async withstands(attack: () => Promise<unknown>): Promise<void> {
    await this.once(attack);
    const baseline = await this.quietRss();
    const pair = await HealthyPair.start(this.world);
    try {
      await this.once(attack);
    } finally {
      await pair.stop();
    }
    await this.answers();
    await this.recovers(baseline);
    const complaints = this.world.server.log.filter(({ level }) => level === "error" || level === "fatal");
    if (complaints.length > 0) throw new Error(`the server complained: ${JSON.stringify(complaints.slice(0, 3))}`);
  }

  async stop(): Promise<void> {
    await this.world.stop();
  }

  private async once(attack: () => Promise<unknown>): Promise<void> {
    try {
      await attack();
    } finally {
      for (const one of this.open.splice(0)) one.drop();
    }
  }

  /** The lowest value of a short time, so that garbage of the warm-up does not raise the baseline. */
  private async quietRss(): Promise<number> {
    let least = this.rss;
    for (let i = 0; i < 4; i++) {
      await Bun.sleep(QUIET_LOOK_EVERY_MS);
      least = Math.min(least, this.rss);
    }
    return least;
  }

  private async answers(): Promise<void> {
    const { status } = await call(`${this.url}/healthz`);
    if (status !== 200) throw new Error(`/healthz: ${status}`);
    const late = await this.world.guest(QUIET);
    await late.wire.sync();
    late.wire.drop();
  }

  private async recovers(baseline: number): Promise<void> {
    const what = `memory falls to ${((baseline + RSS_SLACK_BYTES) / MIB).toFixed(1)} MiB`;
    await until(what, () => this.rss <= baseline + RSS_SLACK_BYTES, RSS_PATIENCE_MS);
  }
}

/** One publishes, the other receives: every message, in order, in time. */
class HealthyPair {
  private going = true;
  private exchanges = 0;
  private readonly done: Promise<void>;

  private constructor(
    private readonly from: Wire,
    private readonly to: Wire,
    private readonly channel: string,
  ) {
    this.done = this.talk();
    // Checked in stop(); a failure before that must not end the process.
    this.done.catch(() => {});
  }

  static async start(world: World): Promise<HealthyPair> {
    const channel = fresh("healthy");
    const [from, to] = await Promise.all([world.guest(QUIET), world.guest(QUIET)]);
    const answer = await to.wire.request({ type: "subscribe", channel });
    if (answer.type !== "ack") throw new Error(JSON.stringify(answer));
    return new HealthyPair(from.wire, to.wire, channel);
  }

  async stop(): Promise<void> {
    this.going = false;
    await this.done;
    this.from.drop();
    this.to.drop();
  }

  private async talk(): Promise<void> {
    while (this.going || this.exchanges < EXCHANGES_MIN) {
      const data = ++this.exchanges;
      const started = performance.now();
      const answer = this.from.request({ type: "publish", channel: this.channel, data });
      const { data: came } = await this.to.frame("message");
      const { type } = await answer;
      const took = performance.now() - started;
      if (came !== data || type !== "ack") throw new Error(`message ${data}: ${JSON.stringify(came)}, ${type}`);
      if (took > EXCHANGE_MAX_MS) throw new Error(`message ${data} took ${Math.round(took)} ms`);
      if (data >= EXCHANGES_MIN) await Bun.sleep(EXCHANGE_EVERY_MS);
    }
  }
}

/** Calls `work` for 0 … count-1, `atOnce` at a time. */
export async function crowd<T>(count: number, atOnce: number, work: (at: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const at = next++;
      results[at] = await work(at);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker));
  return results;
}
