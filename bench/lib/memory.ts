/** Memory of a process and of the kernel's sockets. */
import { readFileSync } from "node:fs";

export const KIB = 1024;
export const MIB = 1024 * KIB;

export interface Memory {
  readonly rss: number;
  /** The part that is not backed by files: heaps and stacks. */
  readonly anonymous: number;
}

/** Bytes. Read from the page tables: the cheaper counters of /proc may be off by a megabyte. */
export function memoryOf(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const bytes = (name: string): number => Number(new RegExp(`^${name}: +(\\d+) kB`, "m").exec(text)?.[1]) * KIB;
  return { rss: bytes("Rss"), anonymous: bytes("Anonymous") };
}

/** Bytes in TCP buffers, of all processes of the machine. */
export function socketBytes(): number {
  const pages = /^TCP:.* mem (\d+)/m.exec(readFileSync("/proc/net/sockstat", "utf8"))?.[1];
  return Number(pages) * 4 * KIB;
}

export function openFilesLimit(pid: number): number {
  return Number(
    /Max open files\s+(\d+)/.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))?.[1] ?? Number.POSITIVE_INFINITY,
  );
}
