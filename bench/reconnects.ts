/**
 * A service after an outage: all clients lose their connections in the same moment and come back at once. Each connects with its
 * token, subscribes and gets its roster, in channels of ten. Compared is the server's CPU per client that comes back, including
 * the end of its lost connection.
 *
 *   npm run bench -- reconnects                             five runs of 20,000 reconnects: 10,000 clients, two waves
 *   npm run bench -- reconnects --before OTHER/src/main.ts  another tree's Parley in the same runs: is this one slower?
 *   npm run bench -- reconnects --runs 3 --clients 5000 --waves 4 --least 1.6   --least: the required ratio to the other tree
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Contender } from "./contenders/contender.ts";
import { parley } from "./contenders/parley.ts";
import { cpuOf, reconnects as run } from "./lib/loader.ts";
import { openFilesLimit } from "./lib/memory.ts";
import { keep, median, table } from "./lib/report.ts";

const NOW = "this tree";
const BEFORE = "before";
const CHANNEL_SIZE = 10;
/** Clients that connect at the same time. More than the runtime's backlog of 512 would measure the kernel's retries. */
const OPENING = 500;
/** Runs of the same program differ by this much. */
const NOT_SLOWER = 0.95;
/** Open files that are not connections. */
const SPARE_FILES = 200;

interface Figures {
  readonly connectsPerCpuSecond: number;
  readonly userUs: number;
  readonly systemUs: number;
  /** Until the last client of the slowest wave was back. */
  readonly longestSeconds: number;
}

interface Options {
  readonly runs: number;
  readonly clients: number;
  readonly waves: number;
  readonly least: number;
  readonly before: string | undefined;
}

export async function reconnects(args: readonly string[]): Promise<boolean> {
  const options = optionsFrom(args);
  const { runs, clients, waves, least, before } = options;
  const limit = openFilesLimit(process.pid);
  if (limit < clients + SPARE_FILES)
    throw new Error(`${clients} clients need more open files than the ${limit} allowed: use --clients and --waves`);
  const subjects = [parley(NOW), ...(before ? [parley(BEFORE, before)] : [])];
  const found = new Map<string, Figures[]>(subjects.map(({ name }) => [name, []]));
  for (let one = 1; one <= runs; one++) {
    console.error(`run ${one} of ${runs}`);
    // Forwards and backwards, so that neither always follows the other.
    for (const subject of one % 2 === 1 ? subjects : subjects.toReversed())
      found.get(subject.name)?.push(await measure(subject, options));
  }

  console.log(`${(clients * waves).toLocaleString("en")} reconnects: ${waves} waves of ${clients} clients\n`);
  console.log(describe(found));
  const ratios = ratiosOf(found);
  const ratio = median(ratios);
  const holds = ratios.length === 0 || ratio >= least;
  if (ratios.length > 0)
    console.log(
      `\nconnects per CPU-second against the other tree: ${ratio.toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ` +
        `${Math.max(...ratios).toFixed(2)}), at least ${least}: ${holds ? "holds" : "MISSED"}`,
    );
  const file = await keep("reconnects", { ...options, runs: Object.fromEntries(found), ratios, holds });
  console.log(`written to ${file}`);
  return holds;
}

/** A fresh server. Its first connects, which warm it up, are not measured. */
async function measure({ start }: Contender, { clients, waves }: Options): Promise<Figures> {
  await using server = await start();
  const connections = Array.from({ length: clients }, (_, i) => ({
    script: server.dialect.subscriber(i, `storm${Math.floor(i / CHANNEL_SIZE)}`, { metadata: false }),
  }));
  const report = await run({ connections, waves, opening: OPENING }, server);
  const us = (seconds: number): number => (seconds / report.connects) * 1e6;
  return {
    connectsPerCpuSecond: report.connects / cpuOf(report),
    userUs: us(report.userSeconds),
    systemUs: us(report.systemSeconds),
    longestSeconds: report.longestSeconds,
  };
}

function describe(found: ReadonlyMap<string, readonly Figures[]>): string {
  const heads = ["medians", "connects per CPU-second", "user µs each", "system µs", "all back after, s"];
  const rows = [...found].map(([name, all]) => {
    const of = (figure: keyof Figures): number => median(all.map((one) => one[figure]));
    return [
      name,
      Math.round(of("connectsPerCpuSecond")).toLocaleString("en"),
      of("userUs").toFixed(0),
      of("systemUs").toFixed(0),
      of("longestSeconds").toFixed(2),
    ];
  });
  return table(heads, rows);
}

/** One per run, if there is another tree. */
function ratiosOf(found: ReadonlyMap<string, readonly Figures[]>): number[] {
  const before = found.get(BEFORE) ?? [];
  return before.map(({ connectsPerCpuSecond }, i) => {
    const now = found.get(NOW)?.[i]?.connectsPerCpuSecond ?? Number.NaN;
    return now / connectsPerCpuSecond;
  });
}

function optionsFrom(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runs: { type: "string", default: "5" },
      clients: { type: "string", default: "10000" },
      waves: { type: "string", default: "2" },
      least: { type: "string", default: String(NOT_SLOWER) },
      before: { type: "string" },
    },
  });
  return {
    runs: Number(values.runs),
    clients: Number(values.clients),
    waves: Number(values.waves),
    least: Number(values.least),
    before: values.before && resolve(values.before),
  };
}
