/** What a service takes of the machine: its processes, and the kernel. */
import { readFileSync } from "node:fs";
import { KIB, memoryOf, socketBytes } from "../lib/memory.ts";
import { cpuSeconds } from "../lib/process.ts";

export interface Footprint {
  /** Resident bytes of all processes of the service. */
  readonly rss: number;
  /** Bytes of the kernel's objects and of the buffers of TCP: for both ends of every connection, and for the whole machine. */
  readonly kernel: number;
}

export const footprintOf = (pids: readonly number[]): Footprint => ({
  rss: pids.reduce((sum, pid) => sum + memoryOf(pid).rss, 0),
  kernel: meminfo("Slab") + socketBytes(),
});

export const availableBytes = (): number => meminfo("MemAvailable");

export const cpuOfAll = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);

const meminfo = (name: string): number =>
  Number(new RegExp(`^${name}: +(\\d+) kB`, "m").exec(readFileSync("/proc/meminfo", "utf8"))?.[1]) * KIB;
