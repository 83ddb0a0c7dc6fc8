/** What the model has found, each as short as it can be told. */
import { expect, test } from "bun:test";
import { LateAnswers } from "../../src/realtime/late-engine.ts";
import { type Client, SECRET_KEY, World } from "../../src/realtime/test-kit.ts";

/** Joins and leaves so often, each time long enough for a pong and a tick. */
function flap(world: World, client: Client, times: number): void {
  for (let i = 0; i < times; i++) {
    client.subscribe("c");
    world.advance(30);
    client.unsubscribe("c");
    world.advance(30);
  }
}

test("a subscribe that an edit of the key ends while the engine is asked is not acked any more", () => {
  const late = new LateAnswers();
  const world = new World({ engine: late.between });
  const ann = world.connect("ann");
  ann.subscribe("b/1");
  world.editKey(SECRET_KEY, { channelPatterns: ["a/*"] });
  late.releaseAll();
  expect(ann.news()).not.toContain("ack r1");
});

test("a peer has not left when one connection goes and another still waits for its roster", () => {
  const world = new World();
  const ben = world.join("ben", "c");
  // The first of ann's waits for a pong; the second is quick, makes her known, and goes.
  world.connect("ann", { pongAfterMs: undefined }).subscribe("c");
  const quick = world.connect("ann");
  quick.subscribe("c");
  world.advance(50);
  expect(ben.news()).toEqual(["joined: ann"]);
  quick.vanish();
  world.advance(100);
  expect(ben.news()).toEqual([]);
});

test("changes that are shown only to one that was told something alone count against the limit of changes", () => {
  const world = new World();
  const ann = world.join("ann", "c");
  const cat = world.connect("cat").holdPongs();
  cat.subscribe("c");
  cat.send("ann", 1);
  ann.take();
  // Until cat has its roster, ann is told of changes alone, and nobody else is.
  flap(world, world.connect("ben"), 7);
  expect(ann.news()).toEqual(["joined: ben", "left: ben", "joined: ben", "left: ben", "joined: ben"]);
});
