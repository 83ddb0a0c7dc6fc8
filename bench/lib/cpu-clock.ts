/** The CPU time of another process to the nanosecond: /proc has it in ticks of 10 ms, which is as much as some hundred requests take. */
import { dlopen, ptr } from "bun:ffi";

const { symbols: libc } = dlopen("libc.so.6", {
  clock_getcpuclockid: { args: ["i32", "ptr"], returns: "i32" },
  clock_gettime: { args: ["i32", "ptr"], returns: "i32" },
});

/** Seconds of all threads, user and system, since the process started. */
export function exactCpuSeconds(pid: number): number {
  const clock = new Int32Array(1);
  const time = new BigInt64Array(2);
  const isRead = libc.clock_getcpuclockid(pid, ptr(clock)) === 0 && libc.clock_gettime(clock[0] ?? 0, ptr(time)) === 0;
  if (!isRead) throw new Error(`the CPU clock of the process ${pid} cannot be read: it may have ended`);
  return Number(time[0]) + Number(time[1]) / 1e9;
}
