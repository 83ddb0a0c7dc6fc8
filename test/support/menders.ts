/** The processes in which a node mends recordings: children of the node that are visible in /proc. */
import { readdirSync, readFileSync } from "node:fs";

const LOOK_EVERY_MS = 4;

/** The process in which this node mends a file, as soon as there is one. */
export async function menderOf(pid: number, maxMs: number): Promise<number | undefined> {
  for (const until = performance.now() + maxMs; performance.now() < until; ) {
    const found = childrenOf(pid).find((child) => commandOf(child).includes("mend"));
    if (found !== undefined) return found;
    await Bun.sleep(LOOK_EVERY_MS);
  }
  return undefined;
}

/** false: it has ended already. */
export function signalMender(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

export function commandOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}
