/**
 * Workers whose supervisor was killed end by themselves within a moment. Until then they hold the port; one that is stopped (SIGSTOP) would hold it for
 * ever. So a new start on the same data folder waits for them, and kills those that stay.
 */
import { readdirSync, readFileSync } from "node:fs";
import { hasEnded } from "./activity.ts";
import { ORPHAN_MAX_MS } from "./limits.ts";
import { announcedFolder } from "./run-folder.ts";

const LOOK_EVERY_MS = 20;
/** For what a process does after it has decided to end. */
const SLACK_MS = 500;
const CLOSING_MS = 200;

/** Only while no other service works on the data folder. Resolves with how many had to be killed. */
export async function endLeftWorkers(dataFolder: string, withinMs = ORPHAN_MAX_MS + SLACK_MS): Promise<number> {
  const folder = announcedFolder(dataFolder);
  if (folder === undefined) return 0;
  const pids = workersOf(folder);
  const left = (): number[] => pids.filter((pid) => !hasEnded(pid));
  const untilMs = performance.now() + withinMs;
  while (left().length > 0 && performance.now() < untilMs) await Bun.sleep(LOOK_EVERY_MS);
  const killed = left();
  for (const pid of killed) kill(pid);
  while (left().length > 0 && performance.now() < untilMs + SLACK_MS) await Bun.sleep(LOOK_EVERY_MS);
  // The main thread of a killed process is gone a moment before the others, which hold its sockets.
  if (pids.length > 0) await Bun.sleep(CLOSING_MS);
  return killed.length;
}

/** The processes that were started as workers of that folder, whose name is random. */
function workersOf(folder: string): number[] {
  const isWorker = (pid: number): boolean => {
    const [command, slot = "", its] = commandOf(pid).slice(-3);
    return command === "worker" && /^\d+$/.test(slot) && its === folder;
  };
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && isWorker(pid));
}

function commandOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
  } catch {
    return [];
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended, or belongs to another user.
  }
}
