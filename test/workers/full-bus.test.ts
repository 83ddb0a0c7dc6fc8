/**
 * The queue from one worker to another is full, because the other does not read. The link is cut, and repaired when it reads again: what was acknowledged
 * meanwhile is replayed, or the subscribers that lack it are disconnected.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { readMetrics } from "../conformance/raw/support/metrics.ts";
import type { Guest, World } from "../conformance/raw/support/world.ts";
import { fresh, subscribe } from "../conformance/raw/support/world.ts";
import type { LogLine } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { until } from "../support/wait.ts";
import { BUSY, plantedBus } from "./support/bus.ts";
import { Load } from "./support/load.ts";
import { Service } from "./support/service.ts";
import { isRunning, pidOf } from "./support/workers.ts";

/** By then the worker has received the message that keeps it busy. */
const BLOCKED_WITHIN_MS = 200;

setDefaultTimeout(300_000);

const KIB = 1024;
const MIB = 1024 * KIB;
const ROUNDS = IS_FULL ? 4 : 1;
const MESSAGE_BYTES = 20_000;
/**
 * Messages per second, of which each channel has a part. One replay has 48 of these messages: with more per second, few clients whose
 * worker was stopped for long could get all that they had missed.
 */
const RATE = 100;
/** A second of the messages to one worker, about: with less, also a worker that waits for a busy machine would be cut off, again and again. */
const QUEUE_BYTES = MIB;
/** Less than the silence that a worker is killed for. */
const STOPPED_MAX_MS = 1500;

const isCut = ({ msg }: LogLine): boolean => msg.includes("it does not read");
const isRepaired = ({ msg }: LogLine): boolean => msg === "all workers are in sync again";

for (const workers of IS_FULL ? [2, 3] : [3])
  test(`a full queue between ${workers} workers is cut and repaired, and nothing acknowledged is lost`, async () => {
    await using service = await Service.start(workers, plantedBus(QUEUE_BYTES));
    await using load = await Load.on(service, { bytes: MESSAGE_BYTES, rate: RATE });
    const { server } = service.world;
    let cuts = 0;
    for (let round = 0; round < ROUNDS || cuts === 0; round++) {
      await load.rest.goesOn();
      const [victim = 0] = service.workers;
      const skip = server.log.length;
      process.kill(victim, "SIGSTOP");
      // Not every stop is long enough to fill the queue.
      await until("the queue is cut", () => server.log.slice(skip).some(isCut), STOPPED_MAX_MS).catch(() => undefined);
      if (isRunning(victim)) process.kill(victim, "SIGCONT");
      const isFull = server.log.slice(skip).some(isCut);
      if (isFull) await server.logged(isRepaired, skip);
      cuts += Number(isFull);
      await service.whole();
    }
    await load.goesOn();
    // A member whose worker was stopped for long may have left and come back for the others.
    // On a busy machine clients come back so late that they have missed more than one replay has.
    await load.judge(`a full queue, cut ${cuts} times`, { allowFlaps: true }, false);
  });

/** The product's own bounds: 64 MiB are queued for a worker, and 32 MiB are kept to be replayed. */
test.skipIf(!IS_FULL)("a worker that is busy for long costs the others a bounded amount of memory", async () => {
  await using service = await Service.start(2, {
    ...plantedBus(),
    PARLEY_FRAMES_PER_SECOND: "0",
  });
  const { world } = service;
  const { server } = world;
  const channel = fresh("flood");
  const [publishers, listeners] = await onWorkers(world, 4, 4);
  const [blocker, ...subscribers] = listeners;
  if (!blocker) throw new Error("there is no connection on the second worker");
  for (const { wire } of subscribers) await subscribe(wire, channel);
  const sender = pidOf(server, 0);
  const before = residentBytes(sender);
  blocker.wire.send({ type: "publish", channel: fresh("nowhere"), data: `${BUSY}8` });
  await Bun.sleep(BLOCKED_WITHIN_MS);
  const acked: number[] = [];
  let next = 0;
  let most = 0;
  const data = "x".repeat(60_000);
  const publish = async ({ wire }: Guest): Promise<void> => {
    while (!server.log.some(isCut)) {
      const number = next++;
      if ((await wire.request({ type: "publish", channel, data: [number, data] })).type === "ack") acked.push(number);
      most = Math.max(most, residentBytes(sender));
    }
  };
  await Promise.all(publishers.map(publish));
  await server.logged(isRepaired);
  await service.whole();
  console.log(`busy: ${acked.length} acked, ${Math.round((most - before) / MIB)} MiB more on the sender`);
  // Queue and replay, each as text of one byte per character, and what is being collected.
  expect(most - before).toBeLessThan(400 * MIB);
  for (const { wire } of subscribers)
    await until("a subscriber has neither all messages nor an end", () => {
      if (wire.isOver) return true;
      const seen = new Set(wire.frames.flatMap((frame) => (frame.type === "message" ? [numberOf(frame.data)] : [])));
      return acked.every((number) => seen.has(number));
    });
  // More was published than is kept, so they were sent away, to come back.
  expect(subscribers.map(({ wire }) => wire.isOver)).toEqual(subscribers.map(() => true));
});

const numberOf = (data: unknown): number => Number(Array.isArray(data) ? data[0] : Number.NaN);

const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * KIB;

/** Connections by worker, as many as are wanted on each of two. */
async function onWorkers(world: World, first: number, second: number): Promise<readonly [Guest[], Guest[]]> {
  const found: [Guest[], Guest[]] = [[], []];
  const held = async (): Promise<number> => (await readMetrics(world.server)).get('parley_connections{worker="0"}');
  let count = await held();
  while (found[0].length < first || found[1].length < second) {
    const guest = await world.guest();
    const now = await held();
    found[now > count ? 0 : 1].push(guest);
    count = now;
  }
  return found;
}
