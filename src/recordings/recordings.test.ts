import { expect, spyOn, test } from "bun:test";
import { until } from "../../test/support/wait.ts";
import { anAppId } from "../base/testing/ids.ts";
import type { Problem } from "../protocol/codes.ts";
import type { PageRequest } from "../store/contract/recordings.ts";
import { sqlitePlaces, withApps } from "../store/testing/places.ts";
import { fill } from "../store/testing/recordings.ts";
import type { Storage } from "./storage/storage.ts";
import { makeKit } from "./testing/kit.ts";

const newPlace = sqlitePlaces();

/** Whether each page that was asked for waits however many others wait. */
const patience = (calls: readonly (readonly [unknown, PageRequest])[]): boolean[] =>
  calls.map(([, { isPatient = false }]) => isPatient);

test("deleting what filters match may be refused at its begin, but not once something is deleted", async () => {
  const store = await withApps(await newPlace());
  await fill(store, 450);
  const kit = await makeKit({ store, app: anAppId("a") });
  const page = spyOn(store.recordings, "page");
  expect(await kit.recordings.deleteAll(anAppId("a"), {})).toBe(450);
  expect(patience(page.mock.calls)).toEqual([false, true, true]);
  await kit.close();
});

test("deleting by age is not refused because an application's lists wait", async () => {
  const kit = await makeKit();
  await kit.record();
  kit.retentionDays = 1;
  const page = spyOn(kit.store.recordings, "page");
  await kit.sweep();
  expect(patience(page.mock.calls)).toEqual([true]);
  await kit.close();
});

test("only one of many calls waits for an upload that is being written to; all of them get what it finds", async () => {
  let reads = 0;
  const counting = (storage: Storage): Storage =>
    new Proxy(storage, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (name === "storedBytes") reads++;
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  const kit = await makeKit({ wrap: counting });
  const id = await kit.begin();
  await kit.part(id, 0, new Uint8Array(10));
  const { promise, resolve } = Promise.withResolvers<void>();
  const writing = kit.locks.exclusively(kit.app, id, () => promise);
  reads = 0;
  const calls = Array.from({ length: 50 }, () => kit.recordings.complete(kit.app, id, { total: 10 }));
  await until("the wait is under way", () => reads > 3);
  expect(reads).toBeLessThan(calls.length);
  resolve();
  await writing;
  const made = await Promise.all(calls);
  expect(new Set(made.map((one) => JSON.stringify(one))).size).toBe(1);
  expect(made[0]?.sizeInBytes).toBe(10);
  await kit.close();
});

test("calls that fail alike share one more attempt, and too many that wait are refused", async () => {
  const kit = await makeKit();
  const id = await kit.begin();
  const attempts = spyOn(kit.locks, "exclusively");
  const codes = async (totals: readonly number[]): Promise<Map<string, number>> => {
    attempts.mockClear();
    const outcomes = await Promise.allSettled(totals.map((total) => kit.recordings.complete(kit.app, id, { total })));
    const counts = new Map<string, number>();
    for (const one of outcomes) {
      const code = one.status === "rejected" ? String((one.reason as Problem).code) : "completed";
      counts.set(code, (counts.get(code) ?? 0) + 1);
    }
    return counts;
  };
  expect(await codes(Array.from({ length: 50 }, () => 5))).toEqual(new Map([["upload_incomplete", 50]]));
  expect(attempts.mock.calls.length).toBe(2);
  const many = await codes(Array.from({ length: 150 }, (_, nr) => nr + 1));
  expect(many).toEqual(
    new Map([
      ["upload_incomplete", 101],
      ["upload_busy", 49],
    ]),
  );
  await kit.close();
});

test("another application's upload is not touched", async () => {
  const kit = await makeKit();
  const id = await kit.begin();
  const attempts = spyOn(kit.locks, "exclusively");
  const foreign = kit.recordings.complete(anAppId("other"), id, { total: 10 });
  await expect(foreign).rejects.toMatchObject({ code: "recording_not_found" });
  expect(attempts).not.toHaveBeenCalled();
  await kit.close();
});

test("one that fails because of what an earlier call wanted is tried by itself", async () => {
  const kit = await makeKit();
  const id = await kit.begin();
  await kit.part(id, 0, new Uint8Array(10));
  const wrong = kit.recordings.complete(kit.app, id, { endTime: 1, total: 10 });
  const right = kit.recordings.complete(kit.app, id, { total: 10 });
  await expect(wrong).rejects.toMatchObject({ code: "invalid_request" });
  expect((await right).sizeInBytes).toBe(10);
  await kit.close();
});
