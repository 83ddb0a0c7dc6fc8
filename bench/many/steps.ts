/** The connections of a run, in steps: opened, held, and what the service takes meanwhile. */
import { setTimeout as sleep } from "node:timers/promises";
import { MARK, payload, type Script } from "../contenders/contender.ts";
import { Answers, type Waits } from "../lib/answers.ts";
import { Holders, sourcesFor } from "../lib/holder.ts";
import { type Latencies, latencies } from "../lib/loader.ts";
import { connectToken } from "../lib/token.ts";
import type { Service } from "../workers/systems.ts";
import { cpuOfAll, type Footprint, footprintOf } from "./footprint.ts";

const CHANNEL_SIZE = 10;
/** All holders together: more than the runtime's backlog of 512 per process would measure the kernel's retries. */
const OPENING_IN_ALL = 512;
const WARM_UP_ROUNDS = 3;
const WARM_UP_PER_PROCESS = 50;
const IDLE_LOOKS = 5;
const LOOK_EVERY_MS = 1000;
export const LARGE_CHANNEL = 1000;
const MESSAGES_PER_SECOND = 10;
const MESSAGE_BYTES = 128;
const WARM_UP_MS = 2000;
const LIFE_SECONDS = 3600;
const UNSEEN = ["publish", "subscribe"];

export interface Times {
  /** After the last connect, until memory is read: the service collects what the connects have left behind. */
  readonly settleMs: number;
  /** Each of: at rest, asked, and with messages to the large channel. */
  readonly measureMs: number;
}

export interface StepFigures {
  readonly connections: number;
  readonly openSeconds: number;
  /** The mean of this step's connects. */
  readonly cpuUsPerConnect: number;
  readonly footprint: Footprint;
  readonly rssPerConnection: number;
  /** Both ends. */
  readonly kernelPerConnection: number;
  /** Share of one core, of all processes together. */
  readonly cpuAtRest: number;
  readonly waits: Waits;
  readonly delivery: Pick<Latencies, "p50us" | "p99us" | "mostus">;
}

export interface Run {
  readonly idle: Footprint;
  readonly idleCpu: number;
  readonly steps: readonly StepFigures[];
}

/** Connections of a kind are numbered consecutively, each with a peer id and a token of its own. */
const scriptsOf = ({ dialect }: Service, from: number, count: number, channel: (index: number) => string): Script[] =>
  Array.from({ length: count }, (_, i) => dialect.subscriber(from + i, channel(from + i), { metadata: false }));

export async function runSteps(
  service: Service,
  steps: readonly number[],
  holders: number,
  { settleMs, measureMs }: Times,
  hasPresence: boolean,
): Promise<Run> {
  const { port, pids } = service;
  const processes = Math.max(1, pids.length - 1);
  const most = Math.max(...steps);
  await warmUp(service, processes);
  const idle = await lowest(pids);
  const idleCpu = await cpuAtRest(pids, measureMs);
  const opening = Math.max(4, Math.floor(OPENING_IN_ALL / holders));
  const perHolder = Math.ceil(most / holders);
  // Peers of a channel come from different holders, as they do from the world.
  const plans = Array.from({ length: holders }, (_, holder) => ({
    scripts: Array.from({ length: perHolder }, (_, i) => {
      const index = i * holders + holder;
      const channel = `held/${Math.floor(index / CHANNEL_SIZE)}`;
      return hasPresence
        ? service.dialect.subscriber(index, channel, { metadata: false })
        : unseen(service, index, channel);
    }),
    ports: [port],
    sources: sourcesFor(holder, perHolder),
    opening,
  }));
  await using held = await Holders.start(plans);
  const figures: StepFigures[] = [];
  let before = 0;
  for (const connections of steps) {
    console.error(`${connections.toLocaleString("en")} connections`);
    const cpuBefore = cpuOfAll(pids);
    const { seconds } = await held.open(connections);
    const cpuUsPerConnect = ((cpuOfAll(pids) - cpuBefore) / (connections - before)) * 1e6;
    before = connections;
    await sleep(settleMs);
    const footprint = footprintOf(pids);
    const rest = await cpuAtRest(pids, measureMs);
    const waits = await asked(service, processes, measureMs);
    const delivery = await latencies(largeChannel(service, most + perHolder, measureMs), {
      port,
      pids,
      sharesCores: true,
    });
    const { ready } = await held.report();
    if (ready !== connections) throw new Error(`${ready} of ${connections} connections are still there`);
    figures.push({
      connections,
      openSeconds: seconds,
      cpuUsPerConnect,
      footprint,
      rssPerConnection: (footprint.rss - idle.rss) / connections,
      kernelPerConnection: (footprint.kernel - idle.kernel) / connections,
      cpuAtRest: rest,
      waits,
      delivery,
    });
  }
  return { idle, idleCpu, steps: figures };
}

