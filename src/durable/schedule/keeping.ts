/** Removes the oldest backups of a target. Only their number counts, so a wrong clock deletes no more than a right one. */
import type { Backup, Target } from "../targets/target.ts";

/** Nodes are seconds apart. A name that is further ahead is from before the clock was set back. */
const AHEAD_MS = 3_600_000;

/**
 * Leaves `keep`, and in any case `made`, the one that was just written: by its name it may be the oldest. Removes what it can, and then throws the first
 * failure. It knows only what has the name of a backup (targets/names.ts).
 */
export async function removeOldest(
  target: Pick<Target, "list" | "remove">,
  keep: number,
  made: string,
  nowMs: number,
): Promise<void> {
  const all = await target.list();
  const others = oldestFirst(all, nowMs).filter(({ name }) => name !== made);
  const failures: unknown[] = [];
  for (const { name } of others.slice(0, Math.max(0, all.length - keep)))
    await target.remove(name).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/** What is ahead of the clock was made before everything that is not. */
const oldestFirst = (all: readonly Backup[], nowMs: number): Backup[] => {
  const isAhead = ({ timeMs }: Backup): boolean => timeMs > nowMs + AHEAD_MS;
  return [...all.filter(isAhead), ...all.filter((one) => !isAhead(one))];
};
