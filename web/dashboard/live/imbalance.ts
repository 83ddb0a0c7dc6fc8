/** Whether one of the nodes or workers has clearly more connections than the others. */
import type { SeenNode } from "./nodes.ts";

/** Connections are placed at random, so small differences mean nothing. The alert in docs/operations.md has the same numbers. */
const TIMES_MEAN_MIN = 1.5;
const MORE_MIN = 100;

export interface Imbalance {
  readonly busiest: SeenNode;
  /** Connections of the busiest, divided by the mean. */
  readonly timesMean: number;
}

export function imbalanceOf(nodes: readonly SeenNode[]): Imbalance | undefined {
  const present = nodes.filter(({ awaySince }) => awaySince === undefined);
  const [first, ...others] = present;
  if (!first) return undefined;
  const busiest = others.reduce((most, node) => (node.connections > most.connections ? node : most), first);
  const mean = present.reduce((sum, { connections }) => sum + connections, 0) / present.length;
  if (busiest.connections <= TIMES_MEAN_MIN * mean || busiest.connections - mean < MORE_MIN) return undefined;
  return { busiest, timesMean: busiest.connections / mean };
}
