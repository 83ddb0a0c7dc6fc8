import { expect, test } from "bun:test";
import type { ClearingStore } from "../../store/contract/clearing.ts";
import { OldRows } from "./old-rows.ts";

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 18, 12);

/** Notes what it is asked to forget, and has two rows of each kind, one per call. */
class Asked {
  readonly before: Record<string, number> = {};
  readonly calls: Record<string, number> = {};

  get clearing(): ClearingStore {
    const counted = (name: string, before: number): number => {
      this.before[name] = before;
      this.calls[name] = (this.calls[name] ?? 0) + 1;
      return this.calls[name] <= 2 ? 1 : 0;
    };
    const forget = (name: string) => async (before: number) => counted(name, before);
    const walk = (name: string) => async (before: number) => {
      const removed = counted(name, before);
      return { removed, next: removed > 0 ? { at: 1, id: "a" } : undefined };
    };
    return {
      forgetKeys: forget("keys"),
      forgetOperators: forget("operators"),
      forgetUsage: forget("usage"),
      forgetDeletedApps: forget("deletedApps"),
      forgetRooms: walk("rooms"),
      forgetRecordingNumbers: walk("recordingNumbers"),
      forgetRecordingExtras: async () => {
        this.calls.recordingExtras = (this.calls.recordingExtras ?? 0) + 1;
        const removed = this.calls.recordingExtras <= 2 ? 1 : 0;
        return { removed, next: removed > 0 ? { at: 0, id: "a" } : undefined };
      },
    } as unknown as ClearingStore;
  }
}

const sweepOf = (asked: Asked, retentionMs: () => number, logged: object[] = []): OldRows =>
  new OldRows(
    {
      clearing: asked.clearing,
      retentionMs,
      log: { info: (fields: object) => void logged.push(fields) } as never,
      failed: (error) => {
        throw error;
      },
    },
    0,
  );

test("each kind has its own age, by the clock for deletions, and is removed in steps until none is left", async () => {
  const [asked, logged] = [new Asked(), [] as object[]];
  await sweepOf(asked, () => NOW, logged).sweep();
  expect(asked.before).toEqual({
    keys: NOW - 180 * DAY_MS,
    operators: NOW - 180 * DAY_MS,
    rooms: NOW - 90 * DAY_MS,
    recordingNumbers: NOW - 90 * DAY_MS,
    usage: Date.UTC(2016, 11, 1) / 1000,
    deletedApps: NOW - 400 * DAY_MS,
  });
  expect(Object.values(asked.calls)).toEqual([3, 3, 3, 3, 3, 3, 3]);
  const two = { recordingNumbers: 2, recordingExtras: 2, usage: 2, deletedApps: 2 };
  expect(logged).toEqual([{ keys: 2, operators: 2, rooms: 2, ...two }]);
});

test("a clock that was set back makes everything younger", async () => {
  const asked = new Asked();
  await sweepOf(asked, () => NOW - 100 * DAY_MS).sweep();
  expect(asked.before.rooms).toBe(NOW - 190 * DAY_MS);
});

test("a sweep that is stopped asks for nothing more", async () => {
  const asked = new Asked();
  const sweep = sweepOf(asked, () => NOW);
  const stopped = sweep.stop();
  await sweep.sweep();
  await stopped;
  expect(asked.calls).toEqual({});
});
