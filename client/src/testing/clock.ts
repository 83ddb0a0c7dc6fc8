/** A clock that tests move by hand: timers, the time on the wall, and the time that no one sets. */
const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  now: Date.now,
  performanceNow: performance.now.bind(performance),
  random: Math.random,
};

interface FakeTimer {
  readonly id: number;
  readonly run: () => void;
  readonly everyMs: number | undefined;
  dueMs: number;
}

export class FakeClock {
  /** What Math.random returns: 1 makes every wait as long as it can be. */
  random = 1;
  private wallMs = 1_700_000_000_000;
  private monotonicMs = 1000;
  private lastId = 0;
  private readonly timers = new Map<number, FakeTimer>();

  install(): this {
    const add = (run: () => void, ms = 0, everyMs?: number): number => {
      // As in browsers: a number that does not fit is no wait at all.
      const waitMs = ms > 0 && ms < 2 ** 31 ? ms : 0;
      this.timers.set(++this.lastId, { id: this.lastId, run, everyMs, dueMs: this.monotonicMs + waitMs });
      return this.lastId;
    };
    const remove = (id?: number): void => void this.timers.delete(id ?? 0);
    Object.assign(globalThis, {
      setTimeout: (run: () => void, ms?: number) => add(run, ms),
      clearTimeout: remove,
      setInterval: (run: () => void, ms: number) => add(run, ms, ms),
      clearInterval: remove,
    });
    Date.now = () => this.wallMs;
    performance.now = () => this.monotonicMs;
    Math.random = () => this.random;
    return this;
  }

  restore(): void {
    const { now, performanceNow, random, ...timers } = real;
    Object.assign(globalThis, timers);
    Date.now = now;
    performance.now = performanceNow;
    Math.random = random;
  }

  /** Timers that have not run. */
  get waiting(): number {
    return this.timers.size;
  }

  /** When the next timers are due, from now. */
  get waits(): number[] {
    return [...this.timers.values()].map(({ dueMs }) => dueMs - this.monotonicMs).sort((a, b) => a - b);
  }

  async advance(ms: number): Promise<void> {
    const untilMs = this.monotonicMs + ms;
    for (;;) {
      const next = [...this.timers.values()].sort((a, b) => a.dueMs - b.dueMs || a.id - b.id)[0];
      if (!next || next.dueMs > untilMs) break;
      this.wallMs += Math.max(0, next.dueMs - this.monotonicMs);
      this.monotonicMs = Math.max(this.monotonicMs, next.dueMs);
      if (next.everyMs === undefined) this.timers.delete(next.id);
      else next.dueMs = this.monotonicMs + next.everyMs;
      next.run();
      await settled();
    }
    this.wallMs += untilMs - this.monotonicMs;
    this.monotonicMs = untilMs;
    await settled();
  }

  /** The machine sleeps: only the clock on the wall goes on, and no timer runs. */
  sleep(ms: number): void {
    this.wallMs += ms;
  }

  /** The page is frozen: all clocks go on, and no timer runs. */
  freeze(ms: number): void {
    this.wallMs += ms;
    this.monotonicMs += ms;
  }

  /** Someone sets the clock on the wall. */
  setBack(ms: number): void {
    this.wallMs -= ms;
  }
}

/** Everything that promises had to do is done. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await Promise.resolve();
}

/** So are tasks that others had to wait for: those of messages between ports. */
export async function turned(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}
