/**
 * What a client can recover changes while it is away, or while it recovers: history is switched off or on, shortened or deleted, and
 * its key allows less. It goes on in a known state, and says what it may have missed. PARLEY_TEST_FULL=1: also at random moments.
 */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { type Channel, Parley } from "../../client/src/index.ts";
import { call } from "../support/http.ts";
import { Chance } from "../support/random.ts";
import { until } from "../support/wait.ts";
import { Unlucky } from "./support/faults.ts";
import { hurry } from "./support/hurry.ts";
import { IS_FULL, Service } from "./support/service.ts";

const ASK_EVERY_MS = 20;

setDefaultTimeout(300_000);

const STEPS = 60;
const SEED = Number(process.env.PARLEY_TEST_SEED ?? Date.now() % 1e6);

let service: Service;
let publisher: Parley;
let unhurry: () => void;
const unhandled: unknown[] = [];
const noteUnhandled = (reason: unknown): void => void unhandled.push(reason);

beforeAll(async () => {
  unhurry = hurry();
  process.on("unhandledRejection", noteUnhandled);
  service = await Service.start([]);
  publisher = new Parley({ url: service.url, key: service.publishableKey });
});
afterAll(async () => {
  publisher.close();
  await service.stop();
  process.off("unhandledRejection", noteUnhandled);
  unhurry();
});

let cases = 0;
let name: string;
beforeEach(async () => {
  name = `case/${++cases}`;
  await keep(100);
});

let kept = 0;

/** Slow: the service accepts rules that keep history two seconds after the last change. */
const keep = async (messages: number): Promise<void> => {
  if (messages === kept) return;
  kept = messages;
  await service.setRules(messages === 0 ? [] : [{ pattern: "case/*", history: { messages, seconds: 3600 } }]);
};
const keepNothing = (): Promise<void> => keep(0);

async function deleteHistory(): Promise<void> {
  const path = `/v1/channels/${encodeURIComponent(name)}/history`;
  const { status } = await call(`${service.url}${path}`, { method: "DELETE", bearer: service.credential });
  // 404: there is none at the moment.
  expect([200, 404]).toContain(status);
}

type Seen = (number | string)[];

function record(channel: Channel): Seen {
  const seen: Seen = [];
  channel.on("message", ({ data }) => seen.push(data as number));
  channel.on("gap", ({ reason }) => seen.push(reason));
  channel.on("error", ({ code }) => seen.push(code));
  return seen;
}

const publish = async (...numbers: number[]): Promise<void> => {
  for (const number of numbers) await publisher.channel(name).publish(number);
};

/** A listener that has the messages 1 and 2. */
async function listener(): Promise<{ one: Unlucky; channel: Channel; seen: Seen }> {
  const one = await Unlucky.start(service, `listener-${cases}`);
  const channel = one.parley.channel(name);
  const seen = record(channel);
  await channel.subscribed;
  await publish(1, 2);
  await until("messages arrive", () => seen.includes(2));
  return { one, channel, seen };
}

/** Its connection ends, this happens, and it is back. */
async function away({ one, channel }: { one: Unlucky; channel: Channel }, work: () => Promise<void>): Promise<void> {
  one.proxy.cut();
  await until("the drop is noticed", () => !one.parley.isConnected);
  await work();
  const back = new Promise((resolve) => channel.once("subscribed", resolve));
  one.proxy.mend();
  await back;
}

type Change = readonly [what: string, change: () => Promise<void>, reason: string];

const CHANGES: readonly Change[] = [["deleted", deleteHistory, "not_recovered"]];
const SLOW_CHANGES: readonly Change[] = [
  ["shortened", () => keep(1), "not_recovered"],
  ["switched off", keepNothing, "no_history"],
  ["switched off and on again", () => keepNothing().then(() => keep(100)), "not_recovered"],
];

test.each([...CHANGES, ...(IS_FULL ? SLOW_CHANGES : [])])(
  "history that is %s while a client is away: one gap, and it goes on",
  async (_, change, reason) => {
    const it = await listener();
    await away(it, async () => {
      await publish(3, 4);
      await change();
    });
    await publish(5);
    await until("it goes on", () => it.seen.at(-1) === 5);
    expect(it.seen).toEqual([1, 2, reason, 5]);
    // The gap is over: what it misses next is recovered, where there is a history.
    await keep(100);
    await until("it is subscribed", () => it.one.parley.isConnected);
    await it.channel.subscribed;
    await publish(6);
    await until("it goes on", () => it.seen.at(-1) === 6);
    const before = it.seen.length;
    await away(it, () => publish(7, 8));
    await until("it has recovered", () => it.seen.at(-1) === 8);
    expect(it.seen.slice(before)).toEqual([7, 8]);
    await it.one.close();
  },
);

