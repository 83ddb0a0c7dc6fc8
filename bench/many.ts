/**
 * Very many connections on one machine: each with a token of its own and subscribed to a channel of ten, held by as many processes as the limit of
 * open files requires, on both sides. Measured in steps: memory of the service and of the kernel per connection, less the same workers idle;
 * CPU at rest; the longest wait for an answer of any worker; the latency of messages to a channel of 1,000.
 *
 *   npm run bench -- many                          18,000, 50,000, 100,000 and 250,000 connections: about ten minutes on 2 cores
 *   npm run bench -- many --steps 18000,50000      only these
 *   npm run bench -- many --workers 8              instead of as few workers as the last step needs
 *   npm run bench -- many --without-presence       tokens that may only publish and subscribe: no rosters between workers
 *   npm run bench -- many --quick                  2,000 and 4,000, briefly: to see that it works
 */
import { parseArgs } from "node:util";
import { openFilesLimit } from "./lib/memory.ts";
import { keep, table } from "./lib/report.ts";
import { untilStopped } from "./lib/until-stopped.ts";
import { billOf, describeBill } from "./many/bill.ts";
import { availableBytes } from "./many/footprint.ts";
import { LARGE_CHANNEL, type Run, runSteps, type Times } from "./many/steps.ts";
import { start, workersOf } from "./workers/systems.ts";

const STEPS = [18_000, 50_000, 100_000, 250_000];
const TIMES: Times = { settleMs: 10_000, measureMs: 5000 };
const QUICK_STEPS = [2000, 4000];
const QUICK_TIMES: Times = { settleMs: 2000, measureMs: 2000 };
/** A worker leaves an eighth of its files free, at most 1,024; and the system does not spread connections evenly. */
const USABLE_SHARE = 0.87;
const PER_HOLDER_MAX = 25_000;
/** Open files of a holder that are not connections. */
const SPARE_FILES = 100;
const WORKERS_MAX = 64;
const QUICK_WORKERS = 2;
/** Both ends and the holder; about 16 KB were seen. */
const BYTES_PER_CONNECTION = 24 * 1024;
/** How far memory per connection may differ between steps. */
const FLAT_WITHIN = 0.1;

interface Options {
  readonly steps: readonly number[];
  readonly workers: number;
  readonly holders: number;
  readonly times: Times;
  readonly hasPresence: boolean;
}

export async function many(args: readonly string[]): Promise<boolean> {
  const { steps, workers, holders, times, hasPresence } = optionsFrom(args);
  console.error(`${workers} workers, ${holders} holders`);
  await using service = await start(workersOf(workers), false);
  const run = await untilStopped(runSteps(service, steps, holders, times, hasPresence));
  console.log(describe(run, workers));
  const bill = billOf(run, workers);
  console.log(`\n${describeBill(bill)}`);
  const spread = spreadOf(
    run.steps.map(({ rssPerConnection, kernelPerConnection }) => rssPerConnection + kernelPerConnection / 2),
  );
  const holds = spread <= FLAT_WITHIN;
  console.log(
    `\nmemory per connection differs between steps by ${(spread * 100).toFixed(0)} %, at most ${FLAT_WITHIN * 100} %: ${holds ? "holds" : "MISSED"}`,
  );
  console.log(`written to ${await keep("many", { workers, holders, hasPresence, ...run, bill, spread, holds })}`);
  return holds;
}

/** How far the highest is from the lowest, as a share of it. */
const spreadOf = (values: readonly number[]): number => Math.max(...values) / Math.min(...values) - 1;

function describe({ idle, idleCpu, steps }: Run, workers: number): string {
  const ms = (us: number): string => (us / 1000).toFixed(1);
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  const heads = [
    "connections",
    "RSS each, bytes",
    "kernel each, both ends",
    "CPU at rest, of a core",
    "longest wait, ms",
    `p50 to ${LARGE_CHANNEL}, ms`,
    "p99, ms",
    "CPU per connect, µs",
    "opened in, s",
  ];
  const rows = steps.map((step) => [
    step.connections.toLocaleString("en"),
    step.rssPerConnection.toFixed(0),
    step.kernelPerConnection.toFixed(0),
    percent(step.cpuAtRest),
    step.waits.longestMs.toFixed(0),
    ms(step.delivery.p50us),
    ms(step.delivery.p99us),
    step.cpuUsPerConnect.toFixed(0),
    step.openSeconds.toFixed(1),
  ]);
  return [
    `${workers} workers; idle they take ${Math.round(idle.rss / 1024 / 1024)} MiB and ${percent(idleCpu)} of a core`,
    table(heads, rows),
  ].join("\n");
}

function optionsFrom(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      steps: { type: "string" },
      workers: { type: "string" },
      quick: { type: "boolean", default: false },
      "without-presence": { type: "boolean", default: false },
    },
  });
  const steps = values.steps?.split(",").map(Number) ?? (values.quick ? QUICK_STEPS : STEPS);
  if (steps.some((step, i) => !Number.isSafeInteger(step) || step <= (steps[i - 1] ?? 0)))
    throw new Error(
      `--steps ${values.steps}: numbers of connections, each larger than the one before, such as 18000,50000`,
    );
  const most = Math.max(...steps);
  const limit = openFilesLimit(process.pid);
  const needed = Math.ceil((most + LARGE_CHANNEL) / (limit * USABLE_SHARE));
  const workers = Number(values.workers ?? Math.max(needed, values.quick ? QUICK_WORKERS : 1));
  if (!Number.isSafeInteger(workers) || workers < needed || workers > WORKERS_MAX)
    throw new Error(
      `${most} connections need ${needed} workers with ${limit} open files each; there can be ${WORKERS_MAX}: use --steps and --workers`,
    );
  if (availableBytes() < most * BYTES_PER_CONNECTION)
    throw new Error(
      `${most} connections need about ${Math.ceil((most * BYTES_PER_CONNECTION) / 2 ** 30)} GiB of free memory: use --steps`,
    );
  const holders = Math.max(
    Math.ceil(most / Math.min(limit - SPARE_FILES, PER_HOLDER_MAX)),
    values.quick ? QUICK_WORKERS : 1,
  );
  return {
    steps,
    workers,
    holders,
    times: values.quick ? QUICK_TIMES : TIMES,
    hasPresence: !values["without-presence"],
  };
}
