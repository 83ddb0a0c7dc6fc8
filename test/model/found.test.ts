/** What the model has found, each as short as it can be told. */
import { expect, test } from "bun:test";
import { LateAnswers } from "../../src/realtime/late-engine.ts";
import { SECRET_KEY, World } from "../../src/realtime/test-kit.ts";

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