test.if(IS_FULL)(
  "history that is shortened to what is missing, or made longer, is recovered without a gap",
  async () => {
    const it = await listener();
    await away(it, async () => {
      await publish(3, 4);
      await keep(2);
    });
    await away(it, async () => {
      await publish(5);
      await keep(1000);
    });
    await publish(6);
    await until("it goes on", () => it.seen.at(-1) === 6);
    expect(it.seen).toEqual([1, 2, 3, 4, 5, 6]);
    await it.one.close();
  },
);

test.if(IS_FULL)(
  "history that is switched off and on while a client listens: a gap each, and nothing twice",
  async () => {
    const it = await listener();
    for (const [change, reason, next] of [
      [keepNothing, "no_history", 3],
      [() => keep(100), "not_recovered", 4],
      [deleteHistory, "not_recovered", 5],
    ] as const) {
      const before = it.one.connects;
      await change();
      await until("it comes back", () => it.one.connects > before);
      await it.channel.subscribed;
      await publish(next);
      await until("it goes on", () => it.seen.at(-1) === next);
      expect(it.seen.slice(-2)).toEqual([reason, next]);
    }
    expect(it.seen.filter((one) => typeof one === "number")).toEqual([1, 2, 3, 4, 5]);
    await it.one.close();
  },
);

test("a key that allows less while a client is away: it gets an error, and recovers when it may again", async () => {
  const it = await listener();
  it.one.proxy.cut();
  await until("the drop is noticed", () => !it.one.parley.isConnected);
  await publish(3);
  await service.allow("other/**");
  it.one.proxy.mend();
  await until("it is refused", () => it.seen.includes("channel_not_authorized"));
  await expect(it.channel.subscribe()).rejects.toMatchObject({ code: "channel_not_authorized" });
  await publish(4);
  await service.allow();
  await it.channel.subscribe();
  await publish(5);
  await until("it goes on", () => it.seen.at(-1) === 5);
  expect(it.seen.filter((one) => one !== "channel_not_authorized")).toEqual([1, 2, 3, 4, 5]);
  expect(it.one.parley.status.state).toBe("connected");
  await it.one.close();
  expect(unhandled).toEqual([]);
});

/** What is wrong with it: messages come once and in order, and none is missing unless a gap was reported. */
function faultsOf(seen: Seen, doubtful: ReadonlySet<number>): string[] {
  const faults: string[] = [];
  let before = 2;
  let mayMiss = false;
  for (const one of seen.slice(2)) {
    if (typeof one !== "number") {
      mayMiss ||= one === "no_history" || one === "not_recovered";
      continue;
    }
    if (one <= before) faults.push(`${one} came after ${before}`);
    for (let missed = before + 1; missed < one && !mayMiss; missed++)
      if (!doubtful.has(missed)) faults.push(`${missed} is missing before ${one}`);
    before = one;
    mayMiss = false;
  }
  return faults;
}

test.if(IS_FULL)(
  `${STEPS} changes and cuts at random moments: every message comes once, or a gap is reported`,
  async () => {
    const chance = new Chance(SEED);
    const { one, channel, seen } = await listener();
    const doubtful = new Set<number>();
    let last = 2;
    let isOver = false;
    const publishNext = (): Promise<void> => {
      const number = ++last;
      return publisher
        .channel(name)
        .publish(number)
        .then(
          () => undefined,
          () => void doubtful.add(number),
        );
    };
    const publishing = (async () => {
      while (!isOver) await Promise.all([publishNext(), Bun.sleep(chance.below(6))]);
    })();
    // An application that wants the channel asks again after a refusal.
    const asking = (async () => {
      while (!isOver) {
        await channel.subscribe().catch(() => undefined);
        channel.unsubscribe();
        await Bun.sleep(ASK_EVERY_MS);
      }
    })();
    const changes = [
      keepNothing,
      () => keep(100),
      () => keep(1000),
      () => keep(2),
      deleteHistory,
      async () => {
        await service.allow("other/**");
        await Bun.sleep(chance.below(40));
        await service.allow();
      },
    ];
    // Cuts go on all the time: a change of rules takes two seconds.
    const cutting = (async () => {
      while (!isOver) await one.fail(chance);
    })();
    for (let step = 0; step < STEPS; step++) {
      await chance.pick(changes)();
      await Bun.sleep(chance.below(200));
    }
    await keep(1000);
    isOver = true;
    await Promise.all([publishing, asking, cutting]);
    await channel.subscribe();
    do await publishNext();
    while (doubtful.has(last));
    await until("it has the last message", () => seen.at(-1) === last);
    const count = (what: string): number => seen.filter((entry) => entry === what).length;
    console.log(
      `seed ${SEED}: ${last} messages, ${doubtful.size} doubtful, ${one.connects} connects, gaps ${count("no_history")} and ${count("not_recovered")}, refusals ${count("channel_not_authorized")}`,
    );
    expect([SEED, faultsOf(seen, doubtful)]).toEqual([SEED, []]);
    expect([SEED, unhandled]).toEqual([SEED, []]);
    await one.close();
  },
);
