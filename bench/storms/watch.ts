/** Memory and CPU of processes that come and go, sampled. */
import { readFileSync } from "node:fs";
import { exactCpuSeconds } from "../lib/cpu-clock.ts";

const SAMPLE_EVERY_MS = 50;
const PAGE_BYTES = 4096;

export class Watch {
  /** Resident bytes, less what the same number of processes takes without clients: at the last sample, and at most so far. */
  bytes = 0;
  peakBytes = 0;
  /** CPU time of each process when it was last seen, and when it was first seen. Bound: processes of the run. */
  private readonly cpu = new Map<number, { first: number; last: number }>();
  private readonly timer: ReturnType<typeof setInterval>;

  /** `idle`: resident bytes of each process before its first client; one that is not there was started later and took as much as the others. */
  constructor(
    private readonly pids: () => readonly number[],
    private readonly idle: ReadonlyMap<number, number>,
  ) {
    for (const pid of pids()) {
      const seconds = exactCpuSeconds(pid);
      this.cpu.set(pid, { first: seconds, last: seconds });
    }
    this.timer = setInterval(() => this.sample(), SAMPLE_EVERY_MS);
  }

  /** The sum of all processes since the beginning, those that have ended included. */
  get cpuSeconds(): number {
    return [...this.cpu.values()].reduce((sum, { first, last }) => sum + last - first, 0);
  }

  private get idleMean(): number {
    return [...this.idle.values()].reduce((sum, one) => sum + one, 0) / this.idle.size;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  sample(): void {
    let bytes = 0;
    for (const pid of this.pids()) {
      try {
        bytes += residentBytes(pid) - (this.idle.get(pid) ?? this.idleMean);
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

export const residentBytesOf = (pids: readonly number[]): Map<number, number> =>
  new Map(pids.map((pid) => [pid, residentBytes(pid)]));

const residentBytes = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * PAGE_BYTES;
