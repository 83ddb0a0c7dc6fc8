/** People in one room on three nodes: what one node decides acts on the others within a second (meetings.md 2). */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { type Joined, type Person, ROOMS_ENV, Room, refusedConnect } from "../conformance/raw/support/rooms.ts";
import { fresh, subscribe } from "../conformance/raw/support/world.ts";
import { Application } from "../support/application.ts";
import type { Json } from "../support/http.ts";
import type { Server } from "../support/parley.ts";
import { Backend, webm } from "../support/recordings.ts";
import { SlowPut } from "../support/slow-put.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { SOON_MS, until } from "../support/wait.ts";
import type { AnyFrame } from "../support/wire/shapes.ts";
import type { Wire } from "../support/wire/wire.ts";
import { Cluster } from "./support/cluster.ts";

setDefaultTimeout(60_000);

/** Waits for half a minute. */
const IS_FULL = process.env.PARLEY_TEST_FULL === "1";

const data = tempFolder();
let cluster: Cluster;
/** The same application by the address of each node. */
let apps: readonly Application[];
beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 3, env: ROOMS_ENV, data });
  const [first] = cluster.nodes as [Server];
  const { _id, name, secretKey } = await first.admin.createApp();
  apps = cluster.nodes.map(({ url }) => new Application(url, name, secretKey, _id));
});
afterAll(async () => {
  await cluster?.stop();
  removeFolder(data);
});

/** One room as each node sees it. */
async function newRooms(fields: Json = {}): Promise<readonly [Room, Room, Room]> {
  const name = fresh("room");
  const [first] = apps as [Application];
  const { _id } = await first.must<{ _id: string }>("POST", "/room", { roomName: name, ...fields });
  return apps.map((app) => new Room(app, name, _id)) as unknown as readonly [Room, Room, Room];
}

const admin = async (room: Room): Promise<Person> => room.inside({ token: await room.accessToken({ isAdmin: true }) });

const notice = async (wire: Wire, wanted: string): Promise<Json> => {
  const { data } = await wire.until("message", (frame) => (frame.data as Json).notice === wanted);
  return data as Json;
};

const writes = async ({ wire }: Person, room: Room): Promise<string> => {
  const answer = await wire.request({ type: "publish", channel: room.channel("chat"), data: { text: "hello" } });
  return answer.type === "error" ? answer.code : answer.type;
};

/** One person on each node, which see each other. */
async function oneOnEach(rooms: readonly [Room, Room, Room]): Promise<readonly [Person, Person, Person]> {
  return [await admin(rooms[0]), await rooms[1].inside({ name: "Ann" }), await rooms[2].inside({ name: "Ben" })];
}

