/** Part of the suite of every store: how stays begin, go on and end (meetings.ts). */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { type MeetingStore, PEOPLE_COUNTED_MAX } from "../contract/meetings.ts";
import type { Store } from "../contract/store.ts";
import { entering, inside } from "./meetings.ts";
import { type NewPlace, withApps } from "./places.ts";

const A = anAppId("a");
const B = anAppId("b");

const MANY = 40;

export function staysSuite(newPlace: NewPlace): void {
  let store: Store;
  let meetings: MeetingStore;
  beforeAll(async () => {
    store = await withApps(await newPlace());
    meetings = store.meetings;
  });
  afterAll(() => store.close());

  const count = <T>(all: readonly T[], one: T): number => all.filter((outcome) => outcome === one).length;

  describe("stays", () => {
    test("are read as they were written, and the first one begins the meeting", async () => {
      const one = entering("p1", "written", {
        externalUserId: "user ü",
        isAdmin: true,
        isGuest: false,
        accessToken: "digest",
        ejectAtLatest: 1_800_000_000_123,
      });
      const began = await meetings.enter(one, 5, 1000);
      const { newMeeting, roomName, ejectAfterSec, ejectAtLatest, ...fields } = one;
      const stay = { ...fields, meeting: newMeeting, ejectAt: ejectAtLatest, seen: 1000, began: 1000 };
      const meeting = {
        id: newMeeting,
        app: A,
        room: "written",
        roomName,
        began: 1000,
        ended: null,
        isLocked: false,
        recording: null,
        recordingStopped: null,
      };
      expect(began).toEqual({ outcome: "began", stay: { ...stay, ended: null, why: null }, meeting, isFirst: true });
      expect(await meetings.stay("p1")).toEqual({ ...stay, ended: null, why: null });
      expect(await meetings.current(A, "written")).toEqual(meeting);
      expect(await meetings.meeting(A, newMeeting)).toEqual(meeting);
      expect(await meetings.current(B, "written")).toBeUndefined();
      expect(await meetings.meeting(B, newMeeting)).toBeUndefined();
      for (const id of ["nothing", "\0", ""]) expect(await meetings.stay(id)).toBeUndefined();

      const second = inside(await meetings.enter(entering("p2", "written"), 5, 1001));
      expect(second).toMatchObject({ meeting, isFirst: false });
      expect((await meetings.openStays(A, "written")).map(({ id }) => id)).toEqual(["p1", "p2"]);
      expect(await meetings.inside(A, "written")).toBe(2);
      expect(await meetings.inside(B, "written")).toBe(0);

      await meetings.enter(entering("p3", "written too"), 5, 1002);
      await meetings.enter(entering("p4", "left again"), 5, 1002);
      await meetings.end("p4", "left", 1003);
      const each = await meetings.insideEach(A, ["written", "written too", "left again", "never"]);
      expect(new Map(each.map(({ room, n }) => [room, n]))).toEqual(
        new Map([
          ["written", 2],
          ["written too", 1],
        ]),
      );
      expect(await meetings.insideEach(B, ["written"])).toEqual([]);
      expect(await meetings.insideEach(A, [])).toEqual([]);
      // By name: a person who comes back under it is not another one. The end of a stay changes nothing.
      await meetings.enter(entering("p5", "written", { name: second.stay.name }), 5, 1004);
      const people = await meetings.peopleEach([newMeeting, "m-p4", "m-never"]);
      expect(people.map(({ meeting: id, n }) => `${id} ${n}`).sort()).toEqual(["m-p4 1", `${newMeeting} 2`].sort());
      expect(await meetings.peopleEach([])).toEqual([]);
    });

    test("are counted as people only as far as the first of them", async () => {
      const { meeting } = inside(await meetings.enter(entering("first", "crowd"), 1000, 1000));
      for (let nr = 0; nr < PEOPLE_COUNTED_MAX; nr++)
        await meetings.enter(entering(`crowd-${nr}`, "crowd"), 1000, 1001);
      expect(await meetings.peopleEach([meeting.id])).toEqual([{ meeting: meeting.id, n: PEOPLE_COUNTED_MAX }]);
    });

    test("are renamed, counted up to a limit by however many callers, until they end; coming back changes no name", async () => {
      const { stay } = inside(await meetings.enter(entering("named", "names", { name: "Ada" }), 5, 1000));
      const renames = await Promise.all(Array.from({ length: 6 }, (_, nr) => meetings.rename("named", `Ada ${nr}`, 3)));
      expect(count(renames, "too often")).toBe(3);
      // Without a limit it does not count.
      expect(await meetings.rename("named", "Grace")).toEqual({ ...stay, name: "Grace" });
      expect(await meetings.rename("named", "Ada", 3)).toBe("too often");
      const back = inside(await meetings.enter(entering("named", "names", { name: "Eve" }), 5, 2000));
      expect([back.stay.name, (await meetings.stay("named"))?.name]).toEqual(["Grace", "Grace"]);
      await meetings.end("named", "left", 3000);
      expect(await meetings.rename("named", "Ada")).toBe("ended");
      expect(await meetings.rename("nothing", "Ada", 3)).toBe("ended");
      expect((await meetings.stay("named"))?.name).toBe("Grace");
    });

    test("go on when their participantSession enters again, on any node, in a full and locked room", async () => {
      const { meeting } = inside(await meetings.enter(entering("back", "again"), 1, 1000));
      await meetings.lock(meeting.id, true);
      const back = await meetings.enter(entering("back", "again", { node: "n2", name: "another" }), 1, 2000);
      expect(back).toMatchObject({
        outcome: "back",
        isFirst: false,
        stay: { node: "n2", seen: 2000, began: 1000, ended: null },
      });
      expect(inside(back).stay).toEqual((await meetings.stay("back")) ?? expect.unreachable());
      expect(inside(back).meeting).toEqual({ ...meeting, isLocked: true });
      // The connection to the first node ends after that.
      await meetings.lost("back", "n1", 3000);
      expect(await meetings.stay("back")).toMatchObject({ node: "n2", seen: 2000 });
      await meetings.lost("back", "n2", 4000);
      expect(await meetings.stay("back")).toMatchObject({ node: null, seen: 4000, ended: null });
      expect(await meetings.inside(A, "again")).toBe(1);
    });

    test("belong to the room that they began in", async () => {
      await meetings.enter(entering("own", "own room"), 5, 1000);
      expect(await meetings.enter(entering("own", "other room"), 5, 1000)).toEqual({ outcome: "ended" });
      expect(await meetings.enter(entering("own", "own room", { app: B }), 5, 1000)).toEqual({ outcome: "ended" });
      expect(await meetings.current(A, "other room")).toBeUndefined();
    });

    test("end once, and do not come back", async () => {
      await meetings.enter(entering("end", "ends"), 5, 1000);
      const ends = await Promise.all(
        (["left", "lost", "time", "ended"] as const).map((why) => meetings.end("end", why, 2000)),
      );
      const [ended] = ends.filter((stay) => stay !== undefined);
      expect(ends.filter((stay) => stay !== undefined)).toHaveLength(1);
      expect(ended).toMatchObject({ id: "end", ended: 2000, node: null });
      expect(await meetings.stay("end")).toEqual(ended);
      expect(await meetings.end("nothing", "left", 2000)).toBeUndefined();
      expect(await meetings.enter(entering("end", "ends"), 5, 3000)).toEqual({ outcome: "ended" });
      await meetings.lost("end", "n1", 4000);
      expect(await meetings.stay("end")).toEqual(ended);
    });

    test("end with a node's goodbye unless another node has the connection by then", async () => {
      await meetings.enter(entering("moved", "goodbyes", { node: "n1" }), 5, 1000);
      await meetings.enter(entering("moved", "goodbyes", { node: "n2" }), 5, 1500);
      expect(await meetings.end("moved", "left", 2000, "n1")).toBeUndefined();
      expect(await meetings.stay("moved")).toMatchObject({ ended: null, node: "n2" });
      expect(await meetings.end("moved", "left", 2000, "n2")).toMatchObject({ why: "left", ended: 2000 });
      await meetings.enter(entering("nowhere", "goodbyes", { node: "n1" }), 5, 1000);
      await meetings.lost("nowhere", "n1", 1500);
      expect(await meetings.end("nowhere", "left", 2000, "n2")).toMatchObject({ why: "left" });
    });

    test("begin once, also when one participantSession enters many times at once", async () => {
      const all = await Promise.all(
        Array.from({ length: 10 }, (_, i) => meetings.enter(entering("one", "once", { node: `n${i}` }), 1, 1000 + i)),
      );
      expect(all.map(({ outcome }) => outcome).sort()).toEqual([...Array(9).fill("back"), "began"]);
      expect(await meetings.inside(A, "once")).toBe(1);
    });
  });

  describe("the limit of a room", () => {
    test("that was lowered since places were held is reached, and not passed", async () => {
      await meetings.enter(entering("g0", "given up"), 3, 1000);
      for (const id of ["g1", "g2"]) await meetings.reserve(A, "given up", id, 3, 16_000, 1000);
      expect(await meetings.enter(entering("g1", "given up"), 2, 1001)).toEqual({ outcome: "full" });
      expect(await meetings.enter(entering("g2", "given up"), 2, 1002)).toMatchObject({ outcome: "began" });
      expect(await meetings.enter(entering("g1", "given up"), 2, 1003)).toEqual({ outcome: "full" });
      expect(await meetings.inside(A, "given up")).toBe(2);
    });

    test("is exact when many enter at once, and one meeting begins", async () => {
      const all = await Promise.all(
        Array.from({ length: MANY }, (_, i) => meetings.enter(entering(`e${i}`, "race"), 3, 1000)),
      );
      const outcomes = all.map(({ outcome }) => outcome);
      expect([count(outcomes, "began"), count(outcomes, "full")]).toEqual([3, MANY - 3]);
      expect(await meetings.inside(A, "race")).toBe(3);
      expect((await meetings.meetings(A, { room: "race", limit: 9 }))?.total).toBe(1);
    });

    test("counts held places and stays together, when many join and enter at once", async () => {
      const answers = await Promise.all(
        Array.from({ length: MANY }, (_, i) => meetings.reserve(A, "held", `h${i}`, 4, 16_000, 1000)),
      );
      expect(count(answers, "reserved")).toBe(4);
      const places = Array.from({ length: MANY }, (_, i) => `h${i}`).filter((_, i) => answers[i] === "reserved");
      const all = await Promise.all([
        ...Array.from({ length: MANY }, (_, i) => meetings.enter(entering(`x${i}`, "held"), 4, 1500)),
        ...places.map((id) => meetings.enter(entering(id, "held"), 4, 1500)),
      ]);
      expect(all.slice(MANY).map(({ outcome }) => outcome)).toEqual(Array(4).fill("began"));
      expect(await meetings.inside(A, "held")).toBe(4);
      expect(await meetings.reserve(A, "held", "late", 4, 16_000, 1500)).toBe("full");
      await meetings.end(places[0] ?? "", "left", 1600);
      const later = await Promise.all(
        Array.from({ length: MANY }, (_, i) => meetings.reserve(A, "held", `late${i}`, 4, 16_600, 1600)),
      );
      expect(count(later, "reserved")).toBe(1);
    });

    test("leaves a held place to its participantSession, until it is over", async () => {
      expect(await meetings.reserve(A, "short", "p", 1, 16_000, 1000)).toBe("reserved");
      expect(await meetings.reserve(A, "short", "p", 1, 17_000, 2000)).toBe("reserved");
      expect(await meetings.reserve(A, "short", "q", 1, 31_000, 16_500)).toBe("full");
      expect(await meetings.enter(entering("q-now", "short"), 1, 16_999)).toEqual({ outcome: "full" });
      expect(await meetings.reserve(B, "short", "r", 1, 31_000, 16_500)).toBe("reserved");
      expect(await meetings.reserve(A, "short", "q", 1, 32_000, 17_000)).toBe("reserved");
      expect(await meetings.enter(entering("p-late", "short"), 1, 17_001)).toEqual({ outcome: "full" });
      expect((await meetings.enter(entering("q-2", "short"), 2, 17_001)).outcome).toBe("began");
      expect((await meetings.enter(entering("p-3", "short"), 2, 32_001)).outcome).toBe("began");
    });

    test("says how many places others have, held or entered", async () => {
      await meetings.reserve(A, "counted", "c1", 3, 16_000, 1000);
      await meetings.reserve(A, "counted", "c2", 3, 16_000, 1000);
      await meetings.enter(entering("c3", "counted"), 3, 1000);
      const taken = (id: string, at: number): Promise<number> => meetings.takenByOthers(A, "counted", id, at);
      expect([await taken("c1", 1100), await taken("c3", 1100), await taken("c4", 1100)]).toEqual([2, 2, 3]);
      expect([await taken("c1", 16_001), await meetings.takenByOthers(B, "counted", "c1", 1100)]).toEqual([1, 0]);
    });

    test("cannot be used up by one address that joins and never enters", async () => {
      const reserve = (id: string, at: number, name?: string): Promise<string> =>
        meetings.reserve(A, "address", id, 3, at + 15_000, at, name === undefined ? name : { name, isVerified: false });
      for (let i = 0; i < 10; i++) expect(await reserve(`flood-${i}`, 1000 + i, "x")).toBe("reserved");
      // Two places are held by it, so one is left.
      expect(await reserve("other", 1100, "y")).toBe("reserved");
      expect(await reserve("third", 1100)).toBe("full");
      // The same participantSession keeps its place, and its address does not lose another one.
      expect(await reserve("flood-9", 1200, "x")).toBe("reserved");
      expect((await meetings.enter(entering("flood-8", "address"), 3, 1300)).outcome).toBe("began");
      expect((await meetings.enter(entering("flood-7", "address"), 3, 1300)).outcome).toBe("full");
      expect((await meetings.enter(entering("flood-9", "address"), 3, 1300)).outcome).toBe("began");
      expect((await meetings.enter(entering("other", "address"), 3, 1300)).outcome).toBe("began");
    });

    test("that guests hold is taken by a verified caller where the room is full; stays and places of verified callers are not", async () => {
      const reserve = (id: string, at: number, isVerified: boolean): Promise<string> =>
        meetings.reserve(A, "taken", id, 3, at + 15_000, at, { name: id, isVerified });
      const enter = async (id: string, at: number) => (await meetings.enter(entering(id, "taken"), 3, at)).outcome;
      expect(await reserve("inside", 1000, false)).toBe("reserved");
      expect(await enter("inside", 1001)).toBe("began");
      expect(await reserve("guest", 1002, false)).toBe("reserved");
      expect(await reserve("later", 1003, false)).toBe("reserved");
      expect(await reserve("another", 1004, false)).toBe("full");
      // The one that was held for longest.
      expect(await reserve("admin", 1005, true)).toBe("reserved");
      expect(await enter("guest", 1006)).toBe("full");
      // A guest who joins again with a token is verified from then on.
      expect(await reserve("later", 1007, true)).toBe("reserved");
      expect(await reserve("late", 1008, true)).toBe("full");
      expect(await enter("admin", 1009)).toBe("began");
      expect(await enter("later", 1010)).toBe("began");
      expect(await reserve("late", 1011, true)).toBe("full");
    });

    test("does not count a stay twice that holds a place for its return", async () => {
      await meetings.enter(entering("resume", "resumes"), 1, 1000);
      expect(await meetings.reserve(A, "resumes", "resume", 1, 16_000, 1500)).toBe("reserved");
      expect((await meetings.enter(entering("resume", "resumes"), 1, 1600)).outcome).toBe("back");
      // Its place is not held any more, so that its end leaves the room empty.
      await meetings.end("resume", "left", 1700);
      expect((await meetings.enter(entering("next", "resumes"), 1, 1800)).outcome).toBe("began");
    });

    test("applies to clients that enter next when it is lowered or raised", async () => {
      for (const id of ["l1", "l2", "l3"]) await meetings.enter(entering(id, "lowered"), 3, 1000);
      expect((await meetings.enter(entering("l4", "lowered"), 2, 1000)).outcome).toBe("full");
      expect((await meetings.enter(entering("l1", "lowered"), 2, 1000)).outcome).toBe("back");
      expect((await meetings.enter(entering("l4", "lowered"), 4, 1000)).outcome).toBe("began");
    });
  });

  describe("who may not enter", () => {
    test("an access token or a user that was put out, until the meeting ends", async () => {
      const token = { accessToken: "t1", externalUserId: "u1", isGuest: false };
      const { meeting } = inside(await meetings.enter(entering("b1", "bans", token), 9, 1000));
      await meetings.enter(entering("b2", "bans"), 9, 1000);
      for (let i = 0; i < 2; i++) await meetings.ban(meeting.id, token);
      await meetings.end("b1", "removed", 2000);
      const others = [
        ["b3", { accessToken: "t1" }, "removed"],
        ["b4", { externalUserId: "u1" }, "removed"],
        ["b5", { accessToken: "u1", externalUserId: "t1" }, "began"],
        ["b6", {}, "began"],
      ] as const;
      for (const [id, fields, outcome] of others)
        expect([id, (await meetings.enter(entering(id, "bans", fields), 9, 3000)).outcome]).toEqual([id, outcome]);
      expect(await meetings.isBanned(meeting.id, "t1", null)).toBe(true);
      expect(await meetings.isBanned(meeting.id, "t2", "u1")).toBe(true);
      expect(await meetings.isBanned(meeting.id, "u1", "t1")).toBe(false);
      expect(await meetings.isBanned(meeting.id, null, null)).toBe(false);
      await meetings.ban(meeting.id, { accessToken: null, externalUserId: null });
      expect(await meetings.isBanned(meeting.id, null, null)).toBe(false);

      for (const { id } of await meetings.openStays(A, "bans")) await meetings.end(id, "ended", 4000);
      expect(await meetings.endMeeting(meeting.id)).toMatchObject({ id: meeting.id, ended: 4000 });
      expect(await meetings.isBanned(meeting.id, "t1", "u1")).toBe(false);
      expect(inside(await meetings.enter(entering("b7", "bans", token), 9, 5000)).meeting.id).toBe("m-b7");
    });

    test("a guest while the meeting is locked, but admins and those who were let in", async () => {
      const { meeting } = inside(await meetings.enter(entering("k1", "locks"), 3, 1000));
      await meetings.lock(meeting.id, true);
      expect((await meetings.enter(entering("k2", "locks"), 3, 1000)).outcome).toBe("locked");
      expect((await meetings.enter(entering("k3", "locks", { isAdmin: true }), 3, 1000)).outcome).toBe("began");
      expect((await meetings.enter(entering("k4", "locks", { isLetIn: true }), 3, 1000)).outcome).toBe("began");
      expect((await meetings.enter(entering("k5", "locks"), 3, 1000)).outcome).toBe("full");
      await meetings.lock(meeting.id, false);
      expect((await meetings.enter(entering("k2", "locks"), 4, 1000)).outcome).toBe("began");
    });

    test("an access token whose time in the meeting is over", async () => {
      const token = { accessToken: "t", ejectAfterSec: 60, isGuest: false };
      const at = async (id: string, nowMs: number, fields = {}): Promise<unknown> => {
        const entered = await meetings.enter(entering(id, "times", { ...token, ...fields }), 99, nowMs);
        return "stay" in entered ? entered.stay.ejectAt : entered.outcome;
      };
      expect(await at("t1", 1000)).toBe(61_000);
      await meetings.end("t1", "left", 2000);
      // From the token's first entry, not from this stay's.
      expect(await at("t2", 30_000)).toBe(61_000);
      expect(await at("t3", 30_000, { ejectAtLatest: 40_000 })).toBe(40_000);
      expect(await at("t4", 30_000, { ejectAtLatest: 400_000 })).toBe(61_000);
      expect(await at("t5", 30_000, { accessToken: "u" })).toBe(90_000);
      expect(await at("t6", 30_000, { accessToken: null })).toBe(90_000);
      expect(await at("t7", 30_000, { ejectAfterSec: null })).toBeNull();
      expect(await at("t8", 61_000)).toBe("time");
      // A stay that comes back gets the times that apply now.
      expect(await at("t2", 60_999)).toBe(61_000);
      const before = await meetings.stay("t2");
      expect(await at("t2", 61_000, { node: "n2" })).toBe("time");
      expect(await at("t6", 90_000, { accessToken: null })).toBe("time");
      expect(await meetings.stay("t2")).toEqual(before);
      expect(await at("t2", 31_000, { ejectAfterSec: 100 })).toBe(101_000);
      expect(await at("t6", 31_000, { accessToken: null, ejectAfterSec: 10 })).toBe(40_000);
      expect(await at("t2", 31_000, { ejectAfterSec: null })).toBeNull();
      expect((await meetings.stay("t2"))?.ejectAt).toBeNull();
      const { id = "" } = (await meetings.current(A, "times")) ?? {};
      expect(await meetings.firstEntry(id, "t")).toBe(1000);
      expect(await meetings.firstEntry(id, "nothing")).toBeUndefined();
    });
  });
}
