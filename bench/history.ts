/**
 * What history costs, against the same without history in the same run: server CPU and rate of a publish, the longest stall of the event
 * loop, a recovery from the ring.
 *
 *   npm run bench -- history            nine runs, about a quarter of an hour
 *   npm run bench -- history --quick    once and short: to see that it works, not for conclusions
 */
import { parseArgs } from "node:util";
import { PostgresServer } from "../src/store/testing/postgres.ts";
import { startNode } from "./history/node.ts";
import { type Load, type Published, published } from "./history/publishing.ts";
import { PLAIN, RECOVERING, subscribed } from "./history/subscribing.ts";
import { keep, median, table } from "./lib/report.ts";

const WITHOUT = "one channel, 32 in flight, without history";
const ONE = "one channel, 32 in flight";
const MANY = "100 channels, one in flight each";
const POSTGRES = "one channel, 32 in flight, on PostgreSQL";

const EMBEDDED: readonly Load[] = [
  { name: WITHOUT, isKept: false, channels: 1, inFlight: 32 },
  { name: ONE, isKept: true, channels: 1, inFlight: 32 },
  { name: `${MANY}, without history`, isKept: false, channels: 100, inFlight: 1 },
  { name: MANY, isKept: true, channels: 100, inFlight: 1 },
];
const ON_POSTGRES: readonly Load[] = [{ name: POSTGRES, isKept: true, channels: 1, inFlight: 32 }];

const WHOLE = { runs: 9, warmUp: 50_000, turns: 6, subscribing: 4 };
const QUICK = { runs: 1, warmUp: 5000, turns: 2, subscribing: 2 };

/** One run: the figures by name. */
type Run = Readonly<Record<string, number>>;

interface Bound {
  readonly name: string;
  readonly unit: string;
  readonly of: (run: Run) => number;
  readonly atMost?: number;
  readonly atLeast?: number;
  /** Every run must keep to the bound, not only the median; a run in which this control is over the bound too, to the control. */
  readonly strictBeside?: (run: Run) => number;
}

const cpu = (name: string): string => `${name}: µs of CPU per publish`;
const rate = (name: string): string => `${name}: publishes per second`;
const stall = (name: string): string => `${name}: longest stall in ms`;
const gap = (name: string): string => `${name}: longest stall in ms, with what the machine took`;
const value = (name: string) => (run: Run) => run[name] ?? Number.NaN;
const ratio = (name: string, control: string) => (run: Run) => value(name)(run) / value(control)(run);

const BOUNDS: readonly Bound[] = [
  { name: cpu(WITHOUT), unit: "µs", of: value(cpu(WITHOUT)) },
  { name: cpu(ONE), unit: "µs", of: value(cpu(ONE)) },
  { name: "one channel: CPU against no history", unit: "×", of: ratio(cpu(ONE), cpu(WITHOUT)), atMost: 3 },
  { name: rate(ONE), unit: "per s", of: value(rate(ONE)), atLeast: 20_000 },
  { name: cpu(MANY), unit: "µs", of: value(cpu(MANY)) },
  { name: rate(MANY), unit: "per s", of: value(rate(MANY)), atLeast: 12_000 },
  { name: rate(POSTGRES), unit: "per s", of: value(rate(POSTGRES)), atLeast: 10_000 },
  { name: stall(WITHOUT), unit: "ms", of: value(stall(WITHOUT)) },
  ...[WITHOUT, ONE, MANY, POSTGRES].map((name) => ({ name: gap(name), unit: "ms", of: value(gap(name)) })),
  ...[ONE, MANY, POSTGRES].map((name) => ({
    name: stall(name),
    unit: "ms",
    of: value(stall(name)),
    atMost: 15,
    strictBeside: value(stall(WITHOUT)),
  })),
  { name: PLAIN, unit: "µs", of: value(PLAIN) },
  { name: RECOVERING, unit: "µs", of: value(RECOVERING) },
  { name: "a recovery against a plain subscribe", unit: "×", of: ratio(RECOVERING, PLAIN), atMost: 3 },
];

export async function history(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { quick: { type: "boolean", default: false }, runs: { type: "string" } },
  });
  const effort = { ...(values.quick ? QUICK : WHOLE), ...(values.runs && { runs: Number(values.runs) }) };
  const runs: Run[] = [];
  for (let run = 1; run <= effort.runs; run++) {
    console.error(`run ${run} of ${effort.runs}`);
    runs.push({ ...(await embedded(effort)), ...(await onPostgres(effort)) });
  }
  return report(runs);
}

type Effort = typeof WHOLE;

async function embedded(effort: Effort): Promise<Run> {
  await using node = await startNode();
  const found = figures(await published(node, EMBEDDED, effort));
  for (const { name, usPerSubscribe } of await subscribed(node, effort.subscribing)) found[name] = usPerSubscribe;
  return found;
}

async function onPostgres(effort: Effort): Promise<Run> {
  const postgres = await PostgresServer.start();
  try {
    const key = crypto.getRandomValues(new Uint8Array(32)).toBase64();
    await using node = await startNode({
      PARLEY_DATABASE_URL: await postgres.newDatabase(),
      PARLEY_MASTER_KEY: key,
    });
    return figures(await published(node, ON_POSTGRES, effort));
  } finally {
    await postgres.stop();
  }
}

function figures(all: ReadonlyMap<string, Published>): Record<string, number> {
  const found: Record<string, number> = {};
  for (const [name, { usPerPublish, perSecond, stalls }] of all) {
    found[cpu(name)] = usPerPublish;
    found[rate(name)] = perSecond;
    found[stall(name)] = stalls.longestMs;
    found[gap(name)] = stalls.longestWithMachineMs;
  }
  return found;
}

async function report(runs: readonly Run[]): Promise<boolean> {
  const rows = BOUNDS.map(({ name, unit, of, atMost = Number.POSITIVE_INFINITY, atLeast = 0, strictBeside }) => {
    const values = runs.map(of);
    const middle = median(values);
    const worst = atLeast > 0 ? Math.min(...values) : Math.max(...values);
    const holds = strictBeside
      ? runs.every((run) => of(run) <= Math.max(atMost, strictBeside(run)))
      : middle <= atMost && middle >= atLeast;
    return { name, unit, middle, worst, atMost, atLeast, holds };
  });
  const cells = rows.map(({ name, unit, middle, worst, atMost, atLeast, holds }) => {
    const bound =
      atLeast > 0 ? `at least ${shown(atLeast)}` : Number.isFinite(atMost) ? `at most ${shown(atMost)}` : "";
    const verdict = holds ? "holds" : "MISSED";
    return [name, `${shown(middle)} ${unit}`, shown(worst), bound && `${bound} ${verdict}`];
  });
  console.log(table(["history", "median", "worst run", "bound"], cells));
  const holds = rows.every((row) => row.holds);
  console.log(`written to ${await keep("history", { rows, runs, holds })}`);
  return holds;
}

const shown = (number: number): string =>
  number >= 1000 ? Math.round(number).toLocaleString("en") : number.toFixed(number < 10 ? 2 : 1);
