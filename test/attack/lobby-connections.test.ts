/** A visitor without a credential must not use up the connections of an application from the lobby of a room (meetings.md 2). */
import { expect, setDefaultTimeout, test } from "bun:test";
import { newRoom, ROOMS_ENV, refusedConnect } from "../conformance/raw/support/rooms.ts";
import { subscribe, tokenQuery } from "../conformance/raw/support/world.ts";
import { serverForTests } from "../support/for-tests.ts";
import { TailReader } from "../support/tail.ts";
import { connect as open } from "../support/wire/connect.ts";

setDefaultTimeout(60_000);

const server = await serverForTests({ env: ROOMS_ENV });
const { url, admin, adminToken } = server;
const REPLACED = { code: 4021, reason: "replaced" };
const ENDED = { code: 4021, reason: "ended" };

test("one place in a lobby is one connection: the newest", async () => {
  const room = await newRoom(server, { privacy: "private" });
  const joined = await room.join({ name: "Eve" });
  let { wire, id } = await room.connected(joined);
  // One after the other: of those that open at the same moment, it is not known which is the newest.
  for (let i = 0; i < 10; i++) {
    const next = await room.connected(joined);
    expect(await wire.closed()).toMatchObject(REPLACED);
    ({ wire, id } = next);
  }
  await subscribe(wire, room.channel(`wait/${id}`));
});

/** It waits for the sweep of the lobby. */
test.if(process.env.PARLEY_TEST_FULL === "1")(
  "a visitor who was declined hears of it, and has no connection",
  async () => {
    const room = await newRoom(server, { privacy: "private" });
    const host = await room.inside({ token: await room.accessToken({ isAdmin: true }) });
    const { wire, id, token } = await room.enter({ name: "Eve" });
    await subscribe(wire, room.channel(`wait/${id}`));
    expect((await room.act(host.token, { do: "decline", waitId: id })).status).toBe(200);
    await wire.until("message", ({ data }) => (data as { notice?: string }).notice === "declined");
    expect(await wire.closed()).toMatchObject(ENDED);
    expect(await refusedConnect(url, token)).toMatchObject({ status: 403 });
  },
);

test("a room's connection over the cap is shown under the application", async () => {
  const room = await newRoom(server);
  await admin.must("PATCH", `/apps/${room.app.name}`, { plan: { name: "small", maxConcurrentConnections: 1 } });
  await using tail = await TailReader.open(url, adminToken, `app=${room.app.name}`);
  await room.enter();
  const { connect, participantSession } = await room.join();
  const wire = await open(url, { query: tokenQuery(connect.token) });
  expect((await wire.closed()).code).toBe(4010);
  const refused = await tail.event("the refusal", ({ code }) => code === "over_concurrent");
  expect(refused).toMatchObject({ kind: "refuse", app: room.app.id, peerId: participantSession });
});
