/**
 * What readers over HTTP cost: CPU of a delivery over Server-Sent Events, of /v1/stream and of /v1/events, against the same over WebSocket in the
 * same run; memory of a reader; a message to ten thousand readers; a page.
 *
 *   npm run bench -- streams            five runs, some ten minutes
 *   npm run bench -- streams --quick    once, with few readers: to see that it works, not for conclusions
 */
import { parseArgs } from "node:util";
import { type HistoryNode, startNode } from "./history/node.ts";
import { exactCpuSeconds } from "./lib/cpu-clock.ts";
import { keep, median, table } from "./lib/report.ts";
import { crowd } from "./streams/crowd.ts";
import {
  closed,
  eventsReader,
  type Line,
  opened,
  readerToken,
  socketReader,
  streamReader,
  Tally,
} from "./streams/lines.ts";
import { Writer } from "./streams/writer.ts";

const WHOLE = { runs: 5, turns: 6, readers: 500, messages: 100, crowd: 10_000, pages: 100 };
const QUICK = { runs: 1, turns: 2, readers: 100, messages: 20, crowd: 1000, pages: 10 };
type Effort = typeof WHOLE;

const RULES = [{ pattern: "made/**", stream: { seconds: 3600, bytes: 256 * 1024 * 1024 } }];
const BYTES = 128;
const SETTLE_MS = 300;
/** A page of 256 KiB is full of them. */
const PAGE_MESSAGES = 900;

type Run = Readonly<Record<string, number>>;

const SOCKET = "a delivery over WebSocket: µs of CPU";
const STREAM = "a delivery over SSE of /v1/stream: µs of CPU";
const EVENTS = "a delivery over SSE of /v1/events: µs of CPU";
const MEMORY = "memory of a reader";
const CROWD = "a message to all readers: CPU";
const STALL = "a message to all readers: longest stall";
const STALL_WITH_MACHINE = "a message to all readers: longest stall, with what the machine took";
const GROWTH = "memory that readers which never read (1 of 100) add";
const LEFT = "of them, not cut after 45 s";
const PAGE = "a page of 256 KiB: CPU";

interface Bound {
  readonly name: string;
  readonly unit: string;
  readonly of: (run: Run) => number;
  readonly atMost?: number;
}

const value = (name: string) => (run: Run) => run[name] ?? Number.NaN;
const ratio = (name: string, control: string) => (run: Run) => value(name)(run) / value(control)(run);

const BOUNDS: readonly Bound[] = [
  { name: SOCKET, unit: "µs", of: value(SOCKET) },
  { name: STREAM, unit: "µs", of: value(STREAM) },
  { name: EVENTS, unit: "µs", of: value(EVENTS) },
  { name: "SSE of /v1/stream against WebSocket", unit: "×", of: ratio(STREAM, SOCKET), atMost: 2 },
  { name: "SSE of /v1/events against WebSocket", unit: "×", of: ratio(EVENTS, SOCKET), atMost: 2 },
  { name: MEMORY, unit: "KiB", of: value(MEMORY), atMost: 12 },
  { name: CROWD, unit: "ms", of: value(CROWD), atMost: 150 },
  { name: STALL, unit: "ms", of: value(STALL), atMost: 15 },
  { name: STALL_WITH_MACHINE, unit: "ms", of: value(STALL_WITH_MACHINE) },
  { name: GROWTH, unit: "MiB", of: value(GROWTH), atMost: 64 },
  { name: LEFT, unit: "", of: value(LEFT), atMost: 0 },
  { name: PAGE, unit: "ms", of: value(PAGE), atMost: 5 },
];

export async function streams(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { quick: { type: "boolean", default: false }, runs: { type: "string" } },
  });
  const effort = { ...(values.quick ? QUICK : WHOLE), ...(values.runs && { runs: Number(values.runs) }) };
  const runs: Run[] = [];
  for (let run = 1; run <= effort.runs; run++) {
    console.error(`run ${run} of ${effort.runs}`);
    runs.push(await oneRun(effort));
  }
  return report(effort, runs);
}

