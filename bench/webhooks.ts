/**
 * Webhooks: how many events a second reach ten endpoints, and what endpoints that hang cost everything else.
 *
 *   npm run bench -- webhooks              both
 *   npm run bench -- webhooks --only rate  1,000 events a second to ten endpoints
 *   npm run bench -- webhooks --only hanging    loads (a) and (f) of `npm run bench` with 30 endpoints that hang, against without; rooms are made in both
 *   --quick    once and short: to see that it works, not for conclusions
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Running } from "./contenders/contender.ts";
import { ON_SERVER_CORE } from "./contenders/core.ts";
import { dialect, OPEN_CEILINGS } from "./contenders/parley.ts";
import { type Parley, startParley } from "./lib/parley.ts";
import { keep, median, table } from "./lib/report.ts";
import { connectsTo, isSliced, LOADS } from "./speed/loads.ts";
import { sideBySide } from "./speed/slices.ts";

const ADMIN_TOKEN = `bench_${crypto.randomUUID()}`;
const ENDPOINTS = 10;
const EVENTS_PER_SECOND = 1000;
const TICK_MS = 20;
const HANGING = 30;
const HANGING_EVENTS_EVERY_MS = 500;
const HANGING_COST_MAX = 0.05;
const EFFORT = { seconds: 30, runs: 7, slices: { ms: 100, unmeasured: 30, measured: 60 } };
const QUICK = { seconds: 5, runs: 1, slices: { ms: 100, unmeasured: 5, measured: 10 } };

export async function webhooks(args: readonly string[]): Promise<boolean> {
  const options = { quick: { type: "boolean", default: false }, only: { type: "string" } } as const;
  const { values } = parseArgs({ args: [...args], options });
  const effort = values.quick ? QUICK : EFFORT;
  const rate = values.only === "hanging" ? undefined : await measureRate(effort.seconds);
  const hanging = values.only === "rate" ? undefined : await measureHanging(effort);
  const holds = (rate?.holds ?? true) && (hanging?.holds ?? true);
  console.log(`written to ${await keep("webhooks", { rate, hanging, holds })}`);
  return holds;
}

interface Receiver extends Disposable {
  readonly url: string;
}

async function startReceiver(): Promise<Receiver> {
  const child = Bun.spawn([process.execPath, "--no-env-file", join(import.meta.dir, "controls/webhook-receiver.ts")], {
    stdout: "pipe",
  });
  const { value } = await child.stdout.getReader().read();
  const url = `http://127.0.0.1:${new TextDecoder().decode(value).trim()}`;
  return { url, [Symbol.dispose]: () => child.kill() };
}

const start = (prefix: readonly string[] = []): Promise<Parley> =>
  startParley({
    prefix,
    settings: { ...OPEN_CEILINGS, PARLEY_ADMIN_TOKEN: ADMIN_TOKEN, PARLEY_WEBHOOK_ALLOW: "127.0.0.0/8" },
  });

async function call<T>(server: Parley, path: string, body: object): Promise<T> {
  const answer = await fetch(new URL(`/api/internal/v1${path}`, server.url), {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** Makes a room, which is one event. */
