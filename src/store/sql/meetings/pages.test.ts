/** Totals of meetings that are counted in steps. What lists return otherwise is in testing/suite-meeting-lists.ts. */

import { expect, test } from "bun:test";
import { TooManyWaiting } from "../../../base/fair-queue.ts";
import { anAppId } from "../../../base/testing/ids.ts";
import type { Store } from "../../contract/store.ts";
import type { Database, Work } from "../../engines/database.ts";
import { longReads } from "../../engines/long-reads.ts";
import { entering } from "../../testing/meetings.ts";
import { sqlitePlaces, withApps } from "../../testing/places.ts";
import { databaseOf } from "../../testing/recordings.ts";
import { MeetingPages } from "./pages.ts";

const A = anAppId("a");

const newPlace = sqlitePlaces();

function pagesOf(store: Store, atOnce: number, database = databaseOf(store)): MeetingPages {
  return new MeetingPages(database, longReads(database), atOnce);
}

test("the total of a time span is exact, however many steps it takes, and other work runs between them", async () => {
  const store = await withApps(await newPlace());
  // Three meetings begin at the same time, so steps end between them.
  for (let i = 0; i < 60; i++)
    await store.meetings.enter(
      entering(`p${i}`, `room-${i % 30}`, { newMeeting: `m${i}` }),
      9,
      100 + Math.floor(i / 3),
    );
  let turns = 0;
  let isOver = false;
  const countTurns = (): void => {
    turns++;
    if (!isOver) setImmediate(countTurns);
  };
  countTurns();
  const total = async (atOnce: number, startedAfter: number, startedBefore: number): Promise<number | undefined> =>
    (await pagesOf(store, atOnce).page(A, { limit: 1, startedAfter, startedBefore }))?.total;
  for (const [from, to] of [
    [0, 999],
    [101, 109],
    [105, 106],
    [300, 400],
  ] as const) {
    const all = await total(1000, from, to);
    for (const atOnce of [1, 2, 4, 7, 30]) expect(await total(atOnce, from, to)).toBe(all);
  }
  turns = 0;
  await total(2, 0, 999);
  expect(turns).toBeGreaterThanOrEqual(14);
  isOver = true;
  await store.close();
});

/** How many statements a turn of the event loop holds at most, while `work` is under way. */
async function mostPerTurn(store: Store, work: (pages: MeetingPages) => Promise<unknown>): Promise<number> {
  let inTurn = 0;
  let most = 0;
  let isOver = false;
  const newTurn = (): void => {
    inTurn = 0;
    if (!isOver) setImmediate(newTurn);
  };
  const real = databaseOf(store);
  const quickRun = <T>(statement: Work<T>): Promise<T> => {
    most = Math.max(most, ++inTurn);
    return real.quickRun(statement);
  };
  const pages = pagesOf(store, 2, { ...real, isShared: false, quickRun } as Database);
  newTurn();
  await work(pages);
  isOver = true;
  return most;
}

test("totals of many time spans are counted one after the other, one step per turn of the event loop", async () => {
  const store = await withApps(await newPlace());
  for (let i = 0; i < 20; i++)
    await store.meetings.enter(entering(`p${i}`, `room-${i}`, { newMeeting: `m${i}` }), 9, 100 + i);
  const SPANS = 30;
  const ofSpan = (pages: MeetingPages, app: string, i: number): Promise<number | undefined> =>
    pages.page(anAppId(app), { limit: 1, startedAfter: i }).then((page) => page?.total);
  const most = await mostPerTurn(store, async (pages) => {
    const totals = await Promise.all(Array.from({ length: SPANS }, (_, i) => ofSpan(pages, i % 2 ? "a" : "b", 90 + i)));
    expect(totals).toEqual(Array.from({ length: SPANS }, (_, i) => (i % 2 ? Math.max(0, Math.min(20, 30 - i)) : 0)));
  });
  // A step, and the page of the list whose total is known then.
  expect(most).toBeLessThanOrEqual(2);
  await store.close();
});

test("fifty time spans of one application wait, and further ones are refused", async () => {
  const store = await withApps(await newPlace());
  await store.meetings.enter(entering("p", "room"), 9, 100);
  const pages = pagesOf(store, 2);
  const totals = await Promise.allSettled(
    Array.from({ length: 80 }, (_, i) => pages.page(A, { limit: 1, startedAfter: i })),
  );
  const refused = totals.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  expect(refused).toHaveLength(29);
  for (const reason of refused) expect(reason).toBeInstanceOf(TooManyWaiting);
  // Lists without a time span, and of meetings that go on, do not wait.
  const others = [pages.page(A, { limit: 1 }), pages.page(A, { limit: 1, isActive: true, startedAfter: 1 })];
  expect((await Promise.all(others)).map((page) => page?.total)).toEqual([1, 1]);
  await store.close();
});
