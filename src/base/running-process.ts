/** Whether a process of this machine still runs. */
import { readFileSync } from "node:fs";

/** A process that has ended and that its parent has not asked about yet does nothing any more: its files are leftovers. */
export function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // A process of another user exists too.
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
  return !isEnded(pid);
}

/** False where there is no such file. */
function isEnded(pid: number): boolean {
  try {
    return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