async function makeRoom(server: Parley, app: string, secretKey: string, roomName: string): Promise<void> {
  const answer = await fetch(new URL("/api/v1/room", server.url), {
    method: "POST",
    headers: {
      host: `${app}.localhost:${server.url.port}`,
      authorization: `Bearer ${secretKey}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ roomName }),
  });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}

/** Rooms are made in ten applications with one endpoint each: the whole way from the call to the receiver. */
async function measureRate(seconds: number) {
  using receiver = await startReceiver();
  await using server = await start();
  const apps: { name: string; secretKey: string }[] = [];
  for (let at = 0; at < ENDPOINTS; at++) {
    const app = await call<{ name: string; secretKey: string }>(server, "/apps", { name: `bench-${at}` });
    await call(server, `/apps/${app.name}/webhooks`, { url: `${receiver.url}/${at}`, events: ["room.created"] });
    apps.push(app);
  }
  const total = seconds * EVENTS_PER_SECOND;
  const began = performance.now();
  const calls = new Set<Promise<void>>();
  let made = 0;
  while (made < total) {
    const due = Math.min(total, Math.floor(((performance.now() - began) / 1000) * EVENTS_PER_SECOND));
    for (; made < due; made++) {
      const { name, secretKey } = apps[made % apps.length] as { name: string; secretKey: string };
      const one = makeRoom(server, name, secretKey, `room-${made}`).finally(() => calls.delete(one));
      calls.add(one);
    }
    await Bun.sleep(TICK_MS);
  }
  await Promise.all(calls);
  const madeSeconds = (performance.now() - began) / 1000;
  const late: number[] = [];
  let distinct = 0;
  while (distinct < total && performance.now() - began < 10 * seconds * 1000) {
    const arrived = (await (await fetch(`${receiver.url}/arrived`)).json()) as { late: number[]; distinct: number };
    late.push(...arrived.late);
    ({ distinct } = arrived);
    if (distinct < total) await Bun.sleep(TICK_MS);
  }
  const wholeSeconds = (performance.now() - began) / 1000;
  const sorted = late.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  const figures = {
    events: total,
    arrived: distinct,
    requests: late.length,
    madePerSecond: total / madeSeconds,
    arrivedPerSecond: distinct / wholeSeconds,
    p50ms: at(0.5),
    p99ms: at(0.99),
  };
  const holds = distinct === total && figures.arrivedPerSecond >= 0.95 * EVENTS_PER_SECOND;
  console.log(
    table(
      ["to ten endpoints", ""],
      Object.entries(figures).map(([name, value]) => [name, value.toFixed(1)]),
    ),
  );
  console.log(`at least ${EVENTS_PER_SECOND} events a second: ${holds ? "holds" : "MISSED"}\n`);
  return { ...figures, holds };
}

interface Measured extends Running {
  readonly server: Parley;
}

async function measureHanging({ runs, slices }: typeof EFFORT) {
  using receiver = await startReceiver();
  const found = new Map<string, number[]>();
  const add = (name: string, value: number): void => void found.set(name, [...(found.get(name) ?? []), value]);
  const load = LOADS.find(({ id }) => id === "a");
  if (!load || !isSliced(load)) throw new Error("there is no load (a) in turns");
  for (let run = 0; run < runs; run++) {
    console.error(`run ${run + 1} of ${runs}`);
    const order = run % 2 === 0 ? (["without", "hanging"] as const) : (["hanging", "without"] as const);
    const servers = new Map<string, Measured>();
    for (const name of order) servers.set(name, await startWithRooms(name === "hanging" ? receiver : undefined));
    const failed = (name: string, error: unknown): never => {
      throw new Error(`${name}: ${error}`);
    };
    try {
      const figures = await sideBySide(load, servers, slices, failed);
      for (const [name, one] of figures) add(`a ${name}`, one[load.figure] ?? Number.NaN);
      // Forwards and backwards, and the mean of both: of two equal servers, the one that is measured first took a quarter more connects.
      const connects = new Map<string, number[]>();
      for (const [name, server] of [...servers, ...[...servers].toReversed()]) {
        const { connectsPerCpuSecond = Number.NaN } = await connectsTo(server);
        connects.set(name, [...(connects.get(name) ?? []), connectsPerCpuSecond]);
      }
      for (const [name, [first = Number.NaN, second = Number.NaN]] of connects) add(`f ${name}`, (first + second) / 2);
    } finally {
      for (const one of servers.values()) await one[Symbol.asyncDispose]();
    }
  }
  const rows = ["a", "f"].map((id) => {
    const [without = [], hanging = []] = [found.get(`${id} without`), found.get(`${id} hanging`)];
    const ratio = median(hanging.map((value, at) => value / (without[at] ?? Number.NaN)));
    return { id, without: median(without), hanging: median(hanging), ratio, holds: ratio >= 1 - HANGING_COST_MAX };
  });
  const cells = rows.map(({ id, without, hanging, ratio, holds }) => [
    `(${id})`,
    without.toFixed(0),
    hanging.toFixed(0),
    ratio.toFixed(3),
    holds ? "holds" : "MISSED",
  ]);
  console.log(table(["per CPU-second", "without", `${HANGING} hang`, "ratio", "at least 0.95"], cells));
  return { rows, runs: Object.fromEntries(found), holds: rows.every(({ holds }) => holds) };
}

/** Rooms are made in two applications all the time. With a receiver: 30 endpoints of it hear of them. */
async function startWithRooms(receiver: Receiver | undefined): Promise<Measured> {
  const server = await start(ON_SERVER_CORE);
  const stopRooms = await makeRoomsIn(server, receiver);
  return {
    server,
    port: Number(server.url.port),
    pids: [server.pid],
    dialect: dialect(server.secretKey),
    [Symbol.asyncDispose]: async () => {
      stopRooms();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function makeRoomsIn(server: Parley, receiver: Receiver | undefined): Promise<() => void> {
  const apps: { name: string; secretKey: string }[] = [];
  for (let at = 0; at < HANGING; at++) {
    // An application has at most 20 endpoints.
    if (at % 15 === 0) apps.push(await call(server, "/apps", { name: `hanging-${at}` }));
    const { name } = apps[apps.length - 1] as { name: string };
    const webhook = { url: `${receiver?.url}/hang/${at}`, events: ["*"], channelPatterns: ["**"] };
    if (receiver) await call(server, `/apps/${name}/webhooks`, webhook);
  }
  let made = 0;
  const timer = setInterval(() => {
    made++;
    for (const { name, secretKey } of apps) makeRoom(server, name, secretKey, `room-${made}`).catch(() => undefined);
  }, HANGING_EVENTS_EVERY_MS);
  return () => clearInterval(timer);
}
