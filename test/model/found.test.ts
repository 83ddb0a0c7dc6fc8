/** Bugs that the model has found, each as a short test. */
import { expect, test } from "bun:test";
import { type Client, SECRET_KEY, World } from "../../src/realtime/testing/kit.ts";
import { LateAnswers } from "../../src/realtime/testing/late-engine.ts";

/** Long enough for a pong and a tick. */
const STEP_MS = 30;

/** Joins and leaves this many times, slowly enough that each change is shown. */
function flap(world: World, client: Client, times: number): void {
  for (let i = 0; i < times; i++) {
    client.subscribe("c");
    world.advance(STEP_MS);
    client.unsubscribe("c");
    world.advance(STEP_MS);
  }
}

test("a subscribe that an edit of the key ends before the engine answers is not acked", () => {
  const late = new LateAnswers();
  const world = new World({ engine: late.between });
  const ann = world.connect("ann");
  ann.subscribe("b/1");
  world.keys.editKey(SECRET_KEY, { channelPatterns: ["a/*"] });
  late.releaseAll();
  expect(ann.newFrames()).not.toContain("ack r1");
});

test("a peer has not left when one connection goes and another still waits for its roster", () => {
  const world = new World();
  const ben = world.join("ben", "c");
  // ann's first connection waits for a pong; the second one makes her known, and ends.
  world.connect("ann", { pongAfterMs: undefined }).subscribe("c");
  const quick = world.connect("ann");
  quick.subscribe("c");
  world.advance(50);
  expect(ben.newFrames()).toEqual(["joined: ann"]);
  quick.vanish();
  world.advance(100);
  expect(ben.newFrames()).toEqual([]);
});

test("changes that are shown only to a subscription off the topic count against the limit of changes", () => {
  const world = new World();
  const ann = world.join("ann", "c");
  const cat = world.connect("cat").withholdPongs();
  cat.subscribe("c");
  cat.send("ann", 1);
  ann.take();
  // Until cat has its roster, ann is off the topic, and the only one that is shown changes.
  flap(world, world.connect("ben"), 7);
  expect(ann.newFrames()).toEqual(["joined: ben", "left: ben", "joined: ben", "left: ben", "joined: ben"]);
});

test("changes that no one received do not count against the limit of changes", () => {
  const world = new World({ nodes: 2 });
  const ann = world.join("ann", "c", { node: 0 });
  const older = world.connect("ben", { node: 1, metadata: 2 });
  world.advance(1);
  const newer = world.connect("ben", { node: 0, metadata: 1 }).withholdPongs();
  newer.subscribe("c");
  newer.send("ann", 1);
  // ann knows of the newer connection already; its node, where no one else listens, first shows the older one.
  older.subscribe("c");
  world.advance(STEP_MS);
  newer.socket.pongAfterMs = 0;
  newer.socket.pong();
  world.advance(STEP_MS);
  for (let i = 0; i < 3; i++) {
    newer.unsubscribe("c");
    world.advance(STEP_MS);
    newer.subscribe("c");
    world.advance(STEP_MS);
  }
  expect(ann.newFrames().filter((one) => one.startsWith("joined"))).toEqual(
    [1, 2, 1, 2, 1].map((v) => `joined: ben${v}`),
  );
});
