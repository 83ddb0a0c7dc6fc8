import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { turn, World } from "../testing/kit.ts";
import { LINGERING_PER_APP_MAX } from "./limits.ts";

const BUSY = anAppId("busy");
const QUIET = anAppId("quiet");
const APP = anAppId("app");

test("an application holds at most its share of a node's peers, and another one still can", () => {
  const { holds } = new World().node.hub;
  const untilMs = Date.now() * 2;
  for (let n = 0; n <= LINGERING_PER_APP_MAX; n++) holds.inherit(BUSY, `p${n}`, untilMs, "key");
  holds.inherit(QUIET, "ann", untilMs, "key");
  expect(holds.size).toBe(LINGERING_PER_APP_MAX + 1);
  expect([`p${LINGERING_PER_APP_MAX}`, "p0"].map((peer) => holds.isHeld(BUSY, peer))).toEqual([false, true]);
  expect(holds.isHeld(QUIET, "ann")).toBe(true);
  holds.end(BUSY, "p0");
  holds.inherit(BUSY, "one more", untilMs, "key");
  expect(holds.isHeld(BUSY, "one more")).toBe(true);
});

test("a hold ends soon when the peer connects to another node, also if it is in no channel", async () => {
  const world = new World({ nodes: 2 });
  const ben = world.connect("ben", { node: 1 });
  world.connect("ann", { expiresInMs: 2000 });
  world.advance(2000);
  const { holds } = world.node.hub;
  expect(holds.isHeld(APP, "ann")).toBe(true);
  const ann = world.connect("ann", { node: 1 });
  world.advance(500);
  // Messages that know of this node only may still arrive.
  expect([holds.isHeld(APP, "ann"), [...holds.all]]).toEqual([true, []]);
  world.advance(1500);
  expect(holds.isHeld(APP, "ann")).toBe(false);
  ann.socket.close(1000, "");
  ben.send("ann", 1);
  await turn();
  expect(ben.newFrames()).toEqual(["error peer_not_found r1"]);
});

test("a peer that another node has expected is not held here if it is connected", () => {
  const world = new World();
  world.connect("ann");
  world.node.hub.holds.inherit(APP, "ann", world.clock.steadyMs() + 10_000, "key");
  expect(world.node.hub.holds.size).toBe(0);
});
