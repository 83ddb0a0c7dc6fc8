/** Part of the suite of every store: the lobby (meetings.ts). */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { MeetingStore } from "../contract/meetings.ts";
import type { Store } from "../contract/store.ts";
import { lobbyLimits, waitingRow } from "./meetings.ts";
import { type NewPlace, withApps } from "./places.ts";

const A = anAppId("a");

export function lobbySuite(newPlace: NewPlace): void {
  let store: Store;
  let meetings: MeetingStore;
  beforeAll(async () => {
    store = await withApps(await newPlace());
    meetings = store.meetings;
  });
  afterAll(() => store.close());

  const waitIds = async (room: string): Promise<string[]> =>
    (await meetings.waiting(A, room)).map(({ waitId }) => waitId);

  describe("the lobby", () => {
    test("shows who waits in one room, oldest first, as it was written", async () => {
      await meetings.wait(waitingRow("w2", "shown", { since: 2000 }), lobbyLimits());
      await meetings.wait(waitingRow("w1", "shown"), lobbyLimits());
      await meetings.wait(waitingRow("w3", "other"), lobbyLimits());
      expect(await meetings.waiting(A, "shown")).toEqual([
        waitingRow("w1", "shown"),
        waitingRow("w2", "shown", { since: 2000 }),
      ]);
      expect(await meetings.waiting(anAppId("b"), "shown")).toEqual([]);
      expect(await meetings.waitingOne("w3")).toEqual(waitingRow("w3", "other"));
      for (const waitId of ["nothing", "\0"]) {
        expect(await meetings.waitingOne(waitId)).toBeUndefined();
        expect(await meetings.decide(waitId, "admitted", 1)).toBeUndefined();
      }
    });

    test("has a limit per room and per address, also when many ask at once", async () => {
      const asked = await Promise.all(
        Array.from({ length: 30 }, (_, i) => meetings.wait(waitingRow(`l${i}`, "limited"), lobbyLimits(5, 3))),
      );
      expect(asked.filter((outcome) => outcome === "waiting")).toHaveLength(5);
      expect(await waitIds("limited")).toHaveLength(5);
      const near = await Promise.all(
        Array.from({ length: 30 }, (_, i) =>
          meetings.wait(waitingRow(`n${i}`, "near", { address: "x" }), lobbyLimits(50, 3)),
        ),
      );
      expect(near.filter((outcome) => outcome === "waiting")).toHaveLength(3);
      expect(await meetings.wait(waitingRow("far", "near"), lobbyLimits(50, 3))).toBe("waiting");
      // A visitor who waits already is not a second one.
      const [first = ""] = await waitIds("limited");
      expect(await meetings.wait(waitingRow(first, "limited", { name: "another" }), lobbyLimits(5, 3))).toBe("waiting");
      expect((await meetings.waitingOne(first))?.name).not.toBe("another");
      // A client that was let in has left the queue; one that was declined still counts for its address.
      await meetings.decide(first, "admitted", 5);
      expect(await meetings.wait(waitingRow("l99", "limited"), lobbyLimits(5, 3))).toBe("waiting");
      const [one = "", other = ""] = await waitIds("near");
      await meetings.decide(one, "declined", 5);
      expect(await meetings.wait(waitingRow("n98", "near", { address: "x" }), lobbyLimits(50, 3))).toBe("full");
      await meetings.decide(other, "admitted", 5);
      expect(await meetings.wait(waitingRow("n99", "near", { address: "x" }), lobbyLimits(50, 3))).toBe("waiting");
    });

    test("has a limit per site, whatever the addresses; a client without one has none", async () => {
      const from = (id: string, site: string | null) =>
        meetings.wait(waitingRow(id, "sites", { site }), lobbyLimits(50, 3, 4));
      const asked = await Promise.all(Array.from({ length: 12 }, (_, i) => from(`s${i}`, "site")));
      expect(asked.filter((outcome) => outcome === "waiting")).toHaveLength(4);
      for (let i = 0; i < 6; i++) expect(await from(`v4-${i}`, null)).toBe("waiting");
      expect(await from("far site", "another")).toBe("waiting");
      const [one = "", two = ""] = (await waitIds("sites")).filter((id) => id.startsWith("s"));
      await meetings.decide(one, "declined", 5);
      expect(await from("s-again", "site")).toBe("full");
      await meetings.decide(two, "admitted", 5);
      expect(await from("s-next", "site")).toBe("waiting");
      expect((await meetings.waitingOne("s-next"))?.site).toBe("site");
    });

    test("lets one of many decide", async () => {
      await meetings.wait(waitingRow("d", "decided"), lobbyLimits());
      const all = await Promise.all(
        Array.from({ length: 10 }, (_, i) => meetings.decide("d", i % 2 ? "admitted" : "declined", 5000 + i)),
      );
      const decided = all.filter((row) => row !== undefined);
      expect(decided).toHaveLength(1);
      expect(await meetings.waitingOne("d")).toEqual(decided[0]);
      expect(decided[0]?.state).not.toBe("waiting");
      expect(await waitIds("decided")).toEqual([]);
    });

    test("forgets who waited too long, whose connection is gone, and who was declined", async () => {
      await meetings.forgetWaiting(Number.MAX_SAFE_INTEGER, 0, 0);
      const row = (waitId: string, room: string, since: number): Promise<unknown> =>
        meetings.wait(waitingRow(waitId, room, { since, seen: 6000 }), lobbyLimits());
      await row("old", "f1", 999);
      await row("stays", "f1", 1000);
      await row("gone", "f2", 5000);
      await row("back", "f2", 5000);
      await row("declined", "f3", 5000);
      await row("admitted", "f3", 5000);
      await row("declined late", "f3", 5000);
      await meetings.setSeen("gone", 5999);
      await meetings.setSeen("back", 5999);
      await meetings.setSeen("back", 6000);
      await meetings.setSeen("nothing", 1);
      expect(await meetings.waitingOne("gone")).toMatchObject({ seen: 5999, state: "waiting" });
      await meetings.decide("declined", "declined", 6999);
      await meetings.decide("admitted", "admitted", 6999);
      await meetings.decide("declined late", "declined", 7000);
      // A declined visitor closes its page, and has to wait all the same.
      await meetings.setSeen("declined late", 5999);
      const changed = await meetings.forgetWaiting(1000, 6000, 7000);
      // The queue of f3 has not changed: no client waited there any more.
      expect(changed.map(({ app, room }) => `${app}/${room}`).sort()).toEqual(["a/f1", "a/f2"]);
      expect(await waitIds("f1")).toEqual(["stays"]);
      expect(await waitIds("f2")).toEqual(["back"]);
      expect(await meetings.waitingOne("declined")).toBeUndefined();
      expect((await meetings.waitingOne("admitted"))?.state).toBe("admitted");
      expect((await meetings.waitingOne("declined late"))?.state).toBe("declined");
      expect(await meetings.forgetWaiting(1000, 6000, 7000)).toEqual([]);
    });

    test("names who was not seen for longest, and forgets those who are not back meanwhile", async () => {
      await meetings.forgetWaiting(Number.MAX_SAFE_INTEGER, 0, 0);
      const seen = { longest: 100, later: 200, back: 300, admitted: 400, declined: 500, there: 600 };
      for (const [id, at] of Object.entries(seen))
        await meetings.wait(waitingRow(id, `u-${id}`, { seen: at }), lobbyLimits());
      for (const state of ["admitted", "declined"] as const) await meetings.decide(state, state, 500);
      expect(await meetings.unseen(600, 2)).toEqual(["longest", "later"]);
      const unseen = await meetings.unseen(600, 9);
      expect(unseen).toEqual(["longest", "later", "back", "admitted"]);
      await meetings.setSeen("back", 600);
      await meetings.setSeen("there", 601);
      const changed = await meetings.forgetUnseen(600, unseen.slice(1));
      expect(changed).toEqual([{ app: A, room: "u-later" }]);
      expect(await meetings.unseen(602, 9)).toEqual(["longest", "back", "there"]);
      expect((await meetings.waitingOne("declined"))?.state).toBe("declined");
      expect(await meetings.forgetUnseen(600, [])).toEqual([]);
    });
  });
}