/** A subscriber that neither sees members nor is one: no roster follows its ack. */
function unseen({ secretKey }: Service, index: number, channel: string): Script {
  const identity = { peerId: `unseen-${index}`, peerMetadata: {}, lifeSeconds: LIFE_SECONDS, permissions: UNSEEN };
  return {
    path: `/v1?token=${connectToken(secretKey, identity)}`,
    steps: [
      { expect: '"welcome"' },
      { send: JSON.stringify({ type: "subscribe", channel, requestId: "s" }) },
      { expect: '"ack"' },
    ],
  };
}

/** Compiles code and grows pools, so that what a process takes once does not count as memory of its connections. */
async function warmUp(service: Service, processes: number): Promise<void> {
  const count = processes * WARM_UP_PER_PROCESS;
  for (let round = 0; round < WARM_UP_ROUNDS; round++) {
    const scripts = scriptsOf(service, 0, count, (index) => `warm/${Math.floor(index / CHANNEL_SIZE)}`);
    await using holders = await Holders.start([
      { scripts, ports: [service.port], sources: sourcesFor(0, count), opening: processes * 8 },
    ]);
    await holders.open(count);
  }
}

async function lowest(pids: readonly number[]): Promise<Footprint> {
  let found = footprintOf(pids);
  for (let look = 0; look < IDLE_LOOKS; look++) {
    await sleep(LOOK_EVERY_MS);
    const now = footprintOf(pids);
    found = { rss: Math.min(found.rss, now.rss), kernel: Math.min(found.kernel, now.kernel) };
  }
  return found;
}

async function cpuAtRest(pids: readonly number[], ms: number): Promise<number> {
  const [before, startMs] = [cpuOfAll(pids), performance.now()];
  await sleep(ms);
  return ((cpuOfAll(pids) - before) / (performance.now() - startMs)) * 1000;
}

async function asked(
  { port, secretKey }: { port: number; secretKey: string },
  processes: number,
  ms: number,
): Promise<Waits> {
  const answers = await Answers.connect([port], secretKey, processes);
  try {
    return await answers.during(sleep(ms));
  } finally {
    await answers.leave();
  }
}

/** 1,000 further connections, which the system spreads over all processes. */
function largeChannel(service: Service, from: number, measureMs: number) {
  const subscribers = scriptsOf(service, from, LARGE_CHANNEL, () => "large");
  const connections = [
    ...subscribers.map((script) => ({ script, hears: 0 })),
    { script: service.dialect.publisher(from + LARGE_CHANNEL, "large") },
  ];
  const frame = service.dialect.publish("large", payload(MESSAGE_BYTES), false);
  if (!frame.text.includes(MARK)) throw new Error("the message has no mark");
  const publishers = [{ connection: LARGE_CHANNEL, receivers: LARGE_CHANNEL, frame }];
  return { connections, publishers, rate: MESSAGES_PER_SECOND, warmUpMs: WARM_UP_MS, measureMs };
}
