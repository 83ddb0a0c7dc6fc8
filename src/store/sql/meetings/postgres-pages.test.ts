/** How many meetings the statements of a list read on PostgreSQL. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import type { MeetingSearch } from "../../contract/meetings.ts";
import type { Store } from "../../contract/store.ts";
import { longReads } from "../../engines/long-reads.ts";
import { openStore } from "../../open.ts";
import { entering, inside } from "../../testing/meetings.ts";
import { withApps } from "../../testing/places.ts";
import { mostRowsOf } from "../../testing/plans.ts";
import { PostgresServer } from "../../testing/postgres.ts";
import { databaseOf } from "../../testing/recordings.ts";
import { MeetingPages } from "./pages.ts";

setDefaultTimeout(60_000);

const ENDED = 20_000;
/** When the meeting that goes on began: after half of those that have ended. */
const MIDDLE = ENDED / 2;

let server: PostgresServer;
let store: Store;
let activeId: string;
beforeAll(async () => {
  server = await PostgresServer.start();
  const url = await server.newDatabase();
  store = await withApps(() => openStore("", url));
  activeId = inside(await store.meetings.enter(entering("p", "r"), 9, MIDDLE)).meeting.id;
  await databaseOf(store).run(async (sql) => {
    await sql`
      INSERT INTO meetings (id, app, room, room_name, began, ended, is_locked, is_empty, last_end)
      SELECT 'e' || n, 'a', 'r', 'r', n, n + 1, 0, 1, n + 1 FROM generate_series(1, ${ENDED}::bigint) AS n`;
    await sql`UPDATE meeting_counters SET meetings = meetings + ${ENDED} WHERE app = 'a'`;
  });
  await databaseOf(store).run((sql) => sql`VACUUM ANALYZE meetings`);
});
afterAll(async () => {
  await store.close();
  await server.stop();
});

const LIMIT = 9;
const find = (search: Partial<MeetingSearch>, atOnce?: number) =>
  new MeetingPages(databaseOf(store), longReads(databaseOf(store)), atOnce).page(anAppId("a"), {
    limit: LIMIT,
    room: "r",
    ...search,
  });

test.each<[Partial<MeetingSearch>, total: number]>([
  [{ isActive: true }, 1],
  [{ isActive: true, startedAfter: 1 }, 1],
  [{ isActive: true, startedBefore: ENDED }, 1],
  [{ isActive: true, startedAfter: 1, startedBefore: ENDED }, 1],
  [{ isActive: true, startedAfter: ENDED }, 0],
  [{ isActive: false }, ENDED],
  [{}, ENDED + 1],
])("a page of a room with many meetings reads what it returns: %j", async (search, total) => {
  expect((await find(search))?.total).toBe(total);
  // A statement that skips the active meeting reads one more.
  expect(await mostRowsOf(store, [() => find(search)])).toBeLessThanOrEqual(LIMIT + 1);
});

test("the next page of an active meeting reads no others", async () => {
  expect(await find({ isActive: true, endId: activeId })).toEqual({ rows: [], total: 1 });
  expect(await mostRowsOf(store, [() => find({ isActive: true, endId: activeId })])).toBeLessThanOrEqual(1);
});

test.each<[Partial<MeetingSearch>, total: number]>([
  [{ startedAfter: 1 }, ENDED + 1],
  [{ isActive: false, startedAfter: 1 }, ENDED],
  [{ isActive: false, startedBefore: MIDDLE }, MIDDLE - 1],
])("no statement of a total counts more than a step of it: %j", async (search, total) => {
  expect((await find(search, 1000))?.total).toBe(total);
  expect(await mostRowsOf(store, [() => find(search, 1000)])).toBeLessThanOrEqual(1000);
});
