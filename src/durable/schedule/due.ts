/** When the next backup is due, and whether backups are as they should be. */
import type { BackupNote } from "./note.ts";

/** A failure is tried again after this long, or after the usual time if that is shorter. */
export const RETRY_MS = 10 * 60_000;

/** Unix ms; not after `nowMs`: it is due. */
export function dueMs({ success, failure, failures }: BackupNote, everyMs: number, nowMs: number): number {
  if (failures > 0 && failure) return after(failure.atMs, Math.min(everyMs, RETRY_MS), nowMs);
  return success ? after(success.atMs, everyMs, nowMs) : nowMs;
}

/** What is further ahead than the pause itself was noted before the clock was set back: it must not stop the schedule. */
const after = (atMs: number, pauseMs: number, nowMs: number): number =>
  atMs > nowMs + pauseMs ? nowMs : atMs + pauseMs;

/** `failed`: the last attempt did; `late`: none has succeeded for twice the time between two. */
export type BackupHealth = "ok" | "failed" | "late";

interface Now {
  readonly everyMs: number;
  readonly nowMs: number;
  /** How long this node has been running: what counts while there was never a success. */
  readonly upMs: number;
}

export function healthOf({ success, failures }: BackupNote, { everyMs, nowMs, upMs }: Now): BackupHealth {
  if (failures > 0) return "failed";
  const sinceMs = success ? nowMs - success.atMs : upMs;
  return sinceMs > 2 * everyMs ? "late" : "ok";
}
