/** Part of the suite of every store: stays of killed nodes, the end of meetings, and what is forgotten (meetings.ts). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { AppId } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type { MeetingStore, StayRow } from "../contract/meetings.ts";
import type { Store } from "../contract/store.ts";
import { entering, inside, lobbyLimits, waitingRow } from "./meetings.ts";
import { type NewPlace, withApps } from "./places.ts";
import { appRow } from "./rows.ts";

const A = anAppId("a");
const B = anAppId("b");

const DAY_MS = 86_400_000;

export function meetingEndsSuite(newPlace: NewPlace): void {
  let store: Store;
  let meetings: MeetingStore;
  beforeAll(async () => {
    store = await withApps(await newPlace());
    meetings = store.meetings;
  });
  afterAll(() => store.close());
  const endOverdue = async (beforeMs: number, limit = 99): Promise<readonly StayRow[]> =>
    meetings.endOverdue(beforeMs, await meetings.overdue(beforeMs, limit));
  // What earlier tests have left open would be found by the sweeps.
  beforeEach(async () => {
    await endOverdue(Number.MAX_SAFE_INTEGER, 1000);
    await meetings.endEmpty(Number.MAX_SAFE_INTEGER, 1000);
  });

  const overdueIds = async (beforeMs: number, limit = 99): Promise<Record<string, number>> =>
    Object.fromEntries((await meetings.overdue(beforeMs, limit)).map(({ stay, lastSeen }) => [stay.id, lastSeen]));

  describe("after the clock was set back", () => {
    const [before, now] = [2_000_000, 1_000_000];

    test("graces and waits count from now on, and held places are given up", async () => {
      await meetings.beat("gone", before);
      await meetings.enter(entering("l1", "back", { node: "gone" }), 9, before);
      await meetings.enter(entering("k1", "back", { node: "gone" }), 9, before);
      await meetings.lost("l1", "gone", before);
      expect(await meetings.reserve(A, "held", "h1", 1, before + 15_000, before)).toBe("reserved");
      await meetings.wait(waitingRow("late", "held", { since: before, seen: before }), lobbyLimits());
      await meetings.bringBack(now);
      expect(await overdueIds(now + 1)).toEqual({ l1: now, k1: now });
      expect(await meetings.reserve(A, "held", "h2", 1, now + 15_000, now)).toBe("reserved");
      expect(await meetings.waitingOne("late")).toMatchObject({ since: now, seen: now });
      await meetings.decide("late", "declined", before);
      await meetings.bringBack(now);
      expect(await meetings.waitingOne("late")).toMatchObject({ decided: now });
      for (const { ended } of await endOverdue(now + 1)) expect(ended).toBe(now);
    });

    test("what another node has written, whose clock is seconds ahead, stays as it is", async () => {
      await meetings.enter(entering("s1", "skew", { node: "near" }), 9, now);
      await meetings.lost("s1", "near", now + 5000);
      await meetings.bringBack(now);
      expect(await meetings.stay("s1")).toMatchObject({ seen: now + 5000 });
    });

    test("the newest connection of a stay has entered last, whichever clock its node has", async () => {
      await meetings.enter(entering("n1", "newest", { node: "ahead" }), 9, now + 5000);
      const { stay } = inside(await meetings.enter(entering("n1", "newest", { node: "behind" }), 9, now));
      expect(stay.seen).toBeGreaterThan(now + 5000);
    });
  });

  describe("overdue stays", () => {
    test("are those of nodes whose beats have stopped, and those that were lost", async () => {
      await meetings.beat("dead", 5000);
      await meetings.beat("alive", 5000);
      await meetings.enter(entering("d1", "killed", { node: "dead" }), 9, 4000);
      await meetings.enter(entering("d2", "killed", { node: "dead" }), 9, 6000);
      await meetings.enter(entering("a1", "killed", { node: "alive" }), 9, 4000);
      await meetings.enter(entering("w1", "killed", { node: "alive" }), 9, 4000);
      await meetings.lost("w1", "alive", 4500);
      await meetings.beat("alive", 40_000);
      expect(await overdueIds(4500)).toEqual({});
      expect(await overdueIds(4501)).toEqual({ w1: 4500 });
      expect(await overdueIds(5001)).toEqual({ w1: 4500, d1: 5000 });
      // A client that entered after the last beat was seen then.
      expect(await overdueIds(35_000)).toEqual({ w1: 4500, d1: 5000, d2: 6000 });
      expect(Object.keys(await overdueIds(35_000, 2))).toHaveLength(2);
      expect(await overdueIds(35_000, 0)).toEqual({});
    });

    test("are ended when they were last seen, each by one of many callers; a stay that is back goes on", async () => {
      await meetings.beat("dead", 5000);
      await meetings.beat("alive", 5000);
      for (const id of ["o1", "o2", "o3", "o4"]) await meetings.enter(entering(id, "over", { node: "dead" }), 9, 1000);
      await meetings.enter(entering("o4", "over", { node: "alive" }), 9, 5500);
      await meetings.beat("alive", 40_000);
      const all = await Promise.all(Array.from({ length: 8 }, () => endOverdue(35_000)));
      expect(
        all
          .flat()
          .map(({ id, ended, why, node }) => [id, ended, why, node])
          .sort(),
      ).toEqual(["o1", "o2", "o3"].map((id) => [id, 5000, "lost", null]));
      expect((await meetings.openStays(A, "over")).map(({ id }) => id)).toEqual(["o4"]);
      expect(await endOverdue(35_000)).toEqual([]);
    });

    test("of a node that no beat was written of are found as well", async () => {
      const began = 100 * DAY_MS;
      await meetings.enter(entering("new", "unknown", { node: "never beaten" }), 9, began);
      expect(await overdueIds(began)).toEqual({});
      expect(await overdueIds(began + 1)).toEqual({ new: began });
      await meetings.end("new", "left", began);
      // A node that is silent for long and has no stays is forgotten, and known again with its next stay.
      await meetings.forgetOld(began + DAY_MS, 9);
      await meetings.enter(entering("newer", "unknown", { node: "never beaten" }), 9, began + DAY_MS);
      expect(await overdueIds(began + DAY_MS + 1)).toEqual({ newer: began + DAY_MS });
    });

    test("are not those of a node that beats again", async () => {
      await meetings.beat("frozen", 1000);
      await meetings.enter(entering("f", "frozen", { node: "frozen" }), 9, 1000);
      expect(await overdueIds(30_000)).toEqual({ f: 1000 });
      await meetings.beat("frozen", 30_000);
      expect(await endOverdue(30_000)).toEqual([]);
    });
  });

  describe("meetings", () => {
    test("end when they have been empty for a while, at the end of the last stay, by one of many callers", async () => {
      const { meeting } = inside(await meetings.enter(entering("e1", "empty"), 9, 1000));
      await meetings.enter(entering("e2", "empty"), 9, 1000);
      await meetings.end("e1", "left", 9000);
      expect(await meetings.endEmpty(50_000, 9)).toEqual([]);
      // Ended later, but seen last before the other one.
      await meetings.end("e2", "lost", 8000);
      expect(await meetings.endEmpty(9000, 9)).toEqual([]);
      const all = await Promise.all(Array.from({ length: 8 }, () => meetings.endEmpty(9001, 9)));
      expect(all.flat()).toEqual([{ ...meeting, ended: 9000 }]);
      expect(await meetings.current(A, "empty")).toBeUndefined();
      expect(await meetings.meeting(A, meeting.id)).toEqual({ ...meeting, ended: 9000 });
      expect(await meetings.endMeeting(meeting.id)).toBeUndefined();
      expect(await meetings.latest(A, "empty")).toEqual({ ...meeting, ended: 9000 });
      expect(inside(await meetings.enter(entering("e3", "empty"), 9, 9500)).meeting.id).toBe("m-e3");
      expect(await meetings.latest(A, "empty")).toMatchObject({ id: "m-e3", ended: null });
      expect(await meetings.latest(B, "empty")).toBeUndefined();
    });

    test("go on when a client enters in time", async () => {
      const { meeting } = inside(await meetings.enter(entering("g1", "goes on"), 9, 1000));
      await meetings.end("g1", "left", 2000);
      expect(inside(await meetings.enter(entering("g2", "goes on"), 9, 3000)).meeting).toEqual(meeting);
      expect(await meetings.endEmpty(50_000, 9)).toEqual([]);
      expect(await meetings.endMeeting(meeting.id)).toBeUndefined();
      await meetings.end("g2", "left", 4000);
      expect(await meetings.endMeeting(meeting.id)).toEqual({ ...meeting, ended: 4000 });
    });

    test("never end with a client inside, when people enter while it is decided", async () => {
      for (let round = 0; round < 10; round++) {
        await meetings.enter(entering(`r${round}`, "rush"), 9, 1000);
        await meetings.end(`r${round}`, "left", 2000);
        const [entered] = await Promise.all([
          meetings.enter(entering(`s${round}`, "rush"), 9, 3000),
          meetings.endEmpty(2500, 9),
          meetings.endEmpty(2500, 9),
        ]);
        const { meeting } = inside(entered);
        expect(await meetings.current(A, "rush")).toEqual(meeting);
        await meetings.end(`s${round}`, "left", 4000);
        await meetings.endMeeting(meeting.id);
      }
    });

    test("are forgotten with their stays when their application's time is over, in slices", async () => {
      await store.change((change) => change.putApp(appRow("b", { meetingRetentionDays: 5, deleted: 9 })));
      const ended = async (id: string, app: AppId, atMs: number, people = 1): Promise<void> => {
        for (let i = 0; i < people; i++) await meetings.enter(entering(`${id}-${i}`, id, { app }), 9999, atMs - 1);
        for (let i = 0; i < people; i++) await meetings.end(`${id}-${i}`, "left", atMs);
        await meetings.endMeeting(`m-${id}-0`);
      };
      while ((await meetings.forgetOld(Number.MAX_SAFE_INTEGER, 1000)) > 0);
      const now = 100 * DAY_MS;
      await meetings.enter(entering("open", "open"), 9, 1);
      await ended("old-1", A, 10 * DAY_MS - 1);
      await ended("old-2", A, 10 * DAY_MS - 1, 201);
      await ended("old-3", B, 95 * DAY_MS - 1);
      await ended("kept-1", A, 10 * DAY_MS);
      await ended("kept-2", B, 95 * DAY_MS);
      const ids = async (app: AppId): Promise<(string | number)[]> => {
        const page = await meetings.meetings(app, { limit: 99 });
        return [page?.total ?? 0, ...(page?.rows.map(({ room }) => room) ?? [])];
      };
      expect(await ids(A)).toEqual([4, "kept-1", "old-2", "old-1", "open"]);
      for (const forgotten of [1, 1, 1, 0]) expect(await meetings.forgetOld(now, 1)).toBe(forgotten);
      expect(await ids(A)).toEqual([2, "kept-1", "open"]);
      expect(await ids(B)).toEqual([1, "kept-2"]);
      expect((await meetings.meetings(A, { room: "old-1", limit: 1 }))?.total).toBe(0);
      expect(await meetings.stay("old-2-200")).toBeUndefined();
      expect(await meetings.stay("kept-1-0")).toMatchObject({ ended: 10 * DAY_MS });
      expect(await meetings.participants("m-old-2-0", 9)).toEqual([]);
    });
  });
}
