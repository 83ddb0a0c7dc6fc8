import { expect, test } from "bun:test";
import { clientCloses } from "../testing/grace.ts";
import { type Client, leftovers, SECRET_KEY, turn, World } from "../testing/kit.ts";

/** Lets answers between nodes arrive while time goes on. */
async function pass(world: World, ms: number): Promise<void> {
  for (let done = 0; done < ms; done += 100) {
    world.advance(100);
    await turn();
  }
}

const occupancyOf = (client: Client): unknown[] =>
  client
    .take()
    .filter(({ type }) => type === "occupancy")
    .map(({ channel, peers, connections }) => [channel, peers, connections]);

test("a subscription that asks gets the number at once, behind its ack, and again when it has changed", async () => {
  const world = new World();
  world.join("ann", "c");
  const ben = world.connect("ben");
  ben.subscribe("c", { occupancy: true });
  await pass(world, 100);
  expect(ben.take().map(({ type }) => type)).toEqual(["ack", "presence", "occupancy"]);
  await pass(world, 3000);
  expect(ben.take()).toEqual([]);
  const second = world.connect("ann");
  second.subscribe("c");
  await pass(world, 1100);
  expect(occupancyOf(ben)).toEqual([["c", 2, 3]]);
  clientCloses(second, 1000);
  await pass(world, 1100);
  expect(occupancyOf(ben)).toEqual([["c", 2, 2]]);
});

test("at most one frame comes per second, and those that did not ask get none", async () => {
  const world = new World();
  const ann = world.join("ann", "c");
  const ben = world.connect("ben");
  ben.subscribe("c", { occupancy: true });
  await pass(world, 100);
  for (const client of [ann, ben]) client.take();
  for (let i = 0; i < 30; i++) {
    world.connect(`p${i}`).subscribe("c");
    await pass(world, 100);
  }
  expect(occupancyOf(ben).length).toBeLessThanOrEqual(4);
  expect(occupancyOf(ann)).toEqual([]);
});

test("without presence a subscription is not shown and gets no presence, but counts as a connection", async () => {
  const world = new World();
  const ann = world.join("ann", "c");
  const ben = world.connect("ben");
  ben.subscribe("c", { occupancy: true, presence: false });
  await pass(world, 1000);
  expect(ann.take()).toEqual([]);
  expect(ben.take().map(({ type, peers, connections }) => [type, peers, connections])).toEqual([
    ["ack", undefined, undefined],
    ["occupancy", 1, 2],
  ]);
  ann.publish("c", 1);
  expect(ben.newFrames()).toEqual(["message ann 1"]);
  ann.unsubscribe("c");
  await pass(world, 1100);
  expect(ben.take()).toEqual([{ type: "occupancy", channel: "c", peers: 0, connections: 1 }]);
});

test("the last subscribe counts: it can switch presence and the number off and on", async () => {
  const world = new World();
  const ann = world.join("ann", "c");
  const ben = world.join("ben", "c");
  ann.take();
  ben.subscribe("c", { occupancy: true, presence: false });
  await pass(world, 1100);
  expect(ann.newFrames()).toEqual(["left: ben"]);
  expect(occupancyOf(ben)).toEqual([["c", 1, 2]]);
  ben.subscribe("c");
  await pass(world, 1100);
  expect(ann.newFrames()).toEqual(["joined: ben"]);
  expect(ben.newFrames()).toEqual(["ack r3", "roster: ann"]);
});

test("connections of all nodes count", async () => {
  const world = new World({ nodes: 3 });
  for (const [node, count] of [2, 3].entries())
    for (let i = 0; i < count; i++) world.join(`p${node}${i % 2}`, "c", { node: node + 1 });
  const ben = world.connect("ben");
  ben.subscribe("c", { occupancy: true, presence: false });
  await pass(world, 500);
  expect(occupancyOf(ben)).toEqual([["c", 4, 6]]);
  const cat = world.connect("cat", { node: 2 });
  cat.subscribe("c");
  await pass(world, 1500);
  expect(occupancyOf(ben)).toEqual([["c", 5, 7]]);
});

test("it needs the action presence, and ends with it", async () => {
  const world = new World();
  const ann = world.connect("ann", { actions: ["subscribe"] });
  ann.subscribe("c", { occupancy: true });
  expect(ann.newFrames()).toEqual(["error action_not_permitted r1"]);
  const ben = world.connect("ben");
  ben.subscribe("c", { occupancy: true, presence: false });
  await pass(world, 100);
  ben.take();
  world.keys.editKey(SECRET_KEY, { actions: ["subscribe"] });
  world.connect("cat").subscribe("c");
  await pass(world, 2000);
  expect(ben.take()).toEqual([]);
});

test("nothing is left when the last one has gone", async () => {
  const world = new World();
  const ben = world.connect("ben");
  ben.subscribe("c", { occupancy: true });
  await pass(world, 100);
  ben.vanish();
  await pass(world, 2000);
  expect(leftovers(world)).toEqual({});
  expect(world.clock.waiting).toBe(0);
});
