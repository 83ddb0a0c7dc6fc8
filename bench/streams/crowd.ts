/** Ten thousand readers of one stream: memory of a reader, CPU and stalls of a message to all, and a hundred of them that never read. */
import { setTimeout as sleep } from "node:timers/promises";
import type { HistoryNode } from "../history/node.ts";
import { KIB, MIB, memoryOf } from "../lib/memory.ts";
import { median } from "../lib/report.ts";
import { closed, opened, readerToken, streamReader, Tally } from "./lines.ts";
import { StuckReaders } from "./stuck.ts";
import { Writer } from "./writer.ts";

const BYTES = 128;
const WITHIN_MS = 60_000;
/** Buffers and code of the first ones are no cost of a reader. */
const WARM_UP_READERS = 1000;
const SETTLE_MS = 2000;
const LOOK_EVERY_MS = 200;
const MESSAGES = 8;

/** One of a hundred never reads. Ten times as many read the same stream, and all others another one. */
const STUCK_SHARE = 100;
const BESIDE_SHARE = 10;
/** More than the kernel holds for a socket, in messages of nearly the largest size. */
const STUCK_MESSAGES = 120;
const STUCK_BYTES = 60 * KIB;
const QUIET_EVERY = 8;
/** The service cuts a reader that has taken nothing for 15 s, and looks for them as often. */
const CUT_WITHIN_MS = 45_000;

export interface Crowd {
  readonly kibPerReader: number;
  readonly cpuMsPerMessage: number;
  readonly stallMs: number;
  readonly stallWithMachineMs: number;
  readonly stuckGrowthMib: number;
  readonly stuckLeft: number;
}

export async function crowd(node: HistoryNode, readers: number): Promise<Crowd> {
  const writer = new Writer(node);
  const tally = new Tally();
  const channel = "made/crowd";
  await writer.create(channel);
  const open = (count: number) =>
    opened(count, (at) => streamReader(node, channel, readerToken(node, "crowd", at), tally));
  const first = await open(WARM_UP_READERS);
  await writer.delivered(channel, MESSAGES, BYTES, WARM_UP_READERS, tally);
  await closed(first);
  const empty = await lowestBytes(node.pids[0]);
  const all = await open(readers);
  await sleep(SETTLE_MS);
  const kibPerReader = (memoryOf(node.pids[0]).rss - empty) / readers / KIB;
  await writer.delivered(channel, 2, BYTES, readers, tally);
  const cpu: number[] = [];
  for (let at = 0; at < MESSAGES; at++)
    cpu.push((await writer.delivered(channel, 1, BYTES, readers, tally)).cpuSeconds * 1000);
  const stalls = await node.stalls(() => writer.delivered(channel, MESSAGES, BYTES, readers, tally));
  await closed(all);
  return {
    kibPerReader,
    cpuMsPerMessage: median(cpu),
    stallMs: stalls.longestMs,
    stallWithMachineMs: stalls.longestWithMachineMs,
    ...(await stuck(node, writer, readers)),
  };
}

async function stuck(node: HistoryNode, writer: Writer, readers: number) {
  const [channel, quiet] = ["made/stuck", "made/quiet"];
  const [tally, quietTally] = [new Tally(), new Tally()];
  const [never, beside] = [readers / STUCK_SHARE, readers / BESIDE_SHARE];
  const others = readers - never - beside;
  await writer.create(channel);
  await writer.create(quiet);
  using _stuck = new StuckReaders(node, channel, never);
  const lines = [
    ...(await opened(beside, (at) => streamReader(node, channel, readerToken(node, "beside", at), tally))),
    ...(await opened(others, (at) => streamReader(node, quiet, readerToken(node, "others", at), quietTally))),
  ];
  await untilReaders(node, readers, WITHIN_MS);
  const before = memoryOf(node.pids[0]).rss;
  for (let at = 0; at < STUCK_MESSAGES; at++) {
    await writer.delivered(channel, 1, STUCK_BYTES, beside, tally);
    if (at % QUIET_EVERY === 0) await writer.delivered(quiet, 1, BYTES, others, quietTally);
  }
  const stuckGrowthMib = (memoryOf(node.pids[0]).rss - before) / MIB;
  await closed(lines);
  return { stuckGrowthMib, stuckLeft: await untilReaders(node, 0, CUT_WITHIN_MS) };
}

/** How many readers the node still has, by its own count, when there are that many, or when the time is over. */
async function untilReaders(node: HistoryNode, wanted: number, withinMs: number): Promise<number> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const text = await (await fetch(`http://127.0.0.1:${node.port}/metrics`)).text();
    const now = Number(/^parley_stream_readers(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1] ?? Number.NaN);
    if (now === wanted || performance.now() > deadline) return now;
    await sleep(LOOK_EVERY_MS);
  }
}

/** So that garbage of the warm-up does not count. */
async function lowestBytes(pid: number): Promise<number> {
  let lowest = Number.POSITIVE_INFINITY;
  const until = performance.now() + 2 * SETTLE_MS;
  while (performance.now() < until) {
    lowest = Math.min(lowest, memoryOf(pid).rss);
    await sleep(LOOK_EVERY_MS);
  }
  return lowest;
}
