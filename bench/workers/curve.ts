/**
 * What more workers would do, computed from what was measured with one and two.
 *
 * A connection is on any of N workers with the same probability. A message with D receivers then goes to
 *   k(N, D) = (N - 1) × (1 - (1 - 1/N)^D)
 * other workers. A hop to one of them costs h = (C(2) - C(1)) / k(2, D), where C(N) is the CPU time of a message with N workers.
 * So C(N) = C(1) + h × k(N, D), and N workers on N cores do N × C(1) / C(N) times the work of one.
 */
export const otherWorkers = (workers: number, receivers: number): number =>
  (workers - 1) * (1 - (1 - 1 / workers) ** receivers);

export interface Parts {
  readonly receivers: number;
  /** CPU of one message with one process and with two workers, in the same unit. */
  readonly one: number;
  readonly two: number;
}

/** CPU of a message with that many workers. */
export function costWith(workers: number, { receivers, one, two }: Parts): number {
  const hop = (two - one) / otherWorkers(2, receivers);
  return one + hop * otherWorkers(workers, receivers);
}

/** How much more work that many workers do than one, if each has a core. */
export const speedUp = (workers: number, parts: Parts): number => (workers * parts.one) / costWith(workers, parts);
