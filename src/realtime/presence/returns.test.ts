import { describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { RECEIVERS_MAX } from "../state/peer.ts";
import { CALL, clientCloses, drain, graceWorld, withStates } from "../testing/grace.ts";
import { type Client, leftovers, turn, World } from "../testing/kit.ts";

/** Ben and ann have sent direct messages to each other, cat and ann have not. Ann's token expires after 3 s. */
async function called(nodes = 1): Promise<{ world: World; ben: Client; cat: Client }> {
  const world = new World({ nodes });
  const ben = world.join("ben", "c");
  const cat = world.join("cat", "c");
  const ann = world.join("ann", "c", { expiresInMs: 3000 });
  await exchange(world, ann, ben);
  cat.send("ann", "one way");
  await turn();
  world.advance(3000);
  for (const client of [ben, cat]) client.take();
  return { world, ben, cat };
}

async function exchange(world: World, one: Client, other: Client): Promise<void> {
  one.send(other.connection.peerId, "offer");
  other.send(one.connection.peerId, "answer");
  await turn();
  world.advance(20);
}

for (const nodes of [1, 2])
  describe(`the return of a member, ${nodes} ${nodes === 1 ? "node" : "nodes"}`, () => {
    const node = nodes - 1;

    test("is shown, as two frames, to peers that have exchanged direct messages with it, and to no one else", async () => {
      const { world, ben, cat } = await called(nodes);
      const ann = world.connect("ann", { node }).withholdPongs();
      ann.subscribe("c");
      world.advance(400);
      expect(ben.take()).toEqual([]);
      world.advance(200);
      expect(ann.newFrames()).toEqual(["ack r1", "roster: ben cat"]);
      expect(ben.newFrames()).toEqual(["left: ann", "joined: ann"]);
      world.advance(20_000);
      expect([ben.take(), cat.take(), ann.take()]).toEqual([[], [], []]);
      for (const client of [ann, ben, cat]) clientCloses(client, 1000);
      expect(leftovers(world)).toEqual({});
    });

    test("is shown before the next direct message of the member, also before its roster, and once", async () => {
      const { world, ben, cat } = await called(nodes);
      const ann = world.connect("ann", { node }).withholdPongs();
      ann.subscribe("c");
      world.advance(50);
      for (const n of [1, 2]) ann.send("ben", n);
      await turn();
      expect(ben.newFrames()).toEqual(["left: ann", "joined: ann", "direct ann 1", "direct ann 2"]);
      world.advance(2000);
      expect([ben.take(), cat.take()]).toEqual([[], []]);
    });

    test("is shown before the next message of the member in a channel", async () => {
      const { world, ben, cat } = await called(nodes);
      const ann = world.connect("ann", { node }).withholdPongs();
      ann.subscribe("c");
      world.advance(50);
      ann.publish("c", 1);
      expect(ben.newFrames()).toEqual(["left: ann", "joined: ann", "message ann 1"]);
      expect(cat.newFrames()).toEqual(["message ann 1"]);
      world.advance(2000);
      expect([ben.take(), cat.take()]).toEqual([[], []]);
    });

    test("is not shown to a peer that has connected since the loss", async () => {
      const { world, ben } = await called(nodes);
      clientCloses(ben, 1001);
      const newer = world.join("ben", "c");
      world.join("ann", "c", { node });
      expect(newer.take()).toEqual([]);
    });

    test("is shown again after the next loss, with new metadata and the state", async () => {
      const { world, ben } = await called(nodes);
      ben.subscribe("c", { state: true });
      world.advance(600);
      ben.take();
      const returned = world.join("ann", "c", { node, expiresInMs: 3000 });
      expect(ben.newFrames()).toEqual(["left: ann", "joined: ann"]);
      returned.request({ type: "state", channel: "c", state: { hand: true } });
      world.advance(3000);
      ben.take();
      world.join("ann", "c", { node, metadata: { n: 2 } });
      const seen = ben.take().filter(({ type }) => type === "presence");
      expect(seen.map(({ left, joined }) => [left?.length ?? 0, joined?.length ?? 0])).toContainEqual([1, 0]);
      expect(seen.at(-1)?.joined).toEqual([{ peerId: "ann", metadata: { n: 2 } }]);
      const state = ben.received.findLast(({ type }) => type === "state");
      expect(state?.changed).toEqual([{ peerId: "ann", state: { hand: true } }]);
    });

    test("is shown each time, also more often than damping shows changes, and is not counted as one", async () => {
      const { world, ben, cat } = await called(nodes);
      for (let i = 0; i < 5; i++) {
        const ann = world.join("ann", "c", { node });
        expect(ben.newFrames()).toEqual(["left: ann", "joined: ann"]);
        world.nodeAt(node).hub.connections.expire(ann.connection);
        world.advance(20);
      }
      const last = world.join("ann", "c", { node });
      ben.take();
      clientCloses(last, 1000);
      world.advance(50);
      for (const client of [ben, cat]) expect(client.newFrames()).toEqual(["left: ann"]);
    });

    test("is not shown when the member was kicked: it has left, and joins", async () => {
      const { world, ben, cat } = await called(nodes);
      await world.node.hub.kicks.kick(anAppId("app"), "ann");
      world.advance(20);
      world.join("ann", "c", { node });
      for (const client of [ben, cat]) expect(client.newFrames()).toEqual(["left: ann", "joined: ann"]);
    });
  });

test("a page that is reloaded in a call with a grace period is shown to have left and joined", async () => {
  const world = graceWorld();
  const [ben, cat] = [world.join("ben", CALL), withStates(world, "cat", CALL)];
  const ann = world.join("ann", CALL);
  await exchange(world, ann, ben);
  for (const client of [ben, cat]) client.take();
  clientCloses(ann, 1001);
  world.advance(2000);
  expect(ben.take()).toEqual([]);
  world.join("ann", CALL);
  expect(ben.newFrames()).toEqual(["left: ann", "joined: ann"]);
  expect(cat.take().map(({ type }) => type)).toEqual(["state", "state"]);
});

test("a rolling restart: the others of a call are shown that a member has moved", async () => {
  const world = new World({ nodes: 3 });
  const [ben, cat] = [world.join("ben", "c", { node: 1 }), world.join("cat", "c", { node: 2 })];
  const ann = world.join("ann", "c");
  await exchange(world, ann, ben);
  for (const client of [ben, cat]) client.take();
  drain(world);
  world.advance(100);
  await world.nodeAt(0).engine.close();
  world.advance(1000);
  expect(ben.take()).toEqual([]);
  world.join("ann", "c", { node: 2 });
  expect([ben.newFrames(), cat.newFrames()]).toEqual([["left: ann", "joined: ann"], []]);
});

test("a send to a peer that is back waits for its roster, even if none waited before", async () => {
  const { world, ben } = await called();
  const ann = world.connect("ann").withholdPongs();
  ann.subscribe("c");
  ben.send("ann", 1);
  await turn();
  expect(ann.newFrames()).toEqual(["ack r1"]);
  world.advance(600);
  expect(ann.newFrames()).toEqual(["roster: ben cat", "direct ben 1"]);
});

test("a direct message that has waited for a roster comes behind the join of its sender", async () => {
  const { world } = await called();
  const ann = world.connect("ann");
  const dan = world.connect("dan").withholdPongs();
  dan.subscribe("c");
  dan.send("ann", 1);
  await turn();
  ann.subscribe("c");
  world.advance(100);
  expect(ann.newFrames()).toEqual(["ack r1", "roster: ben cat", "joined: dan", "direct dan 1"]);
});

test("direct messages that wait for a roster are written before the service closes the connection, and beyond 64", async () => {
  const { world, ben } = await called();
  const ann = world.connect("ann", { expiresInMs: 500 });
  ben.send("ann", 1);
  world.advance(500);
  expect([ann.newFrames(), ann.closeCode]).toEqual([["direct ben 1"], 4002]);
  const returned = world.connect("ann");
  for (let n = 0; n < 63; n++) ben.send("ann", n);
  expect(returned.take()).toEqual([]);
  ben.send("ann", 63);
  expect(returned.take().map(({ data }) => data)).toEqual(Array.from({ length: 64 }, (_, n) => n));
  await turn();
});

test("the peers that a peer has sent to are bounded, the first goes first", () => {
  const world = new World();
  const ann = world.connect("ann");
  const { peer } = ann.connection;
  for (let i = 0; i <= RECEIVERS_MAX; i++) {
    const other = world.connect(`p${i}`);
    ann.send(`p${i}`, 1);
    other.send("ann", 1);
  }
  const known = [...peer.correspondents()].map(({ peerId }) => peerId);
  expect([known.length, known[0], known.at(-1)]).toEqual([RECEIVERS_MAX, "p1", `p${RECEIVERS_MAX}`]);
});
