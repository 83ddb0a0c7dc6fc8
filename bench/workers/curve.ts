/**
 * What more workers would do, computed from what was measured with a few.
 *
 * A connection is on any of N workers with the same probability. A message with D receivers then goes to
 *   k(N, D) = (N - 1) × (1 - (1 - 1/N)^D)
 * other workers. With several workers its CPU time is
 *   C(N) = C(1) + e + h × k(N, D)
 * where h is a hop to one other worker, and e is what it costs that there are others at all. Both are fitted to the measured C(N);
 * with one measurement e is taken as 0. N workers on N cores do N × C(1) / C(N) times the work of one.
 */
export const otherWorkers = (workers: number, receivers: number): number =>
  (workers - 1) * (1 - (1 - 1 / workers) ** receivers);

/** CPU of one message with that many workers, in any unit. */
export interface Cost {
  readonly workers: number;
  readonly cpu: number;
}

export interface Parts {
  readonly receivers: number;
  /** C(1). */
  readonly one: number;
  /** With at least two workers each. */
  readonly several: readonly Cost[];
}

export interface Fit {
  readonly fixed: number;
  readonly hop: number;
}

/** Least squares. A hop cannot cost less than nothing: if noise says so, all of it is taken as fixed. */
export function fitOf({ receivers, one, several }: Parts): Fit {
  const points = several.map(({ workers, cpu }) => ({ x: otherWorkers(workers, receivers), y: cpu - one }));
  const [only] = points;
  if (!only) throw new Error("a curve needs a measurement of at least two workers");
  if (points.length === 1) return { fixed: 0, hop: Math.max(0, only.y / only.x) };
  const mean = (of: (point: { x: number; y: number }) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean((point) => point.x), mean((point) => point.y)];
  const spread = mean((point) => (point.x - x) ** 2);
  const hop = Math.max(0, mean((point) => (point.x - x) * (point.y - y)) / spread);
  return { fixed: y - hop * x, hop };
}

/** CPU of a message with that many workers. */
export function costWith(workers: number, parts: Parts): number {
  if (workers === 1) return parts.one;
  const { fixed, hop } = fitOf(parts);
  return parts.one + fixed + hop * otherWorkers(workers, parts.receivers);
}

/** How much more work that many workers do than one, if each has a core. */
export const speedUp = (workers: number, parts: Parts): number => (workers * parts.one) / costWith(workers, parts);
