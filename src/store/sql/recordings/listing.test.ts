/** How lists share the process and the database with other work. What they return is in testing/suite-listing.ts. */
import { expect, test } from "bun:test";
import type { SQL } from "bun";
import { nextTurn } from "../../../../test/support/wait.ts";
import { TooManyWaiting } from "../../../base/fair-queue.ts";
import { anAppId } from "../../../base/testing/ids.ts";
import type { Database, Work } from "../../engines/database.ts";
import { sqlitePlaces, withApps } from "../../testing/places.ts";
import { databaseOf, fill } from "../../testing/recordings.ts";
import { RecordingLists } from "./listing.ts";

const A = anAppId("a");

const newPlace = sqlitePlaces();

test("the event loop runs other work between two windows of a list", async () => {
  const store = await withApps(await newPlace());
  await fill(store, 1000);
  const lists = new RecordingLists(databaseOf(store), { narrowRows: 10, windowRows: 100 });
  let turns = 0;
  let isOver = false;
  const countTurns = (): void => {
    turns++;
    if (!isOver) setImmediate(countTurns);
  };
  countTurns();
  await lists.totalOf(A, { room: "r1", type: "audio" });
  expect(turns).toBeGreaterThanOrEqual(9);
  turns = 0;
  await lists.page(A, { filter: { room: "nowhere", type: "audio" }, order: "desc", limit: 5 });
  expect(turns).toBeGreaterThanOrEqual(9);
  turns = 0;
  await lists.totalOf(A, { startedAfter: 0 });
  expect(turns).toBeGreaterThanOrEqual(9);
  isOver = true;
  await store.close();
});

/** A database whose statements end when the test says so. */
class HeldDatabase implements Pick<Database, "run" | "isShared"> {
  readonly isShared = true;
  readonly waiting: (() => void)[] = [];

  run = async <T>(work: Work<T>): Promise<T> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.waiting.push(resolve);
    await promise;
    const sql = Object.assign(async () => [{ live: 7, last_seq: 7 }], { unsafe: async () => [] });
    return work(sql as unknown as SQL);
  };

  release(): void {
    this.waiting.shift()?.();
  }
}

test("lists of one application use one connection at a time, and do not delay those of another", async () => {
  const database = new HeldDatabase();
  const lists = new RecordingLists(database as unknown as Database);
  // They have no field in common: the same ones would be read once.
  const totals = ["a", "a", "a", "b"].map((app, i) => lists.totalOf(anAppId(app), { [`not a filter ${i}`]: i }));
  await nextTurn();
  expect(database.waiting).toHaveLength(2);
  for (let ended = 0; ended < totals.length; ended++) {
    database.release();
    await nextTurn();
  }
  expect(await Promise.all(totals)).toEqual([7, 7, 7, 7]);
});

test("lists of many applications leave most connections to other work", async () => {
  const database = new HeldDatabase();
  const lists = new RecordingLists(database as unknown as Database);
  const totals = Array.from({ length: 20 }, (_, i) => lists.totalOf(anAppId(`app-${i}`), {}));
  await nextTurn();
  expect(database.waiting).toHaveLength(4);
  for (let ended = 0; ended < totals.length; ended++) {
    database.release();
    await nextTurn();
    expect(database.waiting.length).toBeLessThanOrEqual(4);
  }
  expect(await Promise.all(totals)).toEqual(totals.map(() => 7));
});

test("lists of one application that wait are bounded, except for work that has begun", async () => {
  const database = new HeldDatabase();
  const lists = new RecordingLists(database as unknown as Database);
  const page = (after: number, isPatient = false) =>
    lists.page(A, { filter: {}, order: "asc", limit: 9, after, isPatient });
  const waiting = Array.from({ length: 51 }, (_, i) => page(i));
  await expect(page(51)).rejects.toBeInstanceOf(TooManyWaiting);
  await expect(lists.totalOf(A, {})).rejects.toBeInstanceOf(TooManyWaiting);
  waiting.push(page(51, true), lists.page(anAppId("b"), { filter: {}, order: "asc", limit: 9 }));
  for (let ended = 0; ended < waiting.length; ended++) {
    await nextTurn();
    database.release();
  }
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => []));
});

test("a list that fails does not keep the next one of its application from running", async () => {
  const store = await withApps(await newPlace());
  await fill(store, 10);
  let isBroken = true;
  const run = <T>(work: Work<T>): Promise<T> =>
    isBroken ? Promise.reject(new Error("broken")) : databaseOf(store).run(work);
  const lists = new RecordingLists({ ...databaseOf(store), run } as Database);
  const first = lists.totalOf(A, {});
  const second = lists.totalOf(A, {}).catch((error: Error) => error.message);
  await expect(first).rejects.toThrow("broken");
  expect(await second).toBe("broken");
  isBroken = false;
  expect(await lists.totalOf(A, {})).toBe(10);
  await store.close();
});
