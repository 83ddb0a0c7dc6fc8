import { afterEach, beforeEach, expect, test } from "bun:test";
import { FakeClock } from "../../../client/src/testing/clock.ts";
import { announcements } from "../page/announce.ts";
import { person } from "../testing/fakes.ts";
import { newSession, type Session } from "./session.ts";
import { unreachedText, watchUnreached } from "./unreached.ts";

const WITHIN_MS = 15_000;
const GIVEN_UP_MS = 45_000;

let clock: FakeClock;
let session: Session;
let stop: () => void;

beforeEach(() => {
  clock = new FakeClock().install();
  session = newSession("standup");
  announcements.value = [];
  stop = watchUnreached(session);
});

afterEach(() => {
  stop();
  clock.restore();
});

const shown = (): string[] => [...session.unreached.value].flatMap(([who, isGivenUp]) => (isGivenUp ? [who] : []));
const become = (who: string, quality: "connecting" | "good" | "lost"): void => {
  session.qualities.value = new Map(session.qualities.value).set(who, quality);
};

test("a person without a connection is waited for after 15 seconds and given up after 45, until the connection comes", async () => {
  session.people.value = [person("ben", { name: "Ben" }), person("ada")];
  become("ada", "good");
  await clock.advance(WITHIN_MS - 1);
  become("ben", "connecting");
  expect([shown(), unreachedText(session)]).toEqual([[], ""]);
  await clock.advance(1);
  expect([shown(), unreachedText(session)]).toEqual([[], "Still connecting to Ben…"]);
  await clock.advance(GIVEN_UP_MS - WITHIN_MS);
  expect(shown()).toEqual(["ben"]);
  expect(unreachedText(session)).toStartWith("No connection to Ben.");
  expect(unreachedText(session)).toContain("relay server");
  expect(announcements.value.map(({ text }) => text)).toEqual([unreachedText(session)]);
  become("ben", "good");
  expect([shown(), unreachedText(session)]).toEqual([[], ""]);
});

test("with a relay, the page does not advise to ask for one", async () => {
  session.iceServers.value = [{ urls: ["stun:turn.example.com", "turns:turn.example.com:443"] }];
  session.people.value = [person("ben", { name: "Ben" }), person("ada", { name: "Ada" })];
  await clock.advance(GIVEN_UP_MS);
  expect(unreachedText(session)).toStartWith("No connection to Ben and Ada.");
  expect(unreachedText(session)).not.toContain("relay");
});

test("a person who is away or has left is not waited for, and neither is anyone while this page is away", async () => {
  session.people.value = [person("ben")];
  await clock.advance(GIVEN_UP_MS - 1);
  session.isOnline.value = false;
  await clock.advance(GIVEN_UP_MS);
  expect([shown(), unreachedText(session)]).toEqual([[], ""]);
  session.isOnline.value = true;
  await clock.advance(GIVEN_UP_MS - 1);
  expect(shown()).toEqual([]);
  await clock.advance(1);
  expect(shown()).toEqual(["ben"]);
  session.people.value = [person("ben", { isLost: true })];
  expect(shown()).toEqual([]);
  session.people.value = [];
  expect(unreachedText(session)).toBe("");
  expect(clock.waiting).toBe(announcements.value.length);
});

test("nothing is left after the end", async () => {
  session.people.value = [person("ben"), person("ada")];
  stop();
  expect(clock.waiting).toBe(0);
  await clock.advance(GIVEN_UP_MS);
  expect(shown()).toEqual([]);
});
