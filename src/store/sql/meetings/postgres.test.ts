/** Meetings of several nodes on one PostgreSQL: limits are exact over all of them, and no two transactions deadlock. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { SQL } from "bun";
import { until } from "../../../../test/support/wait.ts";
import type { AppId } from "../../../base/ids.ts";
import { anAppId } from "../../../base/testing/ids.ts";
import type { Store } from "../../contract/store.ts";
import { foundPostgres } from "../../found.ts";
import { schemaVersion } from "../../migrate.ts";
import { openStore } from "../../open.ts";
import { entering, lobbyLimits, waitingRow } from "../../testing/meetings.ts";
import { fillAsVersion } from "../../testing/older.ts";
import { withApps } from "../../testing/places.ts";
import { PostgresServer } from "../../testing/postgres.ts";
import { expectUpgraded, VERSION_WITHOUT_MEETINGS } from "../../testing/suite-upgrade.ts";

const A = anAppId("a");

setDefaultTimeout(60_000);

let server: PostgresServer;
let nodes: Store[];
let sql: SQL;
let database: string;
beforeAll(async () => {
  server = await PostgresServer.start();
  database = await server.newDatabase();
  const url = database;
  const first = await withApps(() => openStore("", url));
  nodes = [first, await openStore("", url), await openStore("", url)];
  sql = new SQL({ url, max: 1 });
});
afterAll(async () => {
  await Promise.all([sql.close(), ...nodes.map((node) => node.close())]);
  await server.stop();
});

const node = (i: number): Store["meetings"] => {
  const found = nodes[i % nodes.length];
  if (!found) throw new Error("there are no nodes");
  return found.meetings;
};
const all = <T>(count: number, work: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => work(i)));
const countOf = <T>(list: readonly T[], one: T): number => list.filter((each) => each === one).length;

test("a database of a version without meetings is migrated, and keeps what it has", async () => {
  const url = await server.newDatabase();
  await using older = new SQL({ url, max: 1 });
  await fillAsVersion(older, VERSION_WITHOUT_MEETINGS);
  expect(await foundPostgres(url)).toMatchObject({
    schema: VERSION_WITHOUT_MEETINGS,
    historySchema: 0,
    version: undefined,
  });
  // One of several nodes that start at once migrates, and says so.
  const lines: string[] = [];
  const log = { info: (text: string) => lines.push(text), warn: (text: string) => lines.push(text) };
  const stores = await all(3, () => openStore("", url, log));
  expect(lines).toEqual([
    `upgrading the store: schema ${VERSION_WITHOUT_MEETINGS} → ${schemaVersion()}`,
    expect.stringMatching(new RegExp(`^the store was upgraded to schema ${schemaVersion()}, in [a-z0-9 ]+$`)),
  ]);
  const found = await foundPostgres(url);
  expect(found.schema).toBe(schemaVersion());
  expect(found.connections).toBeGreaterThan(0);
  for (const store of stores.slice(1)) await store.close();
  const [store] = stores;
  if (!store) throw new Error("there is no store");
  await expectUpgraded(store);
  await store.close();
});

test("the last place of a room goes to one of many who join on different nodes", async () => {
  for (const room of ["r1", "r2", "r3"]) {
    const reserved = await all(45, (i) => node(i).reserve(A, room, `${room}-${i}`, 3, 16_000, 1000));
    expect(countOf(reserved, "reserved")).toBe(3);
    // Those who hold a place come in on another node; all others come too late.
    const entered = await all(45, (i) => node(i + 1).enter(entering(`${room}-${i}`, room), 3, 2000));
    expect(entered.map(({ outcome }) => outcome === "began")).toEqual(
      reserved.map((outcome) => outcome === "reserved"),
    );
    expect(await node(0).inside(A, room)).toBe(3);
  }
});

test("a ban waits for those who enter in the same moment, so that none of them is overlooked", async () => {
  const began = await node(0).enter(entering("host", "bans"), 9, 1000);
  if (!("meeting" in began)) throw new Error("no meeting began");
  let isBanned = false;
  const isWaiting = async (): Promise<boolean> => {
    const [row] = await sql`SELECT COUNT(*) AS waits FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;
    return Number(row?.waits) > 0;
  };
  await using entrance = new SQL({ url: database, max: 1 });
  let ban: Promise<void> | undefined;
  await entrance.begin(async (tx) => {
    // As a transaction in which a client enters, and that has not ended yet.
    await tx`SELECT pg_advisory_xact_lock(hashtextextended('a/bans', 0))`;
    ban = node(1)
      .ban(began.meeting.id, { accessToken: "t", externalUserId: "u" })
      .then(() => {
        isBanned = true;
      });
    await until("it waits, or is done", async () => isBanned || (await isWaiting()));
    expect(isBanned).toBe(false);
  });
  await ban;
  expect(await node(2).enter(entering("late", "bans", { externalUserId: "u" }), 9, 2000)).toEqual({
    outcome: "removed",
  });
});

test("the last place goes to one of many who enter without a reserved one, and one meeting begins", async () => {
  const entered = await all(45, (i) => node(i).enter(entering(`e-${i}`, "rush"), 4, 1000));
  expect(entered.filter(({ outcome }) => outcome === "began")).toHaveLength(4);
  expect(new Set(entered.flatMap((one) => ("meeting" in one ? [one.meeting.id] : []))).size).toBe(1);
});

test("a stay is ended by one node, and its place is free on all", async () => {
  await node(0).enter(entering("one", "single"), 1, 1000);
  const ends = await all(9, (i) => node(i).end("one", "left", 2000));
  expect(ends.filter((stay) => stay !== undefined)).toHaveLength(1);
  expect((await node(1).enter(entering("two", "single"), 1, 2000)).outcome).toBe("began");
});

test("the last ones who leave on different nodes at once leave an empty meeting, unless another enters", async () => {
  for (let round = 0; round < 15; round++) {
    const ids = [0, 1, 2].map((i) => `leave-${round}-${i}`);
    for (const id of ids) await node(0).enter(entering(id, "leaving"), 9, 1000);
    const next = entering(`next-${round}`, "leaving");
    const [entered] = await Promise.all([
      round % 2 ? node(2).enter(next, 9, 1000) : undefined,
      ...ids.map((id, i) => node(i).end(id, "left", 2000)),
    ]);
    const ended = await node(1).endEmpty(2001, 9);
    expect(ended.filter(({ room }) => room === "leaving")).toHaveLength(entered ? 0 : 1);
    if (entered) await node(0).end(next.id, "left", 2000);
    await node(0).endEmpty(2001, 9);
  }
});

test("reserved places that are over are removed with later joins, also by several nodes at once", async () => {
  const at = 1_800_000_000_000;
  await all(20, (i) => node(i).reserve(A, "sweep", `s-${i}`, 99, at + i, at - 15_000));
  await all(9, (i) => node(i).reserve(A, "next", `t-${i}`, 99, at + 30_000, at + 10));
  const left: { id: string }[] = await sql`SELECT id FROM held_places WHERE room = 'sweep' ORDER BY until_ms`;
  expect(left.map(({ id }) => id)).toEqual(Array.from({ length: 9 }, (_, i) => `s-${i + 11}`));
});

test("nodes that do everything at once in a few rooms wait for each other, and never without end", async () => {
  const MAX = 3;
  let most = 0;
  const doings: readonly ((i: number, room: string) => Promise<unknown>)[] = [
    (i, room) => node(i).reserve(A, room, `x${i}`, MAX, 16_000, 1000),
    (i, room) => node(i).enter(entering(`x${i}`, room, { accessToken: "t", externalUserId: "u" }), MAX, 1000),
    // Ids of meetings are never used twice, those of stays are.
    (i, room) => node(i).enter(entering(`x${i % 9}`, room, { newMeeting: `m-${i}` }), MAX, 1000),
    (i) => node(i).lost(`x${i % 9}`, "n1", 1100),
    (i) => node(i).end(`x${i % 31}`, "left", 1200),
    async (i) => node(i).endOverdue(1150, await node(i).overdue(1150, 20)),
    (i) => node(i).endEmpty(5000, 20),
    (i) => node(i).forgetOld(Number.MAX_SAFE_INTEGER, 5),
    (i, room) => node(i).wait(waitingRow(`w${i}`, room), lobbyLimits(5, 3)),
    (i) => node(i).forgetWaiting(5000, 0, 0),
    (i) => node(i).beat(`n${i % 3}`, 1300),
    async (i, room) => {
      most = Math.max(most, await node(i).inside(A, room));
    },
  ];
  await all(600, async (i) => doings[(i * 7) % doings.length]?.(i, `mixed-${(i * 5) % 3}`));
  expect(most).toBeLessThanOrEqual(MAX);
  const counted: { app: AppId; room: string; kept: string; meetings: string }[] = await sql`
    SELECT c.app, c.room, c.meetings,
      (SELECT COUNT(*) FROM meetings m WHERE m.app = c.app AND (c.room = '' OR m.room = c.room)) AS kept
    FROM meeting_counters c`;
  expect(counted.length).toBeGreaterThan(1);
  for (const { app, room, meetings, kept } of counted) expect([app, room, kept]).toEqual([app, room, meetings]);
});
