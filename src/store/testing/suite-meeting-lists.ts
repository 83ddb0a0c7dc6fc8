/** Part of the suite of every store: lists of meetings and of who was there (meetings.ts). */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { MeetingSearch, MeetingStore } from "../contract/meetings.ts";
import type { Store } from "../contract/store.ts";
import { entering, inside } from "./meetings.ts";
import { type NewPlace, withApps } from "./places.ts";

const B = anAppId("b");
const A = anAppId("a");

const MEETINGS = 24;
const ROOMS = 3;

export function meetingListsSuite(newPlace: NewPlace): void {
  let store: Store;
  let meetings: MeetingStore;

  /** A meeting per call, ended unless it `stays`. Two of them begin at the same time. */
  const meet = async (i: number, stays = false, room = `room-${i % ROOMS}`): Promise<void> => {
    const began = 1000 + Math.floor(i / 2);
    const { meeting } = inside(await meetings.enter(entering(`p${i}`, room, { newMeeting: idOf(i) }), 9, began));
    if (stays) return;
    await meetings.end(`p${i}`, "left", began + 5);
    await meetings.endMeeting(meeting.id);
  };

  beforeAll(async () => {
    store = await withApps(await newPlace());
    meetings = store.meetings;
    for (let i = 0; i < MEETINGS; i++) await meet(i, i >= MEETINGS - ROOMS);
    await meetings.enter(entering("other", "room-0", { app: B, newMeeting: "b-1" }), 9, 1000);
  });
  afterAll(() => store.close());

  const newestFirst = Array.from({ length: MEETINGS }, (_, i) => i).reverse();
  const find = async (search: Partial<MeetingSearch>): Promise<(string | number)[]> => {
    const page = await meetings.meetings(A, { limit: 99, ...search });
    return [page?.total ?? -1, ...(page?.rows.map(({ id }) => id) ?? [])];
  };
  const expected = (filter: (i: number) => boolean): (string | number)[] => {
    const found = newestFirst.filter(filter);
    return [found.length, ...found.map(idOf)];
  };
  const beganOf = (i: number): number => 1000 + Math.floor(i / 2);
  const isOpen = (i: number): boolean => i >= MEETINGS - ROOMS;

  describe("lists of meetings", () => {
    test("are filtered by room, time, and whether they have ended, each alone and together", async () => {
      for (const room of [undefined, "room-1"])
        for (const isActive of [undefined, true, false])
          for (const startedAfter of [undefined, 1003])
            for (const startedBefore of [undefined, 1009, 5000]) {
              const search = { room, isActive, startedAfter, startedBefore };
              const matches = (i: number): boolean =>
                (room === undefined || i % ROOMS === 1) &&
                (isActive === undefined || isOpen(i) === isActive) &&
                beganOf(i) >= (startedAfter ?? 0) &&
                beganOf(i) < (startedBefore ?? Number.POSITIVE_INFINITY);
              expect({ search, found: await find(search) }).toEqual({ search, found: expected(matches) });
            }
      expect(await find({ room: "nothing" })).toEqual([0]);
      expect(await find({ room: "" })).toEqual([0]);
      expect(await find({ limit: 2 })).toEqual([MEETINGS, idOf(MEETINGS - 1), idOf(MEETINGS - 2)]);
    });

    test("come in pages, newest first, each meeting once, while others begin, end and are forgotten", async () => {
      const seen: string[] = [];
      for (let endId: string | undefined, page = 0; ; endId = seen.at(-1), page++) {
        const found = await meetings.meetings(A, { limit: 5, endId });
        seen.push(...(found?.rows.map(({ id }) => id) ?? []));
        if ((found?.rows.length ?? 0) < 5) break;
        await meet(100 + page, page % 2 === 0, `new-${page}`);
        if (page === 1) await meetings.end(`p${MEETINGS - 1}`, "left", 2000);
      }
      expect(seen).toEqual(newestFirst.map(idOf));
    });

    test("have no page behind a meeting of another application, or behind none", async () => {
      for (const endId of ["b-1", "nothing", "", "\0"])
        expect(await meetings.meetings(A, { limit: 5, endId })).toBeUndefined();
      expect((await meetings.meetings(B, { limit: 5, endId: "b-1" }))?.rows).toEqual([]);
    });

    test("say who was there, oldest first", async () => {
      const { meeting } = inside(await meetings.enter(entering("z", "people"), 9, 1000));
      await meetings.enter(entering("y", "people"), 9, 3000);
      await meetings.enter(entering("x", "people"), 9, 2000);
      await meetings.end("z", "removed", 4000);
      const people = await meetings.participants(meeting.id, 9);
      expect(people.map(({ id, ended, why }) => [id, ended, why])).toEqual([
        ["z", 4000, "removed"],
        ["x", null, null],
        ["y", null, null],
      ]);
      expect((await meetings.participants(meeting.id, 2)).map(({ id }) => id)).toEqual(["z", "x"]);
      expect(await meetings.participants("nothing", 2)).toEqual([]);
    });
  });
}

const idOf = (i: number): string => `m${String(i).padStart(4, "0")}`;
