import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Engine } from "../../engine/engine.ts";
import { clientCloses, drain } from "../testing/grace.ts";
import { HeldMemory } from "../testing/held-memory.ts";
import { type Client, leftovers, SECRET_KEY, turn, World } from "../testing/kit.ts";
import { type NotedMember, readNote, writeNote } from "./note-text.ts";

const APP = anAppId("app");

/** A node with two members in a call has drained, and is started anew. */
async function restarted(afterMs = 5000): Promise<{ world: World; heldMembers: HeldMemory }> {
  const heldMembers = new HeldMemory();
  const before = new World({ heldMembers });
  const ann = before.join("ann", "c", { metadata: { n: 1 } });
  before.join("ben", "c");
  ann.request({ type: "state", channel: "c", state: { muted: true } });
  before.advance(100);
  drain(before);
  before.advance(100);
  await before.node.hub.notes.write();
  const world = new World({ heldMembers });
  world.advance(before.clock.wallMs() - world.clock.wallMs() + afterMs);
  await world.node.hub.notes.readAll();
  return { world, heldMembers };
}

function subscribed(world: World, peerId: string, options = {}): Client {
  const client = world.connect(peerId, options);
  client.subscribe("c", { state: true });
  world.advance(600);
  return client;
}

const lastRoster = (client: Client): unknown => client.take().findLast(({ snapshot }) => snapshot)?.joined;

test("rosters after a restart have the members that are expected back, with their states", async () => {
  const { world } = await restarted();
  const ben = subscribed(world, "ben");
  expect(lastRoster(ben)).toEqual([{ peerId: "ann", metadata: { n: 1 }, state: { muted: true } }]);
  const ann = subscribed(world, "ann", { metadata: { n: 1 } });
  expect(lastRoster(ann)).toEqual([{ peerId: "ben", state: null }]);
  world.advance(30_000);
  expect(ben.take()).toEqual([]);
});

test("a member that does not come back leaves 10 s after the start", async () => {
  const { world } = await restarted();
  const ben = subscribed(world, "ben");
  ben.take();
  world.advance(9300);
  expect(ben.take()).toEqual([]);
  world.advance(200);
  expect(ben.newFrames()).toEqual(['left: ann{"n":1}']);
  clientCloses(ben, 1000);
  expect(leftovers(world)).toEqual({});
});

test("after 16 s without the service it is expected for 20 s: clients wait longer between attempts", async () => {
  const { world } = await restarted(16_000);
  const ben = subscribed(world, "ben");
  ben.take();
  world.advance(18_000);
  expect(ben.take()).toEqual([]);
  world.advance(2000);
  expect(ben.newFrames()).toEqual(['left: ann{"n":1}']);
});

test("a direct message waits for a peer that comes back after the restart", async () => {
  const { world } = await restarted();
  const ben = world.connect("ben");
  ben.send("ann", 1);
  await turn();
  expect(ben.take()).toEqual([]);
  const ann = subscribed(world, "ann");
  await turn();
  expect(ann.received.slice(-2).map(({ type }) => type)).toEqual(["presence", "direct"]);
});

test("a note counts for 30 s", async () => {
  const { world } = await restarted(31_000);
  const ben = subscribed(world, "ben");
  expect(lastRoster(ben)).toEqual([]);
});

test("what has happened to the peer meanwhile counts: a kick, a revoked key", async () => {
  for (const happen of [
    (world: World) => world.node.hub.kicks.kick(APP, "ann"),
    (world: World) => world.keys.editKey(SECRET_KEY, { channelPatterns: ["other"] }),
  ]) {
    const { world } = await restarted();
    await happen(world);
    const cat = subscribed(world, "cat", { key: "pk_live_1" });
    expect(JSON.stringify(lastRoster(cat))).not.toContain("ann");
  }
});

test("a member that has said goodbye after the restart is not found again when its channel opens anew", async () => {
  const { world } = await restarted();
  const ann = subscribed(world, "ann", { metadata: { n: 1 } });
  clientCloses(ann, 1000);
  world.advance(100);
  const ben = subscribed(world, "ben");
  expect(lastRoster(ben)).toEqual([]);
});

test("a note is read once: after a crash, those who said goodbye since the restart are not expected back", async () => {
  const { world, heldMembers } = await restarted();
  clientCloses(subscribed(world, "ann", { metadata: { n: 1 } }), 1000);
  const after = new World({ heldMembers });
  after.advance(world.clock.wallMs() - after.clock.wallMs());
  await after.node.hub.notes.readAll();
  expect(lastRoster(subscribed(after, "ben"))).toEqual([]);
});

test("other nodes read the note of a node that is gone, for channels that they did not watch", async () => {
  const heldMembers = new HeldMemory();
  const world = new World({ nodes: 2, heldMembers });
  world.join("ann", "c");
  world.join("ben", "c");
  drain(world);
  world.advance(100);
  await world.node.hub.notes.write();
  await world.node.engine.close();
  await turn();
  const ben = world.connect("ben", { node: 1 });
  ben.subscribe("c");
  world.advance(600);
  expect(ben.newFrames()).toEqual(["ack r1", "roster: ann"]);
  ben.send("ann", 1);
  await turn();
  expect(ben.take()).toEqual([]);
  world.advance(10_000);
  await turn();
  world.advance(200);
  await turn();
  expect(ben.newFrames().sort()).toEqual(["error peer_not_found r2", "left: ann"]);
});

