/** People in rooms over the end of a node, with real processes: their stays go on, and they are not seen to leave. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { newRoom, type Person, ROOMS_ENV, Room } from "../conformance/raw/support/rooms.ts";
import { join } from "../conformance/raw/support/world.ts";
import { Admin } from "../support/admin.ts";
import { Application } from "../support/application.ts";
import { launchParley, type Server } from "../support/parley.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import type { Wire } from "../support/wire/wire.ts";
import { Cluster } from "./support/cluster.ts";

setDefaultTimeout(120_000);

interface Participant {
  readonly _id: string;
  readonly startTime: number;
  readonly endTime?: number;
  readonly endReason?: string;
}

/** The same room through another node, or through the same one after its restart. */
const through = ({ app, name, id }: Room, { url }: Server): Room =>
  new Room(new Application(url, app.name, app.secretKey, app.id), name, id);

/** A participant comes back with the same token. */
async function back({ join: joined }: Person, room: Room): Promise<{ wire: Wire; id: string; roster: string[] }> {
  const { wire, id } = await room.connected(joined);
  const { joined: members } = await join(wire, room.channel("room"));
  return { wire, id, roster: members.map(({ peerId }) => peerId) };
}

/** All participants of the meeting, in the order in which they entered. */
async function participants(room: Room, { join: { meetingSession } }: Person): Promise<Participant[]> {
  const meeting = await room.app.must<{ participants: Participant[] }>("GET", `/meeting/${meetingSession}`);
  return meeting.participants;
}

const presenceOf = (wire: Wire): unknown[] =>
  wire.frames.filter((frame) => frame.type === "presence" && !("snapshot" in frame));

describe("one node", () => {
  test("that is stopped, and killed, and started anew: the same people are in the same meeting", async () => {
    const data = tempFolder();
    const env = { PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}`, ...ROOMS_ENV };
    const start = async (): Promise<Server> => {
      const started = launchParley({ data, env });
      started.url = String((await started.logged(({ msg }) => msg === "parley is ready")).url);
      started.admin = new Admin(started.url, started.setToken);
      return started;
    };
    let server = await start();
    try {
      let room = await newRoom(server);
      const [ann, ben] = [await room.inside({ name: "Ann" }), await room.inside({ name: "Ben" })];
      const chat = { type: "publish", channel: room.channel("chat"), data: { text: "before" } };
      expect((await ann.wire.request(chat)).type).toBe("ack");
      for (const signal of ["SIGTERM", "SIGKILL"] as const) {
        await server.kill(signal);
        server = await start();
        room = through(room, server);
        const first = await back(ann, room);
        // A node that was killed has noted no members.
        expect(first.roster).toEqual(signal === "SIGTERM" ? [ben.id] : []);
        const second = await back(ben, room);
        expect([first.id, second.id, second.roster]).toEqual([ann.id, ben.id, [ann.id]]);
        if (signal === "SIGTERM") {
          await first.wire.sync();
          expect(presenceOf(first.wire)).toEqual([]);
        }
        const inside = await participants(room, ann);
        expect(inside.map(({ _id, endTime }) => ({ _id, endTime }))).toEqual([
          { _id: ann.id, endTime: undefined },
          { _id: ben.id, endTime: undefined },
        ]);
        second.wire.send({ type: "history", channel: room.channel("chat"), requestId: "h" });
        expect(await second.wire.answerTo("h")).toMatchObject({
          messages: [{ from: ann.id, data: { text: "before" } }],
        });
      }
    } finally {
      await server.kill("SIGTERM");
      removeFolder(data);
    }
  });
});

describe("three nodes", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start({ nodes: 3, env: ROOMS_ENV });
  });
  afterAll(() => cluster.stop());

  test("a stay has one connection over all of them, and who is put out is out on every one", async () => {
    const [one, other] = cluster.pair;
    const room = await newRoom(one);
    const host = await room.inside({ token: await room.accessToken({ isAdmin: true, name: "Host" }) });
    const eve = await room.inside({ name: "Eve" });
    await host.wire.until("presence");
    const moved = await back(eve, through(room, other));
    expect(await eve.wire.closed()).toMatchObject({ code: 4021, reason: "replaced" });
    expect(moved.roster).toEqual([host.id]);
    expect(await host.wire.sync()).toEqual([]);
    expect((await room.act(host.token, { do: "remove", participantSession: eve.id })).status).toBe(200);
    expect(await moved.wire.closed()).toMatchObject({ code: 4021, reason: "removed" });
    const { left } = await host.wire.until("presence");
    expect(left.map(({ peerId }) => peerId)).toEqual([eve.id]);
  });

  test("people of one meeting on all of them come back elsewhere when a node stops, and when it is killed", async () => {
    const [first, second, third] = cluster.nodes as [Server, Server, Server];
    const room = await newRoom(first);
    const watcher = await through(room, third).inside({ name: "Watcher" });
    const ann = await room.inside({ name: "Ann" });
    const ben = await through(room, second).inside({ name: "Ben" });
    for (const { id } of [ann, ben])
      await watcher.wire.until("presence", ({ joined }) => joined.some(({ peerId }) => peerId === id));
    const seen = presenceOf(watcher.wire).length;
    expect(await first.kill("SIGTERM")).toBe(0);
    expect((await ann.wire.closed()).code).toBe(1001);
    const elsewhere = await back(ann, through(room, second));
    expect([elsewhere.id, elsewhere.roster.sort()]).toEqual([ann.id, [ben.id, watcher.id].sort()]);
    await second.kill("SIGKILL");
    for (const person of [ann, ben]) {
      const returned = await back(person, through(room, third));
      expect([returned.id, returned.roster]).toEqual([person.id, expect.arrayContaining([watcher.id])]);
    }
    await watcher.wire.sync();
    expect(presenceOf(watcher.wire)).toHaveLength(seen);
    const inside = await participants(through(room, third), ann);
    expect(inside.map(({ _id, endTime }) => ({ _id, endTime }))).toEqual(
      [watcher, ann, ben].map(({ id }) => ({ _id: id, endTime: undefined })),
    );
  });
});
