/** A series as lines per node: those with the most, and the others together. */
import type { Range, Series } from "../api/types.ts";
import { totalOf } from "./totals.ts";

interface NodeValues {
  /** undefined: the nodes that have no line of their own. */
  readonly nodeId: string | undefined;
  readonly values: readonly (number | null)[];
}

interface ByNode {
  readonly times: readonly number[];
  /** Those with the most first. */
  readonly nodes: readonly NodeValues[];
}

const sumOf = (values: readonly (number | null)[]): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

/** Workers of one node are one line. */
export function byNode(series: Series, range: Range, linesMax: number): ByNode {
  const ids = [...new Set(series.nodes.map(({ nodeId }) => nodeId))];
  const sums = new Map(
    ids.map((id) => [
      id,
      series.nodes.reduce((sum, { nodeId, values }) => (nodeId === id ? sum + sumOf(values) : sum), 0),
    ]),
  );
  ids.sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0) || a.localeCompare(b));
  const own = ids.length > linesMax ? ids.slice(0, linesMax - 1) : ids;
  const valuesOf = (isOf: (nodeId: string) => boolean): readonly (number | null)[] =>
    totalOf(series, range, ({ nodeId, values }) => (isOf(nodeId) ? values : [])).values;
  const lines: NodeValues[] = own.map((id) => ({ nodeId: id, values: valuesOf((nodeId) => nodeId === id) }));
  if (own.length < ids.length) lines.push({ nodeId: undefined, values: valuesOf((nodeId) => !own.includes(nodeId)) });
  return { times: totalOf(series, range).times, nodes: lines };
}