test("also if they know that node under another id, because they had considered it gone before", async () => {
  const world = new World({ nodes: 2, heldMembers: new HeldMemory(), engine: underAnotherId });
  world.join("ann", "c");
  drain(world);
  world.advance(100);
  await world.node.hub.notes.write();
  await world.node.engine.close();
  await turn();
  expect(lastRoster(subscribed(world, "ben", { node: 1 }))).toMatchObject([{ peerId: "ann" }]);
});

/** As the engine between processes reports a node that has returned. */
function underAnotherId(engine: Engine): Engine {
  const { attach } = engine;
  engine.attach = (node) => {
    const { nodeGone } = node;
    node.nodeGone = (id, name) => nodeGone.call(node, `${id}~2`, name);
    attach.call(engine, node);
  };
  return engine;
}

test("also if the clocks of the two differ by five seconds: its members are held as long as ever", async () => {
  for (const skewMs of [-5000, 5000]) {
    const world = new World({ nodes: 2, heldMembers: new HeldMemory() });
    world.node.clock.skewMs = skewMs;
    world.join("ann", "c");
    drain(world);
    world.advance(100);
    await world.node.hub.notes.write();
    await world.node.engine.close();
    await turn();
    world.advance(8000);
    const ben = subscribed(world, "ben", { node: 1 });
    expect(lastRoster(ben)).toMatchObject([{ peerId: "ann" }]);
    ben.take();
    world.advance(2000);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  }
});

test("the others expect the peers of a node before it leaves: a direct message never finds no one", async () => {
  const heldMembers = new HeldMemory();
  const world = new World({ nodes: 2, heldMembers });
  world.connect("ann");
  const ben = world.connect("ben", { node: 1 });
  drain(world);
  world.advance(100);
  await world.node.hub.notes.write();
  await world.node.hub.notes.handOver();
  expect(world.nodeAt(1).hub.holds.isHeld(APP, "ann")).toBe(true);
  // The others learn that it is gone before they could read its note.
  heldMembers.notes.clear();
  await world.node.engine.close();
  ben.send("ann", 1);
  for (let ms = 0; ms < 1000; ms += 50) {
    world.advance(50);
    await turn();
  }
  expect(ben.newFrames()).toEqual([]);
  const ann = world.connect("ann", { node: 1 });
  for (let ms = 0; ms < 1500; ms += 50) {
    world.advance(50);
    await turn();
  }
  expect([ann.newFrames(), ben.newFrames()]).toEqual([["direct ben 1"], ["ack r1"]]);
});

test("an application with very many members leaves half of the note to the others", () => {
  const member = { channel: "c", keyId: "k", metadataJson: undefined, stateJson: undefined, since: 1, node: "n" };
  const many = Array.from({ length: 20 }, (_, n) => ({ ...member, spaceId: anAppId("busy"), peerId: `p${n}` }));
  const noted = readNote(
    writeNote([...many, { ...member, spaceId: anAppId("quiet"), peerId: "ann" }], 10, 10_000),
    100,
  );
  expect(noted.map(({ spaceId }) => spaceId)).toEqual([...Array(5).fill("busy"), "quiet"]);
});

test("a node that starts reads the notes of all nodes that have stopped together", async () => {
  const heldMembers = new HeldMemory();
  const before = new World({ nodes: 2, heldMembers });
  before.join("ann", "c");
  before.join("ben", "d", { node: 1 });
  for (const node of [0, 1]) drain(before, node);
  before.advance(100);
  for (const node of [0, 1]) await before.nodeAt(node).hub.notes.write();
  const world = new World({ heldMembers });
  world.advance(before.clock.wallMs() - world.clock.wallMs());
  await world.node.hub.notes.readAll();
  const cat = subscribed(world, "cat");
  expect(lastRoster(cat)).toMatchObject([{ peerId: "ann" }]);
  cat.subscribe("d");
  world.advance(600);
  expect(lastRoster(cat)).toMatchObject([{ peerId: "ben" }]);
});

test("a store that fails keeps neither a stop nor a start", async () => {
  const heldMembers = new HeldMemory();
  heldMembers.failing = true;
  const caught: unknown[] = [];
  const faults = { caught: (_where: unknown, error: unknown) => void caught.push(error) };
  const world = new World({ heldMembers, faults });
  world.join("ann", "c");
  drain(world);
  world.advance(100);
  await world.node.hub.notes.write();
  await world.node.hub.notes.readAll();
  expect(caught.length).toBe(2);
});

test("a note names the node of each connection; one of an earlier version, which does not, is read too", () => {
  const nothing = { metadataJson: undefined, stateJson: undefined };
  const ann: NotedMember = {
    ...nothing,
    spaceId: anAppId("a"),
    peerId: "ann",
    channel: "c",
    keyId: "k",
    since: 5,
    node: "n1",
  };
  expect(readNote(writeNote([ann], 10, 1000), 10)).toEqual([ann]);
  expect(readNote(['[["a","ann","c","k",null,null,5]]'], 10)).toEqual([{ ...ann, node: "" }]);
});
