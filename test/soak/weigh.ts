/** Memory and CPU of the processes of a soak, and whether memory is flat. */
import { readFileSync } from "node:fs";

const PAGE_KIB = 4;
const TICKS_PER_SECOND = 100;
/** A shorter run proves nothing about growth: the runtime's heap has not reached its size yet. */
export const FLAT_AFTER_MINUTES = 10;
/** How far the median of the last quarter may be above the median of the second quarter. */
const GROWTH_MAX_PERCENT = 10;
const GROWTH_MAX_MIB = 24;
/** The limit of any node at any time, whatever the length of the run: 5,000 connections need a fraction of it. */
export const RSS_MAX_MIB = 768;

export function rssMib(pid: number): number {
  try {
    return (Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * PAGE_KIB) / 1024;
  } catch {
    return 0;
  }
}

/** User and system time so far. */
export function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

/** The whole machine: seconds that all cores have spent on anything but waiting. */
export function machineCpuSeconds(): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, soft = 0] = readFileSync("/proc/stat", "utf8")
    .split("\n", 1)
    .join("")
    .split(/\s+/)
    .map(Number);
  return (user + nice + system + irq + soft) / TICKS_PER_SECOND;
}

export interface Flatness {
  readonly secondQuarterMib: number;
  readonly lastQuarterMib: number;
  readonly isFlat: boolean;
}

/** Samples at equal intervals, of a process that ran all the time. */
export function flatness(samplesMib: readonly number[]): Flatness {
  const quarter = Math.floor(samplesMib.length / 4);
  const before = median(samplesMib.slice(quarter, quarter * 2));
  const after = median(samplesMib.slice(-quarter));
  const allowed = Math.max(GROWTH_MAX_MIB, (before * GROWTH_MAX_PERCENT) / 100);
  return {
    secondQuarterMib: Math.round(before),
    lastQuarterMib: Math.round(after),
    isFlat: after - before <= allowed,
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
