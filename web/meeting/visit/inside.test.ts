/** What the page of a participant does with what the service says about its time, and about the servers that it may relay over. */
import { afterEach, beforeEach, expect, setSystemTime, test } from "bun:test";
import type { Kind } from "../call/contract.ts";
import type { Joined } from "../page/api.ts";
import { type Fakes, fakeDevices, fakeVisit, JOINED } from "../testing/fakes.ts";

const NOW = 1_700_000_000_000;
beforeEach(() => setSystemTime(new Date(NOW)));
afterEach(() => setSystemTime());

const track = (kind: Kind) =>
  Object.assign(new EventTarget(), { kind, stop: () => undefined }) as unknown as MediaStreamTrack;

async function inside(joined: Partial<Joined> = {}): Promise<Fakes> {
  const fakes = fakeVisit(fakeDevices(track));
  fakes.api.answer = () => ({ ...JOINED, ...joined });
  await fakes.visit.start("Ada");
  await fakes.visit.enter("Ada");
  return fakes;
}

test("the countdown to the end of a meeting ends when the meeting goes on", async () => {
  const { visit, room } = await inside();
  const { ending } = visit.session;
  room().emit("notice", { notice: "ending", inSec: 30 });
  expect(ending.value).toEqual({ timeMs: NOW + 30_000, isForAll: true });
  room().emit("notice", { notice: "continues", participantSession: "me" });
  expect(ending.value).toEqual({ timeMs: NOW + 30_000, isForAll: true });
  room().emit("notice", { notice: "continues" });
  expect(ending.value).toBeUndefined();
});

test("one's own end stays when that of the meeting is taken back, and the earlier one is shown", async () => {
  const { visit, room } = await inside({ ejectAt: NOW / 1000 + 50 });
  const { ending } = visit.session;
  const own = { timeMs: NOW + 50_000, isForAll: false };
  expect(ending.value).toEqual(own);
  room().emit("notice", { notice: "ending", inSec: 30 });
  expect(ending.value).toEqual({ timeMs: NOW + 30_000, isForAll: true });
  room().emit("notice", { notice: "continues" });
  expect(ending.value).toEqual(own);
  room().emit("notice", { notice: "ending", participantSession: "other", inSec: 5 });
  room().emit("notice", { notice: "continues", participantSession: "other" });
  expect(ending.value).toEqual(own);
  room().emit("notice", { notice: "continues", participantSession: "me" });
  expect(ending.value).toBeUndefined();
});

test("the end of the room is shown as that of the meeting, although it is one's own too", async () => {
  const { visit, room } = await inside({ ejectAt: NOW / 1000 + 50 });
  room().emit("notice", { notice: "ending", inSec: 51 });
  expect(visit.session.ending.value).toEqual({ timeMs: NOW + 51_000, isForAll: true });
});

test("a page that was away forgets the notices before: the service repeats what still holds", async () => {
  const { visit, room } = await inside();
  room().emit("notice", { notice: "ending", inSec: 30 });
  room().emit("online", false);
  expect(visit.session.ending.value).toBeDefined();
  room().emit("online", true);
  expect(visit.session.ending.value).toBeUndefined();
});

test("connections use the ICE servers of the stay as soon as they come, and the newest ones from then on", async () => {
  const ofJoin = [{ urls: ["turn:a"], username: "join" }];
  const { visit, room, engine } = await inside({ iceServers: ofJoin });
  expect(engine().iceServers).toEqual([ofJoin]);
  const [ofStay, renewed] = [[{ urls: ["turn:a"], username: "stay" }], [{ urls: ["turn:a"], username: "renewed" }]];
  room().emit("iceServers", ofStay);
  room().emit("iceServers", renewed);
  expect(engine().iceServers).toEqual([ofJoin, ofStay, renewed]);
  expect(visit.session.iceServers.value).toEqual(renewed);
});
