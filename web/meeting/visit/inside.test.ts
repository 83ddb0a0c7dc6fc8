/** What the page of a participant does with what the service says: about its time, about relays, and what hosts and others do. */
import { afterEach, beforeEach, expect, setSystemTime, test } from "bun:test";
import { FakeClock } from "../../../client/src/testing/clock.ts";
import type { Kind } from "../call/contract.ts";
import { announcements, forgetAnnouncements } from "../page/announce.ts";
import { type Door, type Joined, Refused } from "../page/api.ts";
import { DOOR, type Fakes, fakeDevices, fakeVisit, JOINED, person } from "../testing/fakes.ts";

const NOW = 1_700_000_000_000;
beforeEach(() => setSystemTime(new Date(NOW)));
afterEach(() => {
  setSystemTime();
  forgetAnnouncements();
});

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

/** Shown or read aloud. */
const announced = (): string[] => announcements.value.map(({ text }) => text);

test("a host who mutes all mutes everyone else", async () => {
  const { visit, room } = await inside();
  const isOn = (): boolean => visit.media.isOn.value.audio;
  room().emit("notice", { notice: "muted", kind: "audio", by: "me" });
  expect(isOn()).toBe(true);
  room().emit("notice", { notice: "muted", kind: "audio", by: "hana" });
  expect(isOn()).toBe(false);
  expect(announced()).toContain("A host turned off your microphone.");
});

test("a host lowers a hand that is raised", async () => {
  const { visit, room } = await inside();
  visit.inside?.setHand(true);
  expect(room().states.at(-1)?.hand).toBe(true);
  room().emit("notice", { notice: "handsLowered" });
  expect(room().states.at(-1)?.hand).toBe(false);
  expect(announced()).toContain("A host lowered your hand.");
});

test("a new name is shown at once, one's own too", async () => {
  const { visit, room } = await inside();
  room().show(person("bob", { name: "Bob" }));
  room().show(person("bob", { name: "Robert" }));
  expect(announced()).toEqual(["Bob is now Robert."]);
  room().emit("notice", { notice: "renamed", participantSession: "bob", name: "Robert" });
  room().emit("notice", { notice: "renamed", participantSession: "me", name: "Ada King" });
  expect(visit.session.me.value.name).toBe("Ada King");
});

test("reactions are shown for a while: those of people inside, and one's own", async () => {
  const clock = new FakeClock().install();
  try {
    const { visit, room } = await inside();
    room().show(person("bob"));
    room().emit("reaction", "bob", "clap");
    room().emit("reaction", "stranger", "clap");
    await visit.inside?.react("heart");
    expect(room().reactions).toEqual(["heart"]);
    const shown = () => visit.session.reactions.value.map((one) => `${one.participantSession} ${one.name}`);
    expect(shown()).toEqual(["bob clap", "me heart"]);
    await clock.advance(5000);
    expect(shown()).toEqual([]);
  } finally {
    clock.restore();
  }
});

test("a lost connection: when the next attempt begins, and one that the person wants now", async () => {
  const { visit, room } = await inside();
  const { retryAtMs } = visit.session;
  room().emit("online", false);
  expect(retryAtMs.value).toBeUndefined();
  room().emit("retry", 9000);
  expect(retryAtMs.value).toBe(NOW + 9000);
  visit.inside?.retry();
  expect([room().retries, retryAtMs.value]).toEqual([1, undefined]);
  room().emit("retry", 2000);
  room().emit("online", true);
  expect(retryAtMs.value).toBeUndefined();
});

test("what was announced inside is not shown after the meeting, and the clock is that of the meeting", async () => {
  const { visit, room } = await inside({ meetingElapsedSec: 90 });
  expect(visit.session.beganMs.value).toBe(NOW - 90_000);
  room().emit("left", person("bob", { name: "Bob" }));
  expect(announced()).toContain("Bob left.");
  room().emit("ended", "ended");
  expect(announced()).toEqual([]);
});

test("after a meeting the page offers another one only where the room can be entered", async () => {
  const { visit, api } = await inside();
  const offers: boolean[] = [];
  for (const door of [
    {},
    { state: "over" },
    { privacy: "private" },
    { privacy: "private", enableRequestToJoin: false },
  ]) {
    api.doorNow = () => ({ ...DOOR, ...door }) as Door;
    offers.push(await visit.mayReturn());
  }
  api.doorNow = () => {
    throw new Refused(404, "room_not_found", "");
  };
  offers.push(await visit.mayReturn());
  expect(offers).toEqual([true, false, true, false, false]);
});