describe("a PUT on one node", () => {
  test("changes the rights of people on the others within a second, and shows the flags once", async () => {
    const rooms = await newRooms();
    const people = await oneOnEach(rooms);
    for (const [at, enableChat] of [false, true, false].entries()) {
      const began = performance.now();
      await rooms[at]?.app.must("PUT", `/room/${rooms[0].name}`, { enableChat });
      for (const { wire } of people)
        expect(await notice(wire, "flags")).toMatchObject({ room: { enableChat, roomName: rooms[0].name } });
      expect(performance.now() - began).toBeLessThan(SOON_MS);
      for (const [n, person] of people.entries())
        expect(await writes(person, rooms[n] as Room)).toBe(enableChat ? "ack" : "action_not_permitted");
    }
    for (const { wire } of people) {
      const more = wire.frames.filter((frame) => frame.type === "message" && (frame.data as Json).notice === "flags");
      expect(more).toHaveLength(3);
    }
  });

  test("of the times puts people out on the others", async () => {
    const rooms = await newRooms();
    const people = await oneOnEach(rooms);
    await rooms[1].app.must("PUT", `/room/${rooms[0].name}`, { ejectAfterElapsedTimeInSec: 1 });
    for (const { wire } of people) expect(await wire.closed()).toMatchObject({ code: 4021, reason: "time" });
  });

  test("decides about those who have joined on another and connect to the third", async () => {
    const rooms = await newRooms();
    const own = { expireUnixSec: Math.floor(Date.now() / 1000) + 3600 };
    const [guest, invited, late] = [
      await rooms[0].join(),
      await rooms[1].join({ token: await rooms[1].accessToken(own) }),
      await rooms[0].join({ token: await rooms[0].accessToken() }),
    ];
    const connect = async ({ connect: { token } }: Joined): Promise<unknown> => {
      const { status, body } = await refusedConnect(rooms[2].app.url, token);
      return [status, body.error];
    };
    await rooms[1].app.must("PUT", `/room/${rooms[0].name}`, { privacy: "private" });
    expect(await connect(guest)).toEqual([403, "token_required"]);
    await rooms[0].app.must("PUT", `/room/${rooms[0].name}`, { expireUnixSec: 1 });
    expect(await connect(late)).toEqual([403, "room_over"]);
    await rooms[2].connected(invited);
  });

  test("that archives the room ends the meeting on all of them", async () => {
    const rooms = await newRooms();
    const people = await oneOnEach(rooms);
    await rooms[2].app.must("DELETE", `/room/${rooms[0].name}`);
    for (const { wire } of people) expect(await wire.closed()).toMatchObject({ code: 4021, reason: "ended" });
  });
});

describe("an act on one node", () => {
  test("removes a person on another, who cannot come back by any of them", async () => {
    const rooms = await newRooms();
    const host = await admin(rooms[0]);
    const token = await rooms[1].accessToken({ name: "Ann", externalUserId: "u1" });
    const ann = await rooms[1].inside({ token });
    const began = performance.now();
    expect((await rooms[2].act(host.token, { do: "remove", participantSession: ann.id })).status).toBe(200);
    expect(await ann.wire.closed()).toMatchObject({ code: 4021, reason: "removed" });
    expect(performance.now() - began).toBeLessThan(SOON_MS);
    for (const room of rooms) expect((await room.tryJoin({ token })).body.error.code).toBe("removed");
  });

  test("ends the meeting for all, and the next one is another", async () => {
    const rooms = await newRooms();
    const people = await oneOnEach(rooms);
    expect((await rooms[2].act(people[0].token, { do: "end" })).status).toBe(200);
    for (const { wire } of people) expect(await wire.closed()).toMatchObject({ code: 4021, reason: "ended" });
    const next = await rooms[1].enter();
    expect(next.join.meetingSession).not.toBe(people[0].join.meetingSession);
    const { participants } = (await apps[0]?.must<{ participants: Json[] }>(
      "GET",
      `/meeting/${people[0].join.meetingSession}`,
    )) ?? { participants: [] };
    expect(participants.map(({ endReason }) => endReason)).toEqual(["ended", "ended", "ended"]);
  });

  test("locks it for all", async () => {
    const rooms = await newRooms();
    const people = await oneOnEach(rooms);
    await rooms[1].act(people[0].token, { do: "lock" });
    for (const { wire } of people) expect(await notice(wire, "locked")).toEqual({ notice: "locked", on: true });
    for (const room of rooms) expect((await room.tryJoin()).body.error.code).toBe("room_locked");
  });
});

