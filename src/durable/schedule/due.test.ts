import { describe, expect, test } from "bun:test";
import { dueMs, healthOf, RETRY_MS } from "./due.ts";
import type { BackupNote } from "./note.ts";

const EVERY_MS = 24 * 3_600_000;
const NOW_MS = Date.UTC(2030, 0, 31);
const NONE: BackupNote = { success: null, failure: null, failures: 0, sentMs: null, notRemoved: null };
const madeAt = (atMs: number): BackupNote => ({
  ...NONE,
  success: { atMs, name: "a", bytes: 1, durationMs: 1, missing: 0 },
});
const failedAt = (atMs: number, note = NONE): BackupNote => ({ ...note, failure: { atMs, why: "" }, failures: 1 });

describe("a backup is due", () => {
  test.each([
    ["at once, if there was none", NONE, EVERY_MS, NOW_MS],
    ["one interval after the last one", madeAt(NOW_MS - 1000), EVERY_MS, NOW_MS - 1000 + EVERY_MS],
    ["ten minutes after a failure", failedAt(NOW_MS), EVERY_MS, NOW_MS + RETRY_MS],
    ["also if there was a success before it", failedAt(NOW_MS, madeAt(NOW_MS - 5)), EVERY_MS, NOW_MS + RETRY_MS],
    ["one interval after a failure, if that is shorter", failedAt(NOW_MS), 60_000, NOW_MS + 60_000],
    ["later, if the clock was set back a little", madeAt(NOW_MS + 5000), EVERY_MS, NOW_MS + 5000 + EVERY_MS],
    ["at once, if it was set back by more than an interval", madeAt(NOW_MS + EVERY_MS + 1), EVERY_MS, NOW_MS],
    ["at once, if it was set back after a failure", failedAt(NOW_MS + RETRY_MS + 1), EVERY_MS, NOW_MS],
  ])("%s", (_, note, everyMs, expected) => {
    expect(dueMs(note, everyMs, NOW_MS)).toBe(expected);
  });
});

describe("backups are", () => {
  const now = { everyMs: EVERY_MS, nowMs: NOW_MS, upMs: 0 };
  test.each([
    ["ok while the last one is not older than twice the interval", madeAt(NOW_MS - 2 * EVERY_MS), now, "ok"],
    ["late after that", madeAt(NOW_MS - 2 * EVERY_MS - 1), now, "late"],
    ["failed after a failure, however young the last success is", failedAt(NOW_MS, madeAt(NOW_MS)), now, "failed"],
    ["ok on a node that has just started, without any", NONE, now, "ok"],
    ["late if it has run for long without any", NONE, { ...now, upMs: 2 * EVERY_MS + 1 }, "late"],
    ["ok if the clock was set back", madeAt(NOW_MS + 10 * EVERY_MS), now, "ok"],
  ])("%s", (_, note, at, expected) => {
    expect(healthOf(note, at)).toBe(expected as "ok");
  });
});
