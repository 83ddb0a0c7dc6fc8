/**
 * A page and its total. Common filters, which match at most 1,000 recordings: among 1,000,000 recordings against the same match among
 * 1,000 in all. Rare combinations, which read more than they match: how long a list takes, and the longest of its statements.
 */
import type { RecordingFilter } from "../../src/store/contract/recordings.ts";
import { keep, machine, median, table } from "../lib/report.ts";
import { APP, COMMON, type DatabaseName, type Filled, filled, inSpan, RARE, SPAN_ROWS } from "./rows.ts";
import { longestStatement } from "./statements.ts";

const MANY_ROWS = 1_000_000;
const FEW_ROWS = 1000;
const TARGET_RATIO = 3;
/** On SQLite nothing else happens in the process while a statement runs. */
const TARGET_STATEMENT_MS = 500;
/** In turns, A B A B …: what slows both down cancels. */
const ROUNDS = 31;
const CALLS_PER_ROUND = 10;
const RARE_ROUNDS = 5;

interface Comparison {
  readonly what: string;
  readonly few: number;
  readonly many: number;
  readonly ratio: number;
}

export async function listing(database: DatabaseName): Promise<boolean> {
  const { bun, cpu, cores } = machine();
  console.log(`${database}, Bun ${bun}, ${cpu}, ${cores} cores\n`);
  await using many = await filled(database, MANY_ROWS, FEW_ROWS);
  const isCommonFast = await common(database, many);
  const isRareBounded = await rare(database, many);
  return isCommonFast && isRareBounded;
}

async function common(database: DatabaseName, many: Filled): Promise<boolean> {
  await using few = await filled(database, FEW_ROWS, FEW_ROWS);
  // What a time span costs depends on the recordings in it: here they are all there are.
  await using span = await filled(database, SPAN_ROWS, 1);
  const comparisons: Comparison[] = [];
  for (const [name, filter] of Object.entries(COMMON))
    comparisons.push(...(await compare(name, few, filter, many, filter)));
  const small = inSpan(SPAN_ROWS);
  for (const [name, filter] of Object.entries(inSpan(MANY_ROWS)))
    comparisons.push(...(await compare(name, span, small[name] ?? filter, many, filter)));
  for (const [ask, run] of Object.entries(ASKS))
    comparisons.push(
      await measured(
        `${ask}: no filter`,
        () => run(few, {}),
        () => run(many, {}),
      ),
    );
  console.log(
    table(
      ["µs per call", "few rows", `${MANY_ROWS} rows`, "ratio"],
      comparisons.map(({ what, few, many, ratio }) => [what, few.toFixed(0), many.toFixed(0), ratio.toFixed(2)]),
    ),
  );
  const worst = comparisons.reduce((a, b) => (a.ratio > b.ratio ? a : b));
  const holds = worst.ratio <= TARGET_RATIO;
  console.log(
    `\nworst ratio ${worst.ratio.toFixed(2)} (${worst.what}), target at most ${TARGET_RATIO}: ${holds ? "holds" : "MISSED"}`,
  );
  const file = `recordings-listing-${database.toLowerCase()}`;
  console.log(`written to ${await keep(file, { comparisons, target: TARGET_RATIO, holds })}\n`);
  return holds;
}

async function rare(database: DatabaseName, many: Filled): Promise<boolean> {
  const lists = [];
  for (const [name, filter] of Object.entries(RARE)) {
    const page = (order: "asc" | "desc") => () => many.store.recordings.page(APP, { filter, order, limit: 50 });
    const calls = [page("desc"), page("asc"), () => many.store.recordings.totalOf(APP, filter)];
    const times: number[] = [];
    for (const call of calls) {
      const rounds: number[] = [];
      for (let round = 0; round < RARE_ROUNDS; round++) rounds.push(await timed(call, 1));
      times.push(median(rounds) / 1000);
    }
    const longest = await longestStatement(many.store, async () => {
      for (const call of calls) await call();
    });
    lists.push({ name, times, longest });
  }
  console.log(
    table(
      ["ms per call", "page, newest first", "page, oldest first", "total", "longest statement"],
      lists.map(({ name, times, longest }) => [name, ...[...times, longest].map((ms) => ms.toFixed(1))]),
    ),
  );
  const worst = lists.reduce((a, b) => (a.longest > b.longest ? a : b));
  const holds = worst.longest <= TARGET_STATEMENT_MS;
  console.log(
    `\nlongest statement ${worst.longest.toFixed(0)} ms (${worst.name}), target at most ${TARGET_STATEMENT_MS}: ${holds ? "holds" : "MISSED"}`,
  );
  const file = `recordings-rare-${database.toLowerCase()}`;
  console.log(`written to ${await keep(file, { lists, target: TARGET_STATEMENT_MS, holds })}\n`);
  return holds;
}

type Ask = (full: Filled, filter: RecordingFilter) => Promise<unknown>;

const page = ({ store }: Filled, filter: RecordingFilter, after?: number): Promise<unknown> =>
  store.recordings.page(APP, { filter, order: "desc", limit: 50, after });

const ASKS: Readonly<Record<string, Ask>> = {
  page: (full, filter) => page(full, filter),
  total: ({ store }, filter) => store.recordings.totalOf(APP, filter),
};

async function compare(
  name: string,
  small: Filled,
  smallFilter: RecordingFilter,
  large: Filled,
  largeFilter: RecordingFilter,
): Promise<Comparison[]> {
  await checkTotal(name, small, smallFilter);
  await checkTotal(name, large, largeFilter);
  const [half, otherHalf] = [await middle(small, smallFilter), await middle(large, largeFilter)];
  const comparisons = [
    await measured(
      `middle page: ${name}`,
      () => page(small, smallFilter, half),
      () => page(large, largeFilter, otherHalf),
    ),
  ];
  for (const [ask, run] of Object.entries(ASKS))
    comparisons.push(
      await measured(
        `${ask}: ${name}`,
        () => run(small, smallFilter),
        () => run(large, largeFilter),
      ),
    );
  return comparisons;
}

/** The cursor of the page in the middle of what the filter matches. */
async function middle({ store }: Filled, filter: RecordingFilter): Promise<number> {
  const limit = Math.ceil((await store.recordings.totalOf(APP, filter)) / 2);
  return (await store.recordings.page(APP, { filter, order: "desc", limit })).at(-1)?.seq ?? 0;
}

/** A filter that matches something else than it is meant to would measure nothing. */
async function checkTotal(name: string, { store }: Filled, filter: RecordingFilter): Promise<void> {
  const total = await store.recordings.totalOf(APP, filter);
  if (total === 0 || total > SPAN_ROWS / 3 + 1) throw new Error(`${name} matches ${total} recordings`);
}

async function measured(what: string, few: () => Promise<unknown>, many: () => Promise<unknown>): Promise<Comparison> {
  const rounds: [number, number][] = [];
  for (let round = 0; round < ROUNDS; round++)
    rounds.push([await timed(few, CALLS_PER_ROUND), await timed(many, CALLS_PER_ROUND)]);
  const [small, large] = [median(rounds.map(([a]) => a)), median(rounds.map(([, b]) => b))];
  return { what, few: small, many: large, ratio: large / small };
}

/** Microseconds per call. */
async function timed(call: () => Promise<unknown>, calls: number): Promise<number> {
  const from = performance.now();
  for (let i = 0; i < calls; i++) await call();
  return ((performance.now() - from) * 1000) / calls;
}