describe("the recording of a meeting over three nodes", () => {
  const heard = async (people: readonly Person[], wanted: Json): Promise<void> => {
    for (const { wire } of people)
      await wire.until("message", ({ data: notice }) =>
        Bun.deepEquals({ ...(notice as Json), since: 0 }, { notice: "recording", since: 0, ...wanted }),
      );
  };

  test("is started and stopped on any of them, and heard on all within a second, also by who comes later", async () => {
    const rooms = await newRooms({ enableRecording: true });
    const people = await oneOnEach(rooms);
    const [host, ann] = people;
    expect((await rooms[1].act(ann.token, { do: "record" })).status).toBe(403);
    const began = performance.now();
    await rooms[2].app.must("POST", `/room/${rooms[0].name}/recording/start`);
    await heard(people, { on: true, by: "" });
    expect(performance.now() - began).toBeLessThan(SOON_MS);
    for (const room of rooms) {
      const late = await room.enter();
      expect(late.join as unknown).toMatchObject({ recording: { by: "" } });
      await subscribe(late.wire, room.channel("room"));
      await heard([late], { on: true, by: "" });
      late.wire.close(1000);
    }
    await rooms[1].act(host.token, { do: "stopRecord" });
    await heard(people, { on: false, by: host.join.name });
    await rooms[2].app.must("PUT", `/room/${rooms[0].name}`, { recordRoom: true });
    await heard(people, { on: true, by: "" });
  });

  test("of a person who is removed on one of them gets nothing more by any, and what came is listed at once", async () => {
    const rooms = await newRooms({ recordRoom: true });
    const backends = rooms.map(({ app }) => new Backend(app));
    const eve = await rooms[0].inside({ name: "Eve" });
    const begin = (room: Room) =>
      room.app.call<Json>("POST", `/room/${room.name}/recording`, { source: "camera" }, { bearer: eve.token });
    const { uploadUrl, _id } = (await begin(rooms[0])).body as unknown as { uploadUrl: string; _id: string };
    await backends[0]?.mustPut(uploadUrl, webm(1000), { "Content-Range": "bytes 0-999/*" });
    // A part that is on its way to another node, and never ends by itself.
    const slow = await SlowPut.begin(rooms[2].app.url, uploadUrl, {
      "Transfer-Encoding": "chunked",
      "Content-Range": "bytes 1000-999999/*",
    });
    await slow.send(Buffer.from("3\r\nabc\r\n"));
    const file = join(data, "recordings/uploads", _id);
    await until("it is taken", () => statSync(file, { throwIfNoEntry: false })?.size === 1003);
    await rooms[1].app.must("DELETE", `/room/${rooms[0].name}/participant/${eve.id}`);
    for (const backend of backends) {
      const { status } = await backend.put(uploadUrl, webm(10), { "Content-Range": "bytes 1003-1012/*" });
      expect([403, 409, 423]).toContain(status);
    }
    for (const room of rooms) expect((await begin(room)).status).toBe(403);
    expect(await slow.status()).toBe(403);
    await until("the recording", async () => (await backends[2]?.list({ room: rooms[0].id }))?.total === 1);
    expect((await backends[1]?.list({ room: rooms[0].id }))?.data).toMatchObject([{ _id, sizeInBytes: 1003 }]);
  });

  test("is uploaded through any of them, also after its page has left, and listed once", async () => {
    const rooms = await newRooms({ recordRoom: true });
    const backends = rooms.map(({ app }) => new Backend(app)) as [Backend, Backend, Backend];
    const ann = await rooms[0].inside({ name: "Ann" });
    const call = (at: number, method: string, body: Json) =>
      (rooms[at] as Room).app.call(method, `/room/${rooms[0].name}/recording`, body, { bearer: ann.token });
    const answers = await Promise.all([0, 1, 2].map((at) => call(at, "POST", { source: "camera" })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 409]);
    const [run, left] = answers.filter(({ status }) => status === 200).map(({ body }) => body) as unknown as [
      Json,
      Json,
    ];
    const bytes = webm(9000);
    for (let at = 0; at < 9; at++) {
      const range = `bytes ${at * 1000}-${at * 1000 + 999}/*`;
      if (at === 5) ann.wire.close(1000);
      const part = bytes.subarray(at * 1000, at * 1000 + 1000);
      await backends[(at % 3) as 0 | 1 | 2].mustPut(String(run.uploadUrl), part, { "Content-Range": range });
    }
    // Several pages end it at once: one may find it busy.
    const ends = await Promise.all([0, 1, 2].map((at) => call(at, "DELETE", { _id: run._id })));
    expect(ends.map(({ status }) => status).filter((status) => status !== 423)).toContain(200);
    expect((await call(1, "DELETE", { _id: left._id })).status).toBe(200);
    await until("the recording", async () => (await backends[2].list({ room: rooms[0].id })).total > 0);
    const { data: listed } = await backends[1].list({ room: rooms[0].id });
    expect(listed).toMatchObject([{ _id: run._id, participantUsername: "Ann", participantSession: ann.id }]);
  });
});

