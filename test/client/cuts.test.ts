/**
 * A network that drops, delays and cuts: every message arrives once and in order, or the client reports a gap.
 * PARLEY_TEST_FULL=1: a thousand reconnects.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Channel } from "../../client/src/index.ts";
import { OfflineQueue } from "../../client/src/queue.ts";
import { Chance } from "../support/random.ts";
import { until } from "../support/wait.ts";
import { Unlucky } from "./support/faults.ts";
import { hurry } from "./support/hurry.ts";
import { IS_FULL, Service } from "./support/service.ts";

setDefaultTimeout(IS_FULL ? 600_000 : 90_000);

const RECONNECTS = IS_FULL ? 1000 : 100;
const LISTENERS = 5;
const GAP = "gap";
const SEED = Number(process.env.PARLEY_TEST_SEED ?? Date.now() % 1e6);

/** History that is long enough, history that is often too short, and none. */
const KINDS = ["kept", "short", "bare"] as const;
type Kind = (typeof KINDS)[number];

let service: Service;
let unhurry: () => void;

beforeAll(async () => {
  service = await Service.start([
    { pattern: "kept/*", history: { messages: 10_000, seconds: 3600 } },
    { pattern: "short/*", history: { messages: 2, seconds: 3600 } },
  ]);
  unhurry = hurry();
});

afterAll(async () => {
  unhurry();
  await service.stop();
});

type Seen = readonly (number | typeof GAP)[];

function record(channel: Channel): Seen {
  const seen: (number | typeof GAP)[] = [];
  channel.on("message", ({ data }) => seen.push(data as number));
  channel.on("gap", () => seen.push(GAP));
  channel.on("error", (error) => seen.push(GAP, Number.NaN, error.code as typeof GAP));
  return seen;
}

/** What is wrong with it. `doubtful`: the publisher does not know whether these were accepted. */
function faultsOf(seen: Seen, last: number, doubtful: ReadonlySet<number>): string[] {
  const faults: string[] = [];
  let before = 0;
  let mayMiss = false;
  for (const one of seen) {
    if (one === GAP) {
      mayMiss = true;
      continue;
    }
    if (!(one > before)) faults.push(`${one} came after ${before}`);
    for (let missed = before + 1; missed < one && !mayMiss; missed++)
      if (!doubtful.has(missed)) faults.push(`${missed} is missing before ${one}`);
    before = one;
    mayMiss = false;
  }
  if (before !== last) faults.push(`it ends with ${before} instead of ${last}`);
  return faults;
}

test.each(["websocket", "http"] as const)(
  "over %s, every message comes once and in order, or a gap is reported",
  async (transport) => {
    const chance = new Chance(SEED);
    const publisher = await Unlucky.start(service, undefined, new OfflineQueue(), transport);
    const listeners = await Promise.all(
      Array.from({ length: LISTENERS }, (_, at) => Unlucky.start(service, `listener${at}`, undefined, transport)),
    );
    const records = listeners.map(({ parley }) =>
      Object.fromEntries(KINDS.map((kind) => [kind, record(parley.channel(`${kind}/1`))])),
    ) as unknown as Record<Kind, Seen>[];
    await Promise.all(listeners.flatMap(({ parley }) => KINDS.map((kind) => parley.channel(`${kind}/1`).subscribed)));
    // It must not get its own messages back, from whichever connection it has published them.
    const own = record(publisher.parley.channel("kept/1"));
    let last = 0;
    let isOver = false;
    const doubtful = new Set<number>();
    const publishNext = async (): Promise<void> => {
      const next = ++last;
      const publishes = KINDS.map((kind) => publisher.parley.channel(`${kind}/1`).publish(next));
      const results = await Promise.allSettled(publishes);
      for (const [at, result] of results.entries())
        if (result.status === "rejected") {
          // Without history no one can tell.
          expect([KINDS[at], result.reason.code]).toEqual(["bare", "connection_lost"]);
          doubtful.add(next);
        }
    };
    await publishNext();
    const publishing = (async () => {
      while (!isOver) await publishNext();
    })();
    const all = [publisher, ...listeners];
    const reconnects = (): number => all.reduce((sum, { connects }) => sum + connects - 1, 0);
    await Promise.all(
      all.map(async (one) => {
        while (reconnects() < RECONNECTS) await one.fail(chance);
      }),
    );
    isOver = true;
    await publishing;
    await Promise.all(listeners.flatMap(({ parley }) => KINDS.map((kind) => parley.channel(`${kind}/1`).subscribed)));
    do await publishNext();
    while (doubtful.has(last));
    await until("everyone has the last message", () =>
      records.every((record) => KINDS.every((kind) => record[kind].at(-1) === last)),
    );
    const gaps = (kind: Kind): number => records.flatMap((one) => one[kind]).filter((entry) => entry === GAP).length;
    console.log(
      `seed ${SEED}: ${reconnects()} reconnects, ${last} messages per channel, gaps: ${KINDS.map((kind) => `${gaps(kind)} ${kind}`).join(", ")}; ${doubtful.size} doubtful`,
    );
    for (const [at, record] of records.entries())
      for (const kind of KINDS)
        expect([SEED, at, kind, faultsOf(record[kind], last, kind === "bare" ? doubtful : new Set())]).toEqual([
          SEED,
          at,
          kind,
          [],
        ]);
    expect(gaps("kept")).toBe(0);
    expect([SEED, own]).toEqual([SEED, []]);
    // A connection that ended before its subscription has none of its own.
    expect(gaps("bare")).toBeGreaterThan(0);
    expect(gaps("bare")).toBeLessThanOrEqual(reconnects());
    await Promise.all(all.map((one) => one.close()));
  },
);
