/** Consent and recorders of a page inside a meeting. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Joined } from "../page/api.ts";
import { DOOR, type Fakes, fakeDevices, fakeVisit, JOINED } from "../testing/fakes.ts";

const RECORDING = { by: "Hana", since: 500 };

class FakeTrack extends EventTarget {
  stop(): void {}
}

/** One turn of the event loop. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

let kept: Map<string, string>;
beforeEach(() => {
  kept = new Map();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
  Object.assign(globalThis, { sessionStorage: storage, localStorage: storage });
});
afterEach(() => {
  Reflect.deleteProperty(globalThis, "sessionStorage");
  Reflect.deleteProperty(globalThis, "localStorage");
});

const newVisit = (): Fakes => fakeVisit(fakeDevices(() => new FakeTrack() as unknown as MediaStreamTrack));

async function inside(joined: Partial<Joined> = {}): Promise<Fakes> {
  const fakes = newVisit();
  fakes.api.answer = () => ({ ...JOINED, ...joined });
  await fakes.visit.start("Ada");
  await fakes.visit.enter("Ada");
  return fakes;
}

const notice = ({ room }: Fakes, on: boolean, fact = RECORDING): void =>
  room().emit("notice", { notice: "recording", on, fact });
const live = ({ recorders }: Fakes): string[] =>
  recorders.filter(({ isStopped }) => !isStopped).map(({ source, tracks }) => `${source} ${tracks.length}`);
const stage = ({ visit }: Fakes): string => visit.session.stage.value.at;

test("people inside are asked, and nothing of them is recorded before they agree", async () => {
  const fakes = await inside();
  notice(fakes, true);
  expect(fakes.visit.session.recording.value).toEqual({ ...RECORDING, hasAgreed: false });
  expect(live(fakes)).toEqual([]);
  expect(fakes.room().states.at(-1)?.recording).toBe(false);
  fakes.visit.recording.agree();
  expect(live(fakes)).toEqual(["camera 2"]);
  expect(fakes.uploads.opened[0]).toMatchObject({ stay: "me", token: "rt_1", source: "camera", roomName: "standup" });
  expect(fakes.room().states.at(-1)?.recording).toBe(true);
  // Repeated for a connection that is back.
  notice(fakes, true);
  expect(fakes.recorders.length).toBe(1);
  notice(fakes, false);
  expect(live(fakes)).toEqual([]);
  expect(fakes.uploads.ended.length).toBe(1);
  expect(fakes.room().states.at(-1)?.recording).toBe(false);
  // The next one is asked about again.
  notice(fakes, true, { by: "Hana", since: 501 });
  expect([fakes.visit.session.recording.value?.hasAgreed, live(fakes)]).toEqual([false, []]);
});

test("what is recorded is looked at as well, mute or not, and what was heard is sent before its end", async () => {
  const fakes = await inside();
  notice(fakes, true);
  expect(fakes.observations).toEqual([]);
  fakes.visit.recording.agree();
  await fakes.visit.toggle("audio");
  expect(fakes.observations).toEqual([{ isMuted: true, isStopped: false }]);
  notice(fakes, false);
  expect(fakes.observations).toEqual([{ isMuted: true, isStopped: true }]);
  expect(fakes.uploads.spoken).toEqual([[[100, 900]]]);
});

test("another recording that began at once, or while the connection was lost, is asked about", async () => {
  const fakes = await inside();
  notice(fakes, true);
  fakes.visit.recording.agree();
  notice(fakes, true, { by: "Ben", since: 501 });
  expect([fakes.visit.session.recording.value?.by, live(fakes)]).toEqual(["Ben", []]);
});

test("the time of a join is a little earlier than that of the room's recording, which begins with it", async () => {
  const fakes = newVisit();
  fakes.api.doorNow = () => ({ ...DOOR, recording: true });
  fakes.api.answer = () => ({ ...JOINED, recording: { by: "", since: 500 } });
  await fakes.visit.start("Ada");
  await fakes.visit.enter("Ada");
  await settled();
  notice(fakes, true, { by: "", since: 502 });
  expect([live(fakes), fakes.recorders.length]).toEqual([["camera 2"], 1]);
});

test("who starts it has agreed; a refused start is no agreement", async () => {
  const fakes = await inside({ isAdmin: true });
  fakes.api.act = () => Promise.reject(new Error("no"));
  expect(fakes.visit.recording.record(true)).rejects.toThrow("no");
  await settled();
  notice(fakes, true);
  expect(live(fakes)).toEqual([]);
  const host = await inside({ isAdmin: true });
  await host.visit.recording.record(true);
  expect(host.api.acts).toEqual([{ do: "record" }]);
  notice(host, true);
  expect(live(host)).toEqual(["camera 2"]);
  await host.visit.recording.record(false);
  expect(host.api.acts.at(-1)).toEqual({ do: "stopRecord" });
  // The notice may come late, or not at all.
  expect([host.visit.session.recording.value, live(host)]).toEqual([undefined, []]);
});

test("the door of a meeting that is recorded: the click to enter is the one to agree", async () => {
  const fakes = newVisit();
  fakes.api.doorNow = () => ({ ...DOOR, recording: true });
  fakes.api.answer = () => ({ ...JOINED, recording: RECORDING });
  await fakes.visit.start("Ada");
  await fakes.visit.enter("Ada");
  expect(stage(fakes)).toBe("inside");
  await settled();
  expect(live(fakes)).toEqual(["camera 2"]);
});

test("a door that said no more than that it was recorded is no agreement to a later recording", async () => {
  const fakes = newVisit();
  fakes.api.doorNow = () => ({ ...DOOR, recording: true });
  await fakes.visit.start("Ada");
  await fakes.visit.enter("Ada");
  notice(fakes, true);
  expect(live(fakes)).toEqual([]);
});

test("who has agreed at the door, and then did not enter, is asked again", async () => {
  const fakes = newVisit();
  const { visit, api } = fakes;
  let isRecorded = true;
  api.doorNow = () => ({ ...DOOR, recording: isRecorded });
  api.answer = () => ({ waiting: true, ticket: "t1", connect: JOINED.connect });
  await visit.start("Ada");
  await visit.enter("Ada");
  visit.stopWaiting();
  isRecorded = false;
  await visit.returnToDoor();
  api.answer = () => ({ ...JOINED, recording: RECORDING });
  void visit.enter("Ada");
  await settled();
  expect(stage(fakes)).toBe("consent");
});

test("autoJoin waits for a click on the notice", async () => {
  const fakes = newVisit();
  fakes.api.doorNow = () => ({ ...DOOR, recording: true, autoJoin: true });
  fakes.api.answer = () => ({ ...JOINED, recording: RECORDING });
  void fakes.visit.start("Ada");
  await settled();
  expect([stage(fakes), fakes.api.joins.length]).toEqual(["consent", 0]);
  fakes.visit.recording.agree();
  await settled();
  expect(stage(fakes)).toBe("inside");
  expect(fakes.visit.session.recording.value?.hasAgreed).toBe(true);
});

test("a recording that begins between the door and the join is asked about before entering", async () => {
  const fakes = newVisit();
  fakes.api.answer = () => ({ ...JOINED, recording: RECORDING });
  await fakes.visit.start("Ada");
  void fakes.visit.enter("Ada");
  await settled();
  expect(fakes.visit.session.stage.value).toEqual({ at: "consent", by: "Hana" });
  fakes.visit.recording.agree();
  await settled();
  expect([stage(fakes), fakes.api.joins.length]).toEqual(["inside", 1]);
});

test("who is let in from the lobby is asked too, and keeps the place until then", async () => {
  const fakes = newVisit();
  const { visit, api, lobby } = fakes;
  api.answer = ({ ticket }) =>
    ticket ? { ...JOINED, recording: RECORDING } : { waiting: true, ticket: "t1", connect: JOINED.connect };
  await visit.start("Ada");
  await visit.enter("Ada");
  lobby().emit("admitted");
  await settled();
  expect([stage(fakes), lobby().isClosed]).toEqual(["consent", false]);
  visit.recording.agree();
  await settled();
  expect([stage(fakes), lobby().isClosed]).toEqual(["inside", true]);
});

test("a reload goes on with what was agreed to, and with no other recording", async () => {
  const before = await inside();
  notice(before, true);
  before.visit.recording.agree();
  const after = newVisit();
  after.api.answer = () => ({ ...JOINED, recording: RECORDING });
  await after.visit.start("Ada");
  expect([stage(after), after.visit.session.recording.value?.hasAgreed]).toEqual(["inside", true]);
  const other = newVisit();
  other.api.answer = () => ({ ...JOINED, recording: { by: "Hana", since: 777 } });
  void other.visit.start("Ada");
  await settled();
  expect(stage(other)).toBe("consent");
});

test("runs: one for camera and microphone, one for the screen, one for the microphone alone", async () => {
  const fakes = await inside();
  const { visit } = fakes;
  notice(fakes, true);
  visit.recording.agree();
  await visit.toggle("audio");
  expect([fakes.recorders.length, fakes.recorders[0]?.isMuted]).toEqual([1, true]);
  await visit.toggle("audio");
  expect([fakes.recorders.length, fakes.recorders[0]?.isMuted]).toEqual([1, false]);
  await visit.toggle("screen");
  expect(live(fakes)).toEqual(["camera 2", "screen 1"]);
  await visit.toggle("video");
  expect(live(fakes)).toEqual(["screen 1", "microphone 1"]);
  await visit.toggle("screen");
  await visit.toggle("video");
  expect(live(fakes)).toEqual(["camera 2"]);
  await visit.media.choose("video", "other");
  expect([live(fakes), fakes.recorders.length]).toEqual([["camera 2"], 5]);
  // A muted microphone alone is not worth a recording, until it is heard.
  await visit.toggle("audio");
  await visit.toggle("video");
  expect(live(fakes)).toEqual([]);
  await visit.toggle("audio");
  expect(live(fakes)).toEqual(["microphone 1"]);
  visit.leave();
  expect(live(fakes)).toEqual([]);
  expect(fakes.uploads.ended.length).toBe(fakes.uploads.opened.length);
});

test("a run that fails after leaving says why too; runs of earlier pages do not", async () => {
  const fakes = await inside();
  notice(fakes, true);
  fakes.visit.recording.agree();
  fakes.visit.leave();
  const { failure } = fakes.visit.recording.own;
  fakes.uploads.fail("refused", "of another page");
  expect(failure.value).toBeUndefined();
  fakes.uploads.fail("too_large");
  expect(failure.value).toBe("too_large");
});

test("runs that cannot be uploaded are not begun without end", async () => {
  const fakes = await inside();
  fakes.uploads.pending.value = { runs: 40, seconds: 1, bytes: 1 };
  notice(fakes, true);
  fakes.visit.recording.agree();
  expect([live(fakes), fakes.visit.recording.own.failure.value]).toEqual([[], "queue_full"]);
});

test("a run that fails ends all, says why, and begins none again", async () => {
  const fakes = await inside();
  notice(fakes, true);
  fakes.visit.recording.agree();
  fakes.uploads.fail("storage_full");
  expect([live(fakes), fakes.visit.recording.own.failure.value]).toEqual([[], "storage_full"]);
  await fakes.visit.toggle("video");
  await fakes.visit.toggle("video");
  expect(live(fakes)).toEqual([]);
  expect(fakes.room().states.at(-1)?.recording).toBe(false);
});
