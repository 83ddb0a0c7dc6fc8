/** Places in rooms and the times of stays, with real processes: exact caps on one node and on three, and what a killed node leaves behind. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Joined, newRoom, type Person, ROOMS_ENV, Room } from "../conformance/raw/support/rooms.ts";
import { Admin } from "../support/admin.ts";
import { Application } from "../support/application.ts";
import { launchParley, type Server } from "../support/parley.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { Cluster } from "./support/cluster.ts";

const TRY_EVERY_MS = 1000;
/** Ann comes back this late, and is still the same participant. */
const AWAY_MS = 20_000;
/** The other node first has to notice that the node is dead. */
const AWAY_FROM_ANOTHER_MS = 25_000;

setDefaultTimeout(180_000);

/** Tests that wait for the real grace of 30 s. */
const slow = test.if(process.env.PARLEY_TEST_FULL === "1");

interface Participant {
  readonly _id: string;
  /** Unix seconds. */
  readonly endTime?: number;
  readonly endReason?: string;
}

/** The same room through another node, or through the same one after its restart. */
const through = ({ app, name, id }: Room, { url }: Server): Room =>
  new Room(new Application(url, app.name, app.secretKey, app.id), name, id);

async function participantsOf(room: Room, meeting: string): Promise<Participant[]> {
  return (await room.app.must<{ participants: Participant[] }>("GET", `/meeting/${meeting}`)).participants;
}

const CLIENTS = 20;
const PLACES = 5;

/** Clients that join at the same moment, in turn through all nodes. Returns the answers of those who got a place. */
async function rush(room: Room, nodes: readonly Server[]): Promise<Joined[]> {
  const answers = await Promise.all(
    Array.from({ length: CLIENTS }, (_, at) => through(room, nodes[at % nodes.length] as Server).tryJoin()),
  );
  const full = answers.filter(({ body }) => body.error?.code === "room_full");
  const joined = answers.filter(({ status }) => status === 200).map(({ body }) => body);
  expect(full.length + joined.length).toBe(CLIENTS);
  return joined;
}

async function expectExactCap(nodes: readonly Server[]): Promise<void> {
  const [first] = nodes as [Server];
  const room = await newRoom(first, { maxParticipants: PLACES });
  const joined = await rush(room, nodes);
  expect(joined).toHaveLength(PLACES);
  expect(new Set(joined.map(({ meetingSession }) => meetingSession)).size).toBe(1);
  // Each enters through another node than it joined.
  const people = await Promise.all(
    joined.map((one, at) => through(room, nodes[(at + 1) % nodes.length] as Server).connected(one)),
  );
  expect(await rush(room, nodes)).toEqual([]);
  const [gone] = people as [Person];
  gone.wire.close(1000);
  const { meetingSession } = gone.join;
  await until("the stay has ended", async () => {
    const all = await participantsOf(room, meetingSession);
    return all.some(({ _id, endReason }) => _id === gone.id && endReason === "left");
  });
  expect(await rush(room, nodes)).toHaveLength(1);
  expect(await participantsOf(room, meetingSession)).toHaveLength(PLACES);
  for (const { wire } of people) wire.drop();
}

describe("one node", () => {
  let data: string;
  let server: Server;
  const env = { PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}`, ...ROOMS_ENV };
  const start = async (): Promise<void> => {
    server = launchParley({ data, env });
    server.url = String((await server.logged(({ msg }) => msg === "parley is ready")).url);
    server.admin = new Admin(server.url, server.setToken);
  };
  beforeAll(async () => {
    data = tempFolder();
    await start();
  });
  afterAll(async () => {
    await server.kill("SIGTERM");
    removeFolder(data);
  });

  test("gives as many places as there are, to 20 clients at once", () => expectExactCap([server]));

  slow("gives a place that was not taken to another client after 15 s", async () => {
    const room = await newRoom(server, { maxParticipants: 1 });
    await room.join();
    const began = performance.now();
    await until("the place is free", async () => {
      await Bun.sleep(TRY_EVERY_MS);
      return (await room.tryJoin()).status === 200;
    });
    expect(performance.now() - began).toBeWithin(14_000, 18_000);
  });

  slow("that was killed ends the stays of those who did not come back, when they were last seen", async () => {
    let room = await newRoom(server);
    const [ann, ben] = [await room.enter({ name: "Ann" }), await room.enter({ name: "Ben" })];
    await server.kill("SIGKILL");
    const killed = Date.now() / 1000;
    await start();
    room = through(room, server);
    await Bun.sleep(AWAY_MS);
    const back = await room.connected(ann.join);
    const { meetingSession } = ann.join;
    await until(
      "Ben's stay has ended",
      async () => (await participantsOf(room, meetingSession))[1]?.endTime !== undefined,
    );
    const [first, second] = await participantsOf(room, meetingSession);
    expect([first, second?._id, second?.endReason]).toEqual([
      expect.not.objectContaining({ endTime: expect.anything() }),
      ben.id,
      "lost",
    ]);
    expect(second?.endTime).toBeWithin(killed - 7, killed + 1);
    back.wire.drop();
  });
});

describe("three nodes", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start({ nodes: 3, env: ROOMS_ENV });
  });
  afterAll(() => cluster.stop());

  test("give as many places as there are, to 20 clients at once", () => expectExactCap(cluster.nodes));

  slow("end the stays of a killed one, and the meeting when no one is back", async () => {
    const [dead, other] = cluster.pair;
    const room = through(await newRoom(dead), other);
    const [ann, ben] = [
      await through(room, dead).enter({ name: "Ann" }),
      await through(room, dead).enter({ name: "Ben" }),
    ];
    const { meetingSession } = ann.join;
    await dead.kill("SIGKILL");
    const killed = Date.now() / 1000;
    await Bun.sleep(AWAY_FROM_ANOTHER_MS);
    const back = await room.connected(ann.join);
    expect(back.id).toBe(ann.id);
    await until(
      "Ben's stay has ended",
      async () => (await participantsOf(room, meetingSession))[1]?.endTime !== undefined,
    );
    const [, second] = await participantsOf(room, meetingSession);
    expect(second).toMatchObject({ _id: ben.id, endReason: "lost" });
    expect(second?.endTime).toBeWithin(killed - 7, killed + 1);
    back.wire.close(1000);
    const left = Date.now() / 1000;
    const meeting = (): Promise<{ active: boolean; endTime?: number }> =>
      room.app.must("GET", `/meeting/${meetingSession}`);
    await until("the meeting has ended", async () => !(await meeting()).active, 60_000);
    expect((await meeting()).endTime).toBeWithin(left - 2, left + 2);
  });
});
