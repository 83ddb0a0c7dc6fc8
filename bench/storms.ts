/**
 * Storms: all clients of a node, or those of one of several, lose their connections because it is killed, and come back as clients do: after a
 * quarter to half a second, and later if that fails. Measured: the time until all have their rosters again, CPU of the service per client that
 * comes back, the longest wait for an answer meanwhile, and the peak of memory per connection.
 *
 *   npm run bench -- storms                    18,000 clients: one node, 4 workers, 3 nodes on NATS
 *   npm run bench -- storms --only node        node, worker, workers or nodes
 *   npm run bench -- storms --clients 5000 --runs 3
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Ground } from "./cluster/systems.ts";
import { Answers, type Waits } from "./lib/answers.ts";
import { Holders, sourcesFor } from "./lib/holder.ts";
import { openFilesLimit } from "./lib/memory.ts";
import { keep, median, table } from "./lib/report.ts";
import { untilStopped } from "./lib/until-stopped.ts";
import { oneNode, onNats, onWorkers, type Scenario, type Stormed } from "./storms/service.ts";
import { residentBytesOf, Watch } from "./storms/watch.ts";

const CHANNEL_SIZE = 10;
const HOLDERS = 2;
/** Each holder opens this number at a time. */
const OPENING = 250;
const SETTLE_MS = 5000;
/** The service has collected what the storm has left behind. */
const CALM_MS = 20_000;
const CONNECT_AGAIN_MS = 10;
const CONNECT_WITHIN_MS = 60_000;
/** Less than the shortest wait of a client that comes back. */
const NOTICED_MS = 100;
/** Open files that are not connections, and those that a node keeps free. */
const SPARE_FILES = 1200;
const PEAK_MAX_BYTES = 5000;
const WARM_UP = 500;

interface Figures {
  readonly lost: number;
  readonly backSeconds: number;
  readonly cpuUsPerClient: number;
  readonly waits: Waits;
  /** Per client, less the service before its first one. */
  readonly peakBytes: number;
  readonly restBytes: number;
  /** While the first clients connected. */
  readonly firstPeakBytes: number;
}

export async function storms(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      clients: { type: "string", default: "18000" },
      runs: { type: "string", default: "1" },
      only: { type: "string", default: "node,worker,workers,nodes" },
    },
  });
  const clients = Number(values.clients);
  const limit = openFilesLimit(process.pid);
  if (!(clients > 0 && clients <= limit - SPARE_FILES))
    throw new Error(
      `--clients ${values.clients}: from 1 to ${limit - SPARE_FILES}, because a node may open ${limit} files`,
    );
  const wanted = values.only.split(",");
  await using ground = wanted.includes("nodes") ? await Ground.lay() : undefined;
  const all: Readonly<Record<string, Scenario>> = {
    node: oneNode,
    worker: onWorkers(4, 1),
    workers: onWorkers(4, 4),
    ...(ground && { nodes: onNats(ground, 3) }),
  };
  const found = new Map<string, Figures[]>();
  for (let run = 0; run < Number(values.runs); run++)
    for (const key of wanted) {
      const scenario = all[key];
      if (!scenario) throw new Error(`--only ${key}: node, worker, workers or nodes`);
      console.error(scenario.name);
      const figures = found.get(scenario.name) ?? [];
      figures.push(await measure(scenario, clients));
      found.set(scenario.name, figures);
    }
  console.log(`${clients.toLocaleString("en")} clients in channels of ${CHANNEL_SIZE}\n${describe(found)}`);
  const first = found.get(oneNode.name)?.map(({ peakBytes }) => peakBytes);
  const holds = first === undefined || median(first) <= PEAK_MAX_BYTES;
  if (first)
    console.log(`\npeak of one node, at most ${PEAK_MAX_BYTES} bytes per client: ${holds ? "holds" : "MISSED"}`);
  console.log(`written to ${await keep("storms", { clients, runs: Object.fromEntries(found), holds })}`);
  return holds;
}

