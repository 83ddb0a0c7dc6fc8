/**
 * A fair queue for work that takes many steps, such as a total that is counted in pieces. Each step blocks the event loop or occupies a connection of
 * a pool for a few milliseconds, so what counts is how many run at the same time, of all callers:
 *
 * - Each owner (an application) has one piece of work under way. Its others wait in their order; beyond a number they are refused.
 * - The same work that waits already is done once for all who ask for it. Work that has begun is not joined: its result may be older than the question.
 * - The steps of all owners alternate, a few at a time, and the event loop runs other work between them. An owner has one step at a time, so the order of
 *   their arrival is fair.
 *
 * Not built on the queue of realtime/streams/round-robin.ts: that one has two levels and short work, can lose entries again, and leaves the running to its users.
 */

/** Too much work of one owner waits; the caller may try again. */
export class TooManyWaiting extends Error {}

export interface FairQueueLimits {
  /** Steps at the same time, of all owners. */
  readonly stepsAtOnce: number;
  /** Pieces of work per owner that wait behind the one under way. */
  readonly waitingMax: number;
}

/** Does one step when it is next. Steps MUST NOT be nested: the inner one would wait for the outer one without end. */
export type Step = <T>(work: () => Promise<T>) => Promise<T>;

export interface FairQueueOptions {
  /** It waits however many wait before it: for work that has begun and would be left half done. */
  readonly isPatient?: boolean;
}

interface Waiting {
  readonly key: string;
  readonly result: Promise<unknown>;
  readonly begin: () => void;
}

export class FairQueue {
  /** Bound: one entry per owner with work under way; each has `waitingMax` entries, and one per caller that is patient. */
  private readonly waiting = new Map<string, Waiting[]>();
  /** Bound: one per owner with work under way. */
  private readonly steps: (() => void)[] = [];
  private freeSteps: number;

  constructor(private readonly limits: FairQueueLimits) {
    this.freeSteps = limits.stepsAtOnce;
  }

  /** Work of one owner with the same key MUST have the same result. Rejects with TooManyWaiting if too much waits. */
  run<T>(
    owner: string,
    key: string,
    work: (step: Step) => Promise<T>,
    { isPatient = false }: FairQueueOptions = {},
  ): Promise<T> {
    const queue = this.waiting.get(owner);
    if (!queue) {
      this.waiting.set(owner, []);
      return this.begin(owner, work);
    }
    const same = queue.find((one) => one.key === key);
    if (same) return same.result as Promise<T>;
    if (queue.length >= this.limits.waitingMax && !isPatient)
      return Promise.reject(new TooManyWaiting("too much work of this owner waits"));
    const { promise, resolve } = Promise.withResolvers<void>();
    const result = promise.then(() => this.begin(owner, work));
    queue.push({ key, result, begin: resolve });
    return result;
  }

  private async begin<T>(owner: string, work: (step: Step) => Promise<T>): Promise<T> {
    try {
      return await work(this.step);
    } finally {
      const next = this.waiting.get(owner)?.shift();
      if (next) next.begin();
      else this.waiting.delete(owner);
    }
  }

  private readonly step: Step = async (work) => {
    if (this.freeSteps > 0) this.freeSteps--;
    else await new Promise<void>((resolve) => this.steps.push(resolve));
    try {
      return await work();
    } finally {
      // Other work runs before the next step, also where nothing that is awaited leaves the event loop. No boundary: it only resolves a promise.
      setImmediate(this.passOn);
    }
  };

  private readonly passOn = (): void => {
    const next = this.steps.shift();
    if (next) next();
    else this.freeSteps++;
  };
}
