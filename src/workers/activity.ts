/** Whether a process that says nothing works, or is stopped. On a busy machine a worker may get no CPU for seconds: that is no fault of it. */
import { readFileSync } from "node:fs";

export interface Activity {
  /** As in proc(5): R runs or waits for a CPU, D waits for a disk, S sleeps, T is stopped. */
  readonly state: string;
  /** CPU time so far, in ticks of the kernel. */
  readonly cpuTicks: number;
}

/** Undefined where the process is gone, or the system does not say. */
export function activityOf(pid: number): Activity | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before it is in parentheses, and may contain any character.
    const [state = "", ...rest] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state, cpuTicks: Number(rest[10]) + Number(rest[11]) };
  } catch {
    return undefined;
  }
}

/** `before`: a moment ago, when it was already silent. */
export function isAtWork(now: Activity | undefined, before: Activity | undefined): boolean {
  if (!now || now.state === "T") return false;
  return now.state === "R" || now.state === "D" || !before || now.cpuTicks > before.cpuTicks;
}

/** Whether the process is gone, or has only not been waited for yet by its parent. */
export function hasEnded(pid: number): boolean {
  const activity = activityOf(pid);
  return !activity || activity.state === "Z" || activity.state === "X";
}
