/** How lists share the process and the database with other work. What they return is in testing/suite-listing.ts. */
import { expect, test } from "bun:test";
import type { SQL } from "bun";
import { nextTurn } from "../../../../test/support/wait.ts";
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
class HeldDatabase implements Pick<Database, "run"> {
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
  const totals = ["a", "a", "a", "b"].map(anAppId).map((app) => lists.totalOf(app, {}));
  await nextTurn();
  expect(database.waiting).toHaveLength(2);
  for (let ended = 0; ended < totals.length; ended++) {
    database.release();
    await nextTurn();
  }
  expect(await Promise.all(totals)).toEqual([7, 7, 7, 7]);
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
