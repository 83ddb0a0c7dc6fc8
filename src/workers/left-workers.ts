/**
 * Workers whose supervisor was killed end by themselves within a moment. Until then they hold the port; one that is stopped (SIGSTOP) would hold it for
 * ever. So a new start on the same data folder waits for them, and kills those that stay.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { hasEnded } from "./activity.ts";
import { ORPHAN_MAX_MS } from "./limits.ts";
import { announcedFolder } from "./run-folder.ts";

const LOOK_EVERY_MS = 20;
/** For what a process does after it has decided to end. */
const SLACK_MS = 500;

export interface LeftWorkers {
  readonly found: number;
  /** Those that did not end by themselves. */
  readonly killed: number;
}

/** Only while no other service works on the data folder. */
export async function endLeftWorkers(dataFolder: string, withinMs = ORPHAN_MAX_MS + SLACK_MS): Promise<LeftWorkers> {
  const folder = announcedFolder(dataFolder);
  if (folder === undefined) return { found: 0, killed: 0 };
  const pids = workersOf(folder);
  const left = (): number[] => pids.filter((pid) => !hasEnded(pid));
  const untilMs = performance.now() + withinMs;
  while (left().length > 0 && performance.now() < untilMs) await Bun.sleep(LOOK_EVERY_MS);
  // Looked up anew: the number of one that has ended may be another process's by now.
  const killed = left().filter((pid) => isWorker(pid, folder));
  for (const pid of killed) kill(pid);
  while (left().length > 0 && performance.now() < untilMs + SLACK_MS) await Bun.sleep(LOOK_EVERY_MS);
  return { found: pids.length, killed: killed.length };
}

function workersOf(folder: string): number[] {
  try {
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => pid > 0 && isWorker(pid, folder));
  } catch {
    // Without /proc they cannot be found; the port says whether they are there.
    return [];
  }
}

/** A running process of this user that was started as a worker of that folder, whose name is random. */
function isWorker(pid: number, folder: string): boolean {
  try {
    if (statSync(`/proc/${pid}`).uid !== process.getuid?.()) return false;
    const [command, slot = "", its] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1).slice(-3);
    return command === "worker" && /^\d+$/.test(slot) && its === folder;
  } catch {
    return false;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended, or belongs to another user.
  }
}
