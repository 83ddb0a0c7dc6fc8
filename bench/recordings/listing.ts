/** A page and its total: among 1,000,000 rows against among 1,000 in all, for filters that match at most 1,000. */
import type { RecordingFilter } from "../../src/store/recordings.ts";
import { keep, machine, median, table } from "../lib/figures.ts";
import { APP, commonPair, FILTERS, type Filled, filled } from "./rows.ts";

const MANY_ROWS = 1_000_000;
const FEW_ROWS = 1000;
const TARGET_RATIO = 3;
/** In turns, A B A B …: what both meet alike cancels. */
const ROUNDS = 31;
const CALLS_A_ROUND = 10;

interface Figure {
  readonly what: string;
  readonly few: number;
  readonly many: number;
  readonly ratio: number;
}

type Ask = (full: Filled, filter: RecordingFilter) => Promise<unknown>;

const ASKS: Readonly<Record<string, Ask>> = {
  page: (full, filter) => page(full, filter),
  total: ({ store }, filter) => store.recordings.totalOf(APP, filter),
};

export async function listing(): Promise<boolean> {
  const { bun, cpu, cores } = machine();
  console.log(`Bun ${bun}, ${cpu}, ${cores} cores; ${MANY_ROWS} rows against ${FEW_ROWS}\n`);
  await using few = await filled(FEW_ROWS, FEW_ROWS);
  await using fewCommon = await filled(FEW_ROWS, 1);
  await using many = await filled(MANY_ROWS, FEW_ROWS);
  const figures: Figure[] = [];
  const compare = async (name: string, small: Filled, filters: readonly [RecordingFilter, RecordingFilter]) => {
    await checkTotals(name, small, many, filters);
    const [half, otherHalf] = [await middle(small, filters[0]), await middle(many, filters[1])];
    figures.push(
      await measured(
        `middle page: ${name}`,
        () => page(small, filters[0], half),
        () => page(many, filters[1], otherHalf),
      ),
    );
    for (const [ask, run] of Object.entries(ASKS))
      figures.push(
        await measured(
          `${ask}: ${name}`,
          () => run(small, filters[0]),
          () => run(many, filters[1]),
        ),
      );
  };
  for (const [name, filter] of Object.entries(FILTERS)) await compare(name, few, [filter, filter]);
  // With 1,000 rows in all such a pair matches fewer of them: what it costs there is the stricter measure.
  const [small, large] = [commonPair(FEW_ROWS), commonPair(MANY_ROWS)];
  for (const [name, filter] of Object.entries(large)) await compare(name, fewCommon, [small[name] ?? filter, filter]);
  figures.push(
    await measured(
      "page: no filter",
      () => ASKS.page!(few, {}),
      () => ASKS.page!(many, {}),
    ),
  );
  figures.push(
    await measured(
      "total: no filter",
      () => ASKS.total!(few, {}),
      () => ASKS.total!(many, {}),
    ),
  );
  console.log(
    table(
      ["µs a call", `${FEW_ROWS} rows`, `${MANY_ROWS} rows`, "ratio"],
      figures.map(({ what, few, many, ratio }) => [what, few.toFixed(0), many.toFixed(0), ratio.toFixed(2)]),
    ),
  );
  const worst = figures.reduce((a, b) => (a.ratio > b.ratio ? a : b));
  const holds = worst.ratio <= TARGET_RATIO;
  console.log(
    `\nworst ratio ${worst.ratio.toFixed(2)} (${worst.what}), target at most ${TARGET_RATIO}: ${holds ? "holds" : "MISSED"}`,
  );
  console.log(`written to ${await keep("recordings-listing", { figures, target: TARGET_RATIO, holds })}\n`);
  return holds;
}

const page = ({ store }: Filled, filter: RecordingFilter, behind?: number): Promise<unknown> =>
  store.recordings.page(APP, { filter, order: "desc", limit: 50, behind });

/** Where half of what it matches has been seen. */
async function middle({ store }: Filled, filter: RecordingFilter): Promise<number> {
  const limit = Math.ceil((await store.recordings.totalOf(APP, filter)) / 2);
  return (await store.recordings.page(APP, { filter, order: "desc", limit })).at(-1)?.seq ?? 0;
}

/** A filter that matched something else than it is meant to would measure nothing. */
async function checkTotals(
  name: string,
  small: Filled,
  large: Filled,
  [one, two]: readonly [RecordingFilter, RecordingFilter],
): Promise<void> {
  const totals = [await small.store.recordings.totalOf(APP, one), await large.store.recordings.totalOf(APP, two)];
  if (totals.some((total) => total === 0 || total > 1000))
    throw new Error(`${name} matches ${totals.join(" and ")} rows`);
}

async function measured(what: string, few: () => Promise<unknown>, many: () => Promise<unknown>): Promise<Figure> {
  const rounds: [number, number][] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push([await timed(few), await timed(many)]);
  const [small, large] = [median(rounds.map(([a]) => a)), median(rounds.map(([, b]) => b))];
  return { what, few: small, many: large, ratio: large / small };
}

/** Microseconds a call. */
async function timed(call: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  for (let i = 0; i < CALLS_A_ROUND; i++) await call();
  return ((performance.now() - from) * 1000) / CALLS_A_ROUND;
}
