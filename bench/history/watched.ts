/**
 * A node that measures the longest stall of its own event loop. SIGUSR2 starts a timer that should fire every millisecond; the next
 * SIGUSR2 stops it, and writes what was found to the file that STALLS names. The timer costs CPU itself, so it does not run while CPU
 * is measured.
 *
 * What the machine took of the time between two firings is not the loop's: the time in which the thread was ready to run and another
 * one had the core (schedstat), and the time in which the host ran something else (steal, in steps of 10 ms).
 */
import { openSync, readSync, renameSync, writeFileSync } from "node:fs";

const EVERY_MS = 1;
const STEAL_TICK_MS = 10;
/** user nice system idle iowait irq softirq steal */
const STEAL_FIELD = 8;

export interface Stalls {
  /** Without what the machine took. */
  readonly longestMs: number;
  readonly longestWithMachineMs: number;
}

const file = process.env.STALLS ?? "";
const scheduling = openSync("/proc/thread-self/schedstat", "r");
const cores = openSync("/proc/stat", "r");
const core = `cpu${process.env.STALLS_CORE} `;
const buffer = Buffer.alloc(4096);
let timer: Timer | undefined;
let last = { atMs: 0, machineMs: 0 };
let longest: Stalls = { longestMs: 0, longestWithMachineMs: 0 };

const textOf = (fd: number): string => buffer.toString("latin1", 0, readSync(fd, buffer, 0, buffer.length, 0));

/** What the machine has taken so far. */
function machineMs(): number {
  const waitedMs = Number(textOf(scheduling).split(" ")[1]) / 1e6;
  const line = textOf(cores)
    .split("\n")
    .find((one) => one.startsWith(core));
  return waitedMs + Number(line?.split(" ")[STEAL_FIELD] ?? 0) * STEAL_TICK_MS;
}

const now = (): typeof last => ({ atMs: performance.now(), machineMs: machineMs() });

function fired(): void {
  const { atMs, machineMs } = now();
  const gapMs = atMs - last.atMs;
  const ownMs = Math.max(0, gapMs - (machineMs - last.machineMs));
  longest = {
    longestMs: Math.max(longest.longestMs, ownMs),
    longestWithMachineMs: Math.max(longest.longestWithMachineMs, gapMs),
  };
  last = { atMs, machineMs };
}

process.on("SIGUSR2", () => {
  if (!timer) {
    last = now();
    longest = { longestMs: 0, longestWithMachineMs: 0 };
    timer = setInterval(fired, EVERY_MS);
    return;
  }
  clearInterval(timer);
  timer = undefined;
  writeFileSync(`${file}.new`, JSON.stringify(longest));
  renameSync(`${file}.new`, file);
});

await import("../../src/main.ts");
