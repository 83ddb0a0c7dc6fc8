/** Series of several nodes as one. */
import type { Metric, Range, Series } from "../api/types.ts";

type Values = readonly (number | null)[];

/** One metric of all nodes together. */
export interface Total {
  readonly times: readonly number[];
  readonly values: Values;
}

const RANGE_SEC: Readonly<Record<Range, number>> = { "15m": 900, "3h": 10_800, "24h": 86_400 };
/** Percentiles of several nodes cannot be added: the slowest node is shown. */
const MAXIMA: ReadonlySet<Metric> = new Set(["p50Ms", "p99Ms"]);
/** The newest values that may be left out while not every node has them, so that a total does not dip at its end. */
const UNEVEN_STEPS_MAX = 2;

const sum = (a: number, b: number): number => a + b;

/** The values of all nodes at the same times, over the whole range; null where no node has one. */
export function totalOf(
  { metric, stepSec, nodes }: Series,
  range: Range,
  valuesOf: (node: Series["nodes"][number]) => Values = (node) => node.values,
): Total {
  const ends = nodes.map(({ start, values }) => Math.round(start / stepSec) + values.length);
  const newest = Math.max(...ends, 0) || Math.floor(Date.now() / 1000 / stepSec);
  const end = Math.max(Math.min(newest, ...ends), newest - UNEVEN_STEPS_MAX);
  const first = end - Math.round(RANGE_SEC[range] / stepSec);
  const values: (number | null)[] = Array.from({ length: end - first }, () => null);
  const join = MAXIMA.has(metric) ? Math.max : sum;
  for (const node of nodes) {
    const offset = Math.round(node.start / stepSec) - first;
    for (const [at, value] of valuesOf(node).entries()) {
      const place = offset + at;
      if (value === null || place < 0 || place >= values.length) continue;
      const present = values[place];
      values[place] = present === null || present === undefined ? value : join(present, value);
    }
  }
  return { times: values.map((_, at) => (first + at) * stepSec), values };
}

/** How often each reason occurred within the range, the most frequent first. The values are per second. */
export function reasonsOf({ stepSec, nodes }: Series): (readonly [reason: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const { byReason = {} } of nodes)
    for (const [reason, values] of Object.entries(byReason)) {
      const perSecond = values.reduce<number>((total, value) => total + (value ?? 0), 0);
      counts.set(reason, (counts.get(reason) ?? 0) + perSecond * stepSec);
    }
  return [...counts]
    .map(([reason, count]) => [reason, Math.round(count)] as const)
    .filter(([, count]) => count > 0)
    .sort(([a, one], [b, other]) => other - one || a.localeCompare(b));
}
