/** Memory and CPU of processes that come and go, sampled. */
import { readFileSync } from "node:fs";
import { exactCpuSeconds } from "../lib/cpu-clock.ts";

const SAMPLE_EVERY_MS = 50;
const PAGE_BYTES = 4096;

export class Watch {
  /** The highest sum of resident bytes so far. */
  peakBytes = 0;
  bytes = 0;
  /** CPU time of each process when it was last seen, and when it was first seen. Bound: processes of the run. */
  private readonly cpu = new Map<number, { first: number; last: number }>();
  private readonly timer: ReturnType<typeof setInterval>;

  constructor(private readonly pids: () => readonly number[]) {
    for (const pid of pids()) {
      const seconds = exactCpuSeconds(pid);
      this.cpu.set(pid, { first: seconds, last: seconds });
    }
    this.timer = setInterval(() => this.sample(), SAMPLE_EVERY_MS);
  }

  /** Of all processes since the beginning, those that have ended included. */
  get cpuSeconds(): number {
    return [...this.cpu.values()].reduce((sum, { first, last }) => sum + last - first, 0);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  sample(): void {
    let bytes = 0;
    for (const pid of this.pids()) {
      try {
        bytes += residentBytes(pid);
        const seconds = exactCpuSeconds(pid);
        const known = this.cpu.get(pid);
        if (known) known.last = seconds;
        // What it took before it was seen counts: it was started by the storm.
        else this.cpu.set(pid, { first: 0, last: seconds });
      } catch {
        // It has ended since it was listed.
      }
    }
    this.bytes = bytes;
    this.peakBytes = Math.max(this.peakBytes, bytes);
  }
}

const residentBytes = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * PAGE_BYTES;