async function measure(scenario: Scenario, clients: number): Promise<Figures> {
  await using service = await scenario.start();
  return await untilStopped(strike(service, scenario, clients));
}

async function strike(service: Stormed, scenario: Scenario, clients: number): Promise<Figures> {
  await warmUp(service);
  await sleep(SETTLE_MS);
  const idle = residentBytesOf(service.pids());
  const filling = new Watch(service.pids, idle);
  await using holders = await holdersOf(service, clients);
  await holders.open(clients);
  await sleep(SETTLE_MS);
  filling.stop();
  await holders.forget();
  const watch = new Watch(service.pids, idle);
  try {
    const answers = scenario.hasSurvivors ? await connected(service) : undefined;
    await service.strike();
    const back = lossesNoticed(holders).then(() => holders.back());
    const waits = await (answers ?? (await connected(service))).during(back);
    const { lost, backSeconds } = await back;
    watch.sample();
    const cpu = watch.cpuSeconds;
    await sleep(CALM_MS);
    watch.sample();
    const per = (bytes: number): number => bytes / clients;
    return {
      lost,
      backSeconds,
      cpuUsPerClient: (cpu / lost) * 1e6,
      waits,
      peakBytes: per(watch.peakBytes),
      restBytes: per(watch.bytes),
      firstPeakBytes: per(filling.peakBytes),
    };
  } finally {
    watch.stop();
    filling.stop();
  }
}

function holdersOf({ ports, dialect }: Stormed, clients: number, returns = true, name = "storm"): Promise<Holders> {
  return Holders.start(
    Array.from({ length: HOLDERS }, (_, holder) => ({
      scripts: Array.from({ length: Math.ceil(clients / HOLDERS) }, (_, i) => {
        const index = i * HOLDERS + holder;
        return dialect.subscriber(index, `${name}/${Math.floor(index / CHANNEL_SIZE)}`, { metadata: false });
      }),
      ports,
      sources: sourcesFor(holder, clients / HOLDERS),
      opening: OPENING,
      returns,
    })),
  );
}

/** Compiles code, so that what a process takes once does not count as memory of its clients. */
async function warmUp(service: Stormed): Promise<void> {
  await using holders = await holdersOf(service, WARM_UP, false, "warm");
  await holders.open(WARM_UP);
}

/** As soon as the service takes connections. */
async function connected({ ports, secretKey, serving }: Stormed): Promise<Answers> {
  const deadline = performance.now() + CONNECT_WITHIN_MS;
  for (;;) {
    try {
      return await Answers.connect(ports, secretKey, serving);
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(CONNECT_AGAIN_MS);
    }
  }
}

async function lossesNoticed(holders: Holders): Promise<void> {
  const deadline = performance.now() + CONNECT_WITHIN_MS;
  while ((await holders.report()).lost === 0) {
    if (performance.now() > deadline) throw new Error("no client has lost its connection");
    await sleep(CONNECT_AGAIN_MS);
  }
  // All have lost theirs by then, and none is back.
  await sleep(NOTICED_MS);
}

function describe(found: ReadonlyMap<string, readonly Figures[]>): string {
  const heads = [
    "",
    "clients lost",
    "all back after, s",
    "CPU per client, µs",
    "longest wait, ms",
    "peak bytes each",
    "peak of the first connects",
    "20 s later",
  ];
  const rows = [...found].map(([name, all]) => {
    const of = (value: (one: Figures) => number): number => median(all.map(value));
    return [
      name,
      of(({ lost }) => lost).toLocaleString("en"),
      of(({ backSeconds }) => backSeconds).toFixed(2),
      of(({ cpuUsPerClient }) => cpuUsPerClient).toFixed(0),
      of(({ waits }) => waits.longestMs).toFixed(0),
      of(({ peakBytes }) => peakBytes).toFixed(0),
      of(({ firstPeakBytes }) => firstPeakBytes).toFixed(0),
      of(({ restBytes }) => restBytes).toFixed(0),
    ];
  });
  return table(heads, rows);
}
