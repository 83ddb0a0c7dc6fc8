import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Engine } from "../../engine/engine.ts";
import { clientCloses, drain } from "../testing/grace.ts";
import { HeldMemory } from "../testing/held-memory.ts";
import { type Client, turn, World } from "../testing/kit.ts";

const APP = anAppId("app");

/** Nodes that share a store. The calls have a grace period. */
function sharing(nodes: number, heldMembers = new HeldMemory(), engine?: (engine: Engine) => Engine): World {
  heldMembers.isShared = true;
  const world = new World({ nodes, heldMembers, ...(engine && { engine }) });
  world.keys.editApp({ channelRules: [{ pattern: "c", graceSec: 60 }] });
  return world;
}

async function pass(world: World, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    world.advance(100);
    await turn();
  }
}

/** The node has closed its connections and written its note. */
async function drained(world: World, node: number): Promise<void> {
  drain(world, node);
  await pass(world, 200);
  await world.nodeAt(node).hub.notes.write();
}

async function gone(world: World, node: number): Promise<void> {
  await world.nodeAt(node).hub.notes.handOver();
  await world.nodeAt(node).engine.close();
  await turn();
}

/** Another node starts; returns its number. */
async function started(world: World): Promise<number> {
  world.start();
  const node = world.nodes.length - 1;
  await world.nodeAt(node).hub.notes.readAll();
  return node;
}

/** What someone who enters the call on this node is shown first. */
function rosterOn(world: World, node: number): string[] {
  const eve = world.connect(`eve${node}`, { node });
  eve.subscribe("c");
  world.advance(600);
  const roster = eve.take().findLast(({ snapshot }) => snapshot);
  clientCloses(eve, 1000);
  world.advance(100);
  return namesOf(roster?.joined);
}

const namesOf = (joined: unknown): string[] =>
  (joined as readonly { readonly peerId: string }[]).map(({ peerId }) => peerId).sort();

const isHeld = (world: World, node: number): boolean => world.nodeAt(node).hub.holds.isHeld(APP, "bob");

const ENDS: Record<string, (world: World, bob: Client) => unknown> = {
  "a goodbye": (_world, bob) => clientCloses(bob, 1000),
  "a kick": (world) => world.node.hub.kicks.kick(APP, "bob"),
};

for (const [what, end] of Object.entries(ENDS))
  for (const isEarly of [true, false])
    test(`a node restarts; bob comes back ${isEarly ? "before" : "after"} it has left, and ends with ${what}: no node expects him`, async () => {
      const world = sharing(3);
      world.join("bob", "c", { node: 2 });
      await drained(world, 2);
      if (!isEarly) await gone(world, 2);
      const bob = world.join("bob", "c");
      await pass(world, 1000);
      await end(world, bob);
      await pass(world, 1000);
      if (isEarly) await gone(world, 2);
      await pass(world, 2000);
      const restarted = await started(world);
      for (const node of [restarted, 0, 1]) {
        expect(isHeld(world, node)).toBe(false);
        expect(rosterOn(world, node)).toEqual([]);
      }
    });

test("a kick while no one has come back counts too", async () => {
  const world = sharing(3);
  world.join("bob", "c", { node: 2 });
  await drained(world, 2);
  await gone(world, 2);
  await world.node.hub.kicks.kick(APP, "bob");
  const restarted = await started(world);
  for (const node of [restarted, 0, 1]) expect(rosterOn(world, node)).toEqual([]);
});

test("a node that restarts still expects those who are not back, and tells the next one who is", async () => {
  const world = sharing(2);
  for (const peerId of ["ann", "bob"]) world.join(peerId, "c", { node: 1 });
  await drained(world, 1);
  await gone(world, 1);
  const second = await started(world);
  expect(rosterOn(world, second)).toEqual(["ann", "bob"]);
  clientCloses(world.join("bob", "c"), 1000);
  await pass(world, 3000);
  // The node that bob had come back to.
  await drained(world, 0);
  await gone(world, 0);
  const third = await started(world);
  expect(rosterOn(world, third)).toEqual(["ann"]);
});

test("after a restart of all nodes each of them expects the members, until one of them has seen them", async () => {
  const heldMembers = new HeldMemory();
  const before = sharing(2, heldMembers);
  for (const [node, peerId] of ["ann", "bob"].entries()) before.join(peerId, "c", { node });
  for (const node of [0, 1]) await drained(before, node);
  for (const node of [0, 1]) await gone(before, node);
  const world = sharing(1, heldMembers);
  world.advance(before.clock.wallMs() - world.clock.wallMs());
  await world.node.hub.notes.readAll();
  const second = await started(world);
  expect(rosterOn(world, second)).toEqual(["ann", "bob"]);
  clientCloses(world.join("bob", "c"), 1000);
  await pass(world, 1000);
  const third = await started(world);
  expect(rosterOn(world, third)).toEqual(["ann"]);
  await pass(world, 10_000);
  expect([...heldMembers.notes]).toEqual([]);
});

test("someone who is expected again after a return is not mistaken for one who is back", async () => {
  const world = sharing(3);
  world.join("bob", "c", { node: 2 });
  await drained(world, 2);
  await gone(world, 2);
  world.join("bob", "c", { node: 1 });
  await pass(world, 1000);
  await drained(world, 1);
  await gone(world, 1);
  expect(rosterOn(world, await started(world))).toEqual(["bob"]);
});

test("a node believes no note if another one does not say who is back", async () => {
  const unanswered = (engine: Engine): Engine =>
    Object.assign(engine, { request: async () => ({ responses: new Map(), isComplete: false }) });
  const heldMembers = new HeldMemory();
  const world = sharing(2, heldMembers, unanswered);
  world.join("bob", "c", { node: 1 });
  await drained(world, 1);
  expect(heldMembers.notes.size).toBe(1);
  const restarted = await started(world);
  expect(isHeld(world, restarted)).toBe(false);
});