async function oneRun(effort: Effort): Promise<Run> {
  await using node = await startNode({}, RULES);
  const found = { ...(await deliveries(node, effort)), [PAGE]: await pages(node, effort) };
  const { kibPerReader, cpuMsPerMessage, stallMs, stallWithMachineMs, stuckGrowthMib, stuckLeft } = await crowd(
    node,
    effort.crowd,
  );
  return {
    ...found,
    [MEMORY]: kibPerReader,
    [CROWD]: cpuMsPerMessage,
    [STALL]: stallMs,
    [STALL_WITH_MACHINE]: stallWithMachineMs,
    [GROWTH]: stuckGrowthMib,
    [LEFT]: stuckLeft,
  };
}

interface Kind {
  readonly name: string;
  readonly channel: string;
  readonly open: (at: number, tally: Tally) => Promise<Line>;
}

/** The three kinds take turns on one node, forwards and backwards. The first turn warms up. */
async function deliveries(node: HistoryNode, { turns, readers, messages }: Effort): Promise<Run> {
  const writer = new Writer(node);
  const kinds: readonly Kind[] = [
    {
      name: SOCKET,
      channel: "made/socket",
      open: (at, tally) => socketReader(node, "made/socket", `socket-${at}`, tally),
    },
    {
      name: STREAM,
      channel: "made/stream",
      open: (at, tally) => streamReader(node, "made/stream", readerToken(node, "stream", at), tally),
    },
    {
      name: EVENTS,
      channel: "made/events",
      open: (at, tally) => eventsReader(node, "made/events", `events-${at}`, tally),
    },
  ];
  for (const { channel } of kinds) await writer.create(channel);
  const sums = new Map(kinds.map(({ name }) => [name, { cpuSeconds: 0, deliveries: 0 }]));
  const order = [...kinds];
  for (let turn = 0; turn <= turns; turn++) {
    order.reverse();
    for (const { name, channel, open } of order) {
      const tally = new Tally();
      // Readers of streams are asked to come back after a minute: each turn has new ones.
      const lines = await opened(readers, (at) => open(at, tally));
      await Bun.sleep(SETTLE_MS);
      const { cpuSeconds, deliveries: count } = await writer.delivered(channel, messages, BYTES, readers, tally);
      await closed(lines);
      await Bun.sleep(SETTLE_MS);
      const sum = sums.get(name);
      if (turn === 0 || !sum) continue;
      sum.cpuSeconds += cpuSeconds;
      sum.deliveries += count;
    }
  }
  return Object.fromEntries([...sums].map(([name, sum]) => [name, (sum.cpuSeconds / sum.deliveries) * 1e6]));
}

async function pages(node: HistoryNode, { pages: count }: Effort): Promise<number> {
  const writer = new Writer(node);
  await writer.create("made/page");
  for (let at = 0; at < 2; at++) await writer.writeAll("made/page", PAGE_MESSAGES, BYTES);
  await writer.read("made/page");
  const before = exactCpuSeconds(node.pids[0]);
  for (let at = 0; at < count; at++) await writer.read("made/page");
  return ((exactCpuSeconds(node.pids[0]) - before) / count) * 1000;
}

async function report(effort: Effort, runs: readonly Run[]): Promise<boolean> {
  const rows = BOUNDS.map(({ name, unit, of, atMost = Number.POSITIVE_INFINITY }) => {
    const values = runs.map(of);
    const middle = median(values);
    return { name, unit, middle, worst: Math.max(...values), atMost, holds: middle <= atMost };
  });
  const cells = rows.map(({ name, unit, middle, worst, atMost, holds }) => [
    name,
    `${shown(middle)} ${unit}`,
    shown(worst),
    Number.isFinite(atMost) ? `at most ${atMost} ${holds ? "holds" : "MISSED"}` : "",
  ]);
  console.log(table([`streams, ${effort.crowd} readers`, "median", "worst run", "bound"], cells));
  const holds = rows.every((row) => row.holds);
  console.log(`written to ${await keep("streams", { rows, runs, holds })}`);
  return holds;
}

const shown = (number: number): string => number.toFixed(number < 10 ? 2 : 1);
