/** People are put out when their time is over, by the service's clock (meetings.md 2). */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Json } from "../../support/http.ts";
import { SLACK_MS } from "../../support/slack.ts";
import { newRoom, type Person, ROOMS_ENV, type Room, refusedConnect } from "./support/rooms.ts";
import { subscribe, worldForTests } from "./support/world.ts";

// These tests wait for seconds to pass: they do so together.
setDefaultTimeout(60_000);

const { server } = await worldForTests({ env: ROOMS_ENV });

/** A check comes every second; the rest is an allowance for a busy machine. */
const LATE_MS = 4000 + SLACK_MS;
/** How long people may be inside: on a busy machine it takes seconds until they hear of it. */
const LASTS_SEC = 8;

const nowSec = (): number => Math.floor(Date.now() / 1000);

async function putOut({ wire }: Person): Promise<{ readonly reason: string; readonly atMs: number }> {
  const { code, reason } = await wire.closed();
  expect(code).toBe(4021);
  return { reason, atMs: Date.now() };
}

/** In the room without having read its roster: a warning can come before the roster. */
async function listener(room: Room, body?: Json): Promise<Person> {
  const person = await room.enter(body);
  await subscribe(person.wire, room.channel("room"));
  return person;
}

const ending = async ({ wire }: Person): Promise<Json> =>
  (await wire.until("message", ({ data }) => (data as Json).notice === "ending")).data as Json;

describe.each(["room", "token"])("ejectAfterElapsedTimeInSec of the %s", (of) => {
  test.concurrent("warns, then closes with 4021 time; the token does not come back into the meeting", async () => {
    const room = await newRoom(server, of === "room" ? { ejectAfterElapsedTimeInSec: LASTS_SEC } : {});
    const other = await room.inside({
      token: await room.accessToken({ ejectAfterElapsedTimeInSec: 3600, name: "Stays" }),
    });
    const token = await room.accessToken(of === "room" ? {} : { ejectAfterElapsedTimeInSec: LASTS_SEC });
    const began = Date.now();
    const ann = await listener(room, { token });
    expect(await ending(ann)).toMatchObject({ participantSession: ann.id, inSec: expect.any(Number) as number });
    const { reason, atMs } = await putOut(ann);
    expect(reason).toBe("time");
    expect(atMs - began).toBeGreaterThan(LASTS_SEC * 1000 - 100);
    expect(atMs - began).toBeLessThan(LASTS_SEC * 1000 + LATE_MS);
    expect((await refusedConnect(server.url, ann.token)).status).toBeGreaterThanOrEqual(401);
    const { status } = await room.tryJoin({ token });
    expect(status).toBe(403);
    expect(other.wire.isOver).toBe(false);
  });
});

/** For people who are inside: to enter may take longer than that on a busy machine. Returns when it ends, in Unix ms. */
async function endRoom({ app, name }: Room, inSec: number): Promise<number> {
  const expireUnixSec = nowSec() + inSec;
  await app.must("PUT", `/room/${name}`, { expireUnixSec });
  return expireUnixSec * 1000;
}

test.concurrent("ejectAtRoomExp puts all out at the end of the room, admins too", async () => {
  const room = await newRoom(server, { ejectAtRoomExp: true });
  const admin = await room.inside({ token: await room.accessToken({ isAdmin: true }) });
  const ann = await room.inside();
  const endMs = await endRoom(room, 3);
  expect(await ending(ann)).not.toHaveProperty("participantSession");
  for (const person of [admin, ann]) {
    const { reason, atMs } = await putOut(person);
    expect(reason).toBe("time");
    expect(atMs).toBeGreaterThanOrEqual(endMs - 100);
    expect(atMs).toBeLessThan(endMs + LATE_MS);
  }
  expect((await room.tryJoin()).body.error.code).toBe("room_over");
});

test.concurrent("a room that is archived at its end takes its meeting with it; without both, people stay", async () => {
  const gone = await newRoom(server, { deleteOnExp: true });
  const stays = await newRoom(server);
  const [ann, ben] = [await gone.inside(), await stays.inside()];
  // The first one is checked at least once before the second one ends.
  await endRoom(stays, 1);
  await endRoom(gone, 3);
  expect((await putOut(ann)).reason).toBe("ended");
  const notices = (await ben.wire.sync()).map((frame) => frame.type === "message" && (frame.data as Json).notice);
  expect(notices).toEqual(["flags"]);
  expect(ben.wire.isOver).toBe(false);
});

test.concurrent("endMeetingAfterNoActivityInSec ends the meeting when no one shares anything; a raised hand is nothing", async () => {
  const room = await newRoom(server, { endMeetingAfterNoActivityInSec: 4 });
  const [ann, ben] = [await room.inside(), await room.inside()];
  const state = (audio: boolean): object => ({
    type: "state",
    channel: room.channel("room"),
    state: { audio, hand: true },
  });
  expect((await ann.wire.request(state(true))).type).toBe("ack");
  expect((await ben.wire.request(state(false))).type).toBe("ack");
  const quiet = Date.now() + 5000;
  for (let ms = 5000; ms > 0; ms = quiet - Date.now()) await ben.wire.event(ms).catch(() => undefined);
  expect(ann.wire.isOver).toBe(false);
  const audibleMs = Date.now();
  expect((await ann.wire.request(state(false))).type).toBe("ack");
  const silentMs = Date.now();
  expect(await ending(ben)).toMatchObject({ inSec: expect.any(Number) as number });
  for (const person of [ann, ben]) expect((await putOut(person)).reason).toBe("ended");
  expect(Date.now() - audibleMs).toBeGreaterThan(2500);
  expect(Date.now() - silentMs).toBeLessThan(4000 + LATE_MS + 1000);
});

test.concurrent("a PUT of the times acts on people inside", async () => {
  const room = await newRoom(server);
  const ann = await room.inside();
  await room.app.must("PUT", `/room/${room.name}`, { ejectAfterElapsedTimeInSec: 1 });
  expect((await putOut(ann)).reason).toBe("time");
  const ben = await room.inside({ token: await room.accessToken({ ejectAfterElapsedTimeInSec: 3600 }) });
  await room.app.must("PUT", `/room/${room.name}`, { ejectAtRoomExp: true, expireUnixSec: nowSec() + 1 });
  expect((await putOut(ben)).reason).toBe("time");
});
