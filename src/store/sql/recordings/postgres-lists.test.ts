/** How many recordings the statements of a list read on PostgreSQL, as the plans of the database itself count them. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import type { RecordingFilter } from "../../contract/recordings.ts";
import type { Store } from "../../contract/store.ts";
import { openStore } from "../../open.ts";
import { withApps } from "../../testing/places.ts";
import { mostRowsOf } from "../../testing/plans.ts";
import { PostgresServer } from "../../testing/postgres.ts";
import { databaseOf, fill } from "../../testing/recordings.ts";
import { RecordingLists } from "./listing.ts";

const A = anAppId("a");

setDefaultTimeout(60_000);

const ROWS = 60_000;

let server: PostgresServer;
let store: Store;
beforeAll(async () => {
  server = await PostgresServer.start();
  const url = await server.newDatabase();
  store = await withApps(() => openStore("", url));
  await fill(store, ROWS);
  await databaseOf(store).run((sql) => sql`VACUUM ANALYZE recordings`);
});
afterAll(async () => {
  await store.close();
  await server.stop();
});

/** The most rows that one statement of a page, newest or oldest first, or of a total reads. */
async function mostRowsRead(lists: RecordingLists, filter: RecordingFilter): Promise<number> {
  const calls = [
    () => lists.page(A, { filter, order: "desc", limit: 50 }),
    () => lists.page(A, { filter, order: "asc", limit: 50, after: ROWS / 2 }),
    () => lists.totalOf(A, filter),
  ];
  return mostRowsOf(store, calls);
}

const COMMON: readonly [RecordingFilter, number][] = [
  [{ participantSession: "p3" }, 200],
  [{ meetingSession: "m5", type: "video" }, 200],
  [{ meetingSession: "m5", participantUsername: "u1", startedAfter: 3 }, 200],
  [{ room: "nowhere" }, 50],
  [{ room: "r1", participantUsername: "none" }, 50],
  [{ participantUsername: "none", type: "audio" }, 50],
  // 1,200 recordings have this type.
  [{ type: "video" }, 1500],
  // One second holds 1,463 recordings.
  [{ startedAfter: 40, startedBefore: 41, type: "video" }, 1500],
  [{ startedAfter: 40 }, 1500],
  [{ startedAfter: 41 }, 50],
  [{ room: "r0", startedAfter: 41 }, 50],
];

test.each(COMMON)("a common filter reads few recordings: %j, at most %d", async (filter, max) => {
  expect(await mostRowsRead(new RecordingLists(databaseOf(store)), filter)).toBeLessThanOrEqual(max);
});

/** The combination matches few recordings or none, and each part of it matches many: the rows of one part are read. */
const RARE: readonly [RecordingFilter, number][] = [
  [{ room: "r0", participantUsername: "u0", type: "video" }, ROWS / 3],
  [{ room: "r0", type: "composition", participantUsername: "u1" }, ROWS / 3],
  // A wide span at the end of the order that is read last.
  [{ startedAfter: 0, startedBefore: 20 }, ROWS],
];

test.each(RARE)("a rare combination reads more, but only once: %j, at most %d", async (filter, max) => {
  expect(await mostRowsRead(new RecordingLists(databaseOf(store)), filter)).toBeLessThanOrEqual(max);
});

test.each(RARE)("no statement reads more than its window: %j", async (filter) => {
  const lists = new RecordingLists(databaseOf(store), { narrowRows: 1000, windowRows: 5000 });
  expect(await mostRowsRead(lists, filter)).toBeLessThanOrEqual(5001);
});
