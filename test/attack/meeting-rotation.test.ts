/**
 * The application's secret key has leaked and is rotated without a grace period: everything that was got with it in rooms ends with it (meetings.md 6), of
 * people inside and of those on their way in.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { claimsOf, newRoom, ROOMS_ENV, Room, refusedConnect } from "../conformance/raw/support/rooms.ts";
import { Application } from "../support/application.ts";
import { serverForTests } from "../support/for-tests.ts";
import { webm } from "../support/recordings.ts";
import { until } from "../support/wait.ts";
import { Recorder, recordedRoom } from "./support/recorder.ts";

setDefaultTimeout(60_000);

const server = await serverForTests({ env: ROOMS_ENV });

/** Returns the room as a caller with the new secret key sees it. */
async function rotate({ app, name, id }: Room, options: object = { graceSec: 0, retirePrevious: true }): Promise<Room> {
  const path = `/apps/${app.id}/secret-key/rotate`;
  const { secretKey } = await server.admin.must<{ secretKey: string }>("POST", path, options);
  return new Room(new Application(server.url, app.name, secretKey, app.id), name, id);
}

const ENDED = { code: 4021, reason: "ended" };

test("a rotation without grace puts out those inside, and none of their tokens is good for anything", async () => {
  const room = await recordedRoom(server);
  const token = await room.accessToken({ isAdmin: true });
  const mallory = await room.inside({ token });
  const guest = await Recorder.in(room);
  const run = await guest.begin();
  expect((await guest.part(run, 0, webm(100))).status).toBe(200);
  const held = await room.join({ token });
  const heldByGuest = await room.join({ name: "Eve" });
  await rotate(room);
  // At once, before the connections are closed: each of these is a call of its own.
  const acts = await room.act(mallory.token, { do: "end" });
  const begins = await guest.call("POST", { source: "screen" });
  const ends = await guest.call("DELETE", { _id: run._id });
  const completes = await guest.complete(run._id, 100);
  for (const { status, body } of [acts, begins, ends, completes])
    expect([status, (body as { error?: { code: string } }).error?.code]).toEqual([401, "token_expired"]);
  expect((await guest.part(run, 100, webm(50))).status).toBe(403);
  for (const { connect } of [held, heldByGuest])
    expect((await refusedConnect(server.url, connect.token)).status).toBe(401);
  const resumed = await room.join({ resume: mallory.token });
  expect([resumed.isAdmin, resumed.participantSession === mallory.id]).toEqual([false, false]);
  expect((await room.tryJoin({ token })).body.error.code).toBe("invalid_access_token");
  for (const { wire } of [mallory, guest.person]) expect(await wire.closed()).toMatchObject(ENDED);
  expect((await refusedConnect(server.url, mallory.token)).status).toBe(401);
});

test("an upload of a stay cannot be continued without the generation that it names, or with another", async () => {
  const room = await recordedRoom(server);
  const ann = await Recorder.in(room);
  const run = await ann.begin();
  const change = (from: RegExp, to: string) =>
    ann.part({ ...run, uploadUrl: run.uploadUrl.replace(from, to) }, 0, webm(10));
  for (const answer of [
    await change(/&gen=\d+/, ""),
    await change(/gen=\d+/, "gen=2"),
    await change(/gen=\d+/, "gen=x"),
  ])
    expect(answer.status).toBe(403);
  expect((await ann.part(run, 0, webm(10))).status).toBe(200);
});

test("a body that is being sent while the key is rotated is not kept from then on", async () => {
  const room = await recordedRoom(server);
  const ann = await Recorder.in(room);
  const run = await ann.begin();
  const rest = Promise.withResolvers<void>();
  const body = new ReadableStream({
    async start(stream) {
      stream.enqueue(webm(100));
      await rest.promise;
      stream.enqueue(webm(100));
      stream.close();
    },
  });
  const sending = ann.put(run, body, "bytes 0-199/*");
  await until("the first half is held", async () => (await ann.held(run)) === 100);
  await rotate(room);
  rest.resolve();
  expect((await sending).status).toBe(403);
});

test("a ticket that the holder of a leaked key let in opens nothing after the rotation", async () => {
  const room = await newRoom(server, { privacy: "private" });
  const mallory = await room.inside({ token: await room.accessToken({ isAdmin: true }) });
  const visits = [await room.join({ name: "Eve" }), await room.join({ name: "Bob" })];
  const [eve, bob] = [await room.connected(visits[0] as never), await room.connected(visits[1] as never)];
  for (const { id } of [eve, bob])
    expect((await room.act(mallory.token, { do: "admit", waitId: id })).status).toBe(200);
  const unused = await room.join({ ticket: eve.join.ticket });
  expect(unused.waiting).toBeUndefined();
  await rotate(room);
  expect((await refusedConnect(server.url, unused.connect.token)).status).toBe(401);
  for (const { join } of [eve, bob]) {
    const asked = await room.join({ ticket: join.ticket, name: "Eve" });
    expect(asked.waiting).toBeTrue();
    expect(asked.ticket).not.toBe(join.ticket);
  }
  expect((await refusedConnect(server.url, eve.token)).status).toBe(401);
  for (const { wire } of [eve, bob]) expect(await wire.closed()).toMatchObject(ENDED);
});

test("a rotation with grace lets people stay until it ends, and a later one without it ends that grace", async () => {
  const room = await newRoom(server);
  const ann = await room.inside({ token: await room.accessToken({ isAdmin: true }) });
  const later = await rotate(room, { graceSec: 3600 });
  expect((await room.act(ann.token, { do: "lock" })).status).toBe(200);
  expect(claimsOf((await room.join({ resume: ann.token })).connect.token).gen).toBe(1);
  const ben = await later.inside({ token: await later.accessToken({ isAdmin: true }) });
  const last = await rotate(later, { graceSec: 3600 });
  const now = await last.inside({ token: await last.accessToken({ isAdmin: true }) });
  const newest = await rotate(last, { retirePrevious: true });
  for (const { wire } of [ann, ben, now]) expect(await wire.closed()).toMatchObject(ENDED);
  const cleo = await newest.inside({ token: await newest.accessToken({ isAdmin: true }) });
  expect((await newest.act(cleo.token, { do: "unlock" })).status).toBe(200);
});
