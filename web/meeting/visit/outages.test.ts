/** What a visitor sees at the door and in the lobby while the service does not respond. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { FakeClock, settled } from "../../../client/src/testing/clock.ts";
import type { Kind } from "../call/contract.ts";
import { type Door, Refused } from "../page/api.ts";
import { DOOR, type Fakes, fakeDevices, fakeVisit, JOINED } from "../testing/fakes.ts";

const AGAIN_MS = 5000;
const FAILED = { at: "closed", why: "failed" } as const;

const track = (kind: Kind) =>
  Object.assign(new EventTarget(), { kind, stop: () => undefined }) as unknown as MediaStreamTrack;

let clock: FakeClock;
let fakes: Fakes;

beforeEach(async () => {
  clock = new FakeClock().install();
  fakes = fakeVisit(fakeDevices(track));
  await fakes.visit.start("Ada");
});

afterEach(() => clock.restore());

const stage = () => fakes.visit.session.stage.value;

function noAnswer(): never {
  throw new Refused(0, "unreachable", "");
}

test("the door comes back by itself when the service responds again", async () => {
  const { api, visit } = fakes;
  api.answer = noAnswer;
  api.doorNow = noAnswer;
  await visit.enter("Ada");
  const asked = api.tokens.length;
  const first = stage();
  expect(first).toEqual(FAILED);
  await clock.advance(3 * AGAIN_MS);
  expect(api.tokens.length).toBe(asked + 3);
  // The same one: a page that frames this one gets one error, and not one with each try.
  expect(stage()).toBe(first);
  api.doorNow = () => DOOR;
  await clock.advance(AGAIN_MS);
  expect(stage()).toEqual({ at: "door" });
  expect(visit.name).toBe("Ada");
  expect(Object.keys(visit.media.tracks.value)).toEqual(["audio", "video"]);
  await clock.advance(10 * AGAIN_MS);
  expect(api.tokens.length).toBe(asked + 4);
});

test("a refusal is not tried again by itself, and neither is a visit that goes on", async () => {
  const { api, visit } = fakes;
  api.doorNow = () => {
    throw new Refused(409, "room_full", "");
  };
  await visit.returnToDoor();
  expect([stage(), clock.waiting]).toEqual([{ at: "closed", why: "full" }, 0]);
  api.doorNow = noAnswer;
  await visit.returnToDoor();
  await visit.enter("Ada");
  const asked = api.tokens.length;
  await clock.advance(10 * AGAIN_MS);
  expect([stage().at, api.tokens.length]).toEqual(["inside", asked]);
});

test("a late answer about the door does not lead back to it from the inside", async () => {
  const { api, visit } = fakes;
  let answer: (door: Door) => void = () => undefined;
  api.door = () => new Promise((resolve) => (answer = resolve));
  const looked = visit.look();
  await visit.enter("Ada");
  answer(DOOR);
  await looked;
  expect(stage()).toEqual({ at: "inside" });
});

test("in the lobby: the page says that the connection is lost, and when it is back what it said before", async () => {
  const { api, visit, lobby } = fakes;
  api.answer = () => ({ waiting: true, ticket: "t1", connect: JOINED.connect });
  await visit.enter("Ada");
  lobby().emit("online", true);
  lobby().emit("hosts", true);
  expect(stage()).toMatchObject({ at: "waiting", hasHost: true, isLost: false });
  lobby().emit("online", false);
  expect(stage()).toMatchObject({ at: "waiting", hasHost: true, isLost: true });
  lobby().emit("online", true);
  expect(stage()).toMatchObject({ at: "waiting", hasHost: true, isLost: false });
  const left = lobby();
  visit.stopWaiting();
  left.emit("online", false);
  await settled();
  expect(stage()).toEqual({ at: "door" });
});
