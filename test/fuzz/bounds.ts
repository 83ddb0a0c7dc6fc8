/** Bounds for every piece of work of a fuzzer: it ends soon, and leaves no memory behind. */

/** Far above what any input takes, so that a busy machine does not look like a hang. */
const SLOW_MS = 250;
const SLOW_TRIES = 3;
const GROWTH_MAX_MIB = 192;

/** Does the work; throws if it takes much CPU time repeatedly. Not wall time, because the machine may be busy. */
export function soon<T>(work: () => T): T {
  let tookMs = 0;
  for (let tries = 0; tries < SLOW_TRIES; tries++) {
    const started = process.cpuUsage();
    const value = work();
    const { user, system } = process.cpuUsage(started);
    tookMs = (user + system) / 1000;
    if (tookMs < SLOW_MS) return value;
  }
  throw new Error(`it takes ${Math.round(tookMs)} ms of CPU`);
}

export const ownRssMib = (): number => Math.round(process.memoryUsage.rss() / 1024 ** 2);

/** Checks this process. `warmMib` was measured after a part of the work. */
export function checkGrowth(warmMib: number): void {
  Bun.gc(true);
  const now = ownRssMib();
  if (now > warmMib + GROWTH_MAX_MIB) throw new Error(`memory went from ${warmMib} to ${now} MiB`);
}