describe("a lobby over three nodes", () => {
  const queueOf = async (wire: Wire, ...names: readonly string[]): Promise<void> => {
    await wire.until("message", ({ data }) => {
      const { queue } = data as { queue?: { name: string }[] };
      return Bun.deepEquals(queue?.map(({ name }) => name).sort(), [...names].sort());
    });
  };

  test("asked on one, shown on another, answered on the third", async () => {
    const rooms = await newRooms({ privacy: "private" });
    const joined: Joined = await rooms[0].join({ name: "Eve" });
    const eve = await rooms[0].connected(joined);
    await subscribe(eve.wire, rooms[0].channel(`wait/${eve.id}`));
    const host = await admin(rooms[1]);
    await subscribe(host.wire, rooms[1].channel("admin"));
    await queueOf(host.wire, "Eve");
    expect((await rooms[2].act(host.token, { do: "admit", waitId: eve.id })).status).toBe(200);
    const isHosts = ({ data }: { readonly data: unknown }): boolean => JSON.stringify(data).includes("hosts");
    const seen = await eve.wire.until("message", (frame) => !isHosts(frame));
    expect(seen).toMatchObject({ from: "service", data: { notice: "admitted" } });
    await rooms[2].inside({ ticket: joined.ticket });
    await queueOf(host.wire);
  });

  test.skipIf(!IS_FULL)(
    "of a node that was killed: its visitors come back by another, or are gone after 30 seconds",
    async () => {
      const rooms = await newRooms({ privacy: "private" });
      const [lost] = await cluster.add(1);
      if (!lost) throw new Error("no node");
      const third = new Room(
        new Application(lost.url, rooms[0].app.name, rooms[0].app.secretKey),
        rooms[0].name,
        rooms[0].id,
      );
      const host = await admin(rooms[0]);
      await subscribe(host.wire, rooms[0].channel("admin"));
      const [eve, bob] = [await third.join({ name: "Eve" }), await third.join({ name: "Bob" })];
      const [{ id: waitId }] = await Promise.all([third.connected(eve), third.connected(bob)]);
      await queueOf(host.wire, "Eve", "Bob");
      await lost.kill("SIGKILL");
      cluster.nodes.splice(cluster.nodes.indexOf(lost), 1);
      const back = await rooms[1].connected(await rooms[1].join({ ticket: String(eve.ticket) }));
      expect(back.id).toBe(waitId);
      // The other is forgotten 30 seconds after its node was last heard of.
      const seen = host.wire.frames.length;
      const hasOnlyEve = (frame: AnyFrame): boolean => {
        const { queue } = (frame.type === "message" ? frame.data : {}) as { queue?: { name: string }[] };
        return Bun.deepEquals(
          queue?.map(({ name }) => name),
          ["Eve"],
        );
      };
      await until("the queue without Bob", () => host.wire.frames.slice(seen).some(hasOnlyEve), 50_000);
      expect((await rooms[2].tryJoin({ ticket: eve.ticket })).body).toMatchObject({
        waiting: true,
        ticket: eve.ticket,
      });
    },
  );
});

test("a rotation of the secret key on one node ends the stays on all of them", async () => {
  const rooms = await newRooms();
  const people = await oneOnEach(rooms);
  const [first] = cluster.nodes as [Server];
  await first.admin.must("POST", `/apps/${apps[0]?.id}/secret-key/rotate`, { retirePrevious: true });
  for (const [n, { token }] of people.entries()) expect((await rooms[n]?.act(token, { do: "lock" }))?.status).toBe(401);
  for (const { wire } of people) expect(await wire.closed()).toMatchObject({ code: 4021, reason: "ended" });
});
