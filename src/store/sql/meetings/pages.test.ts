/** Totals of meetings that are counted in steps. What lists return otherwise is in testing/suite-meeting-lists.ts. */

import { expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import { entering } from "../../testing/meetings.ts";
import { sqlitePlaces, withApps } from "../../testing/places.ts";
import { databaseOf } from "../../testing/recordings.ts";
import { meetingPage } from "./pages.ts";

const newPlace = sqlitePlaces();

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
    (await meetingPage(databaseOf(store), anAppId("a"), { limit: 1, startedAfter, startedBefore }, atOnce))?.total;
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
