import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { pair, Scene } from "./testing/scene.ts";

test("everything received once and in order is no problem", () => {
  const { scene, ann, bob } = pair();
  scene.hear(bob, ann, 1, 2, 3);
  expect(scene.found()).toEqual({});
  expect(scene.checker.deliveries).toBe(3);
});

test("what an open connection did not get is lost, also when it got nothing at all", () => {
  const { scene, ann, bob } = pair();
  expect(scene.found()).toEqual({ lost: "3: bob never got number 1–3 of ann in c" });
  scene.hear(bob, ann, 1, 3);
  expect(scene.found()).toEqual({ lost: "1: bob never got number 2 of ann in c" });
});

test("a connection that ended may miss the last ones, but none in between", () => {
  const { scene, ann, bob } = pair();
  scene.say(ann);
  scene.hear(bob, ann, 1, 3);
  scene.checker.closed(bob);
  scene.change(ann, [], ["bob"]);
  expect(scene.found()).toEqual({ lost: "1: bob never got number 2 of ann in c" });
});

test("so may one that unsubscribed, and it starts anew when it subscribes again", () => {
  const { scene, ann, bob } = pair();
  scene.hear(bob, ann, 1);
  scene.checker.unsubscribed(bob, "c");
  scene.change(ann, [], ["bob"]);
  scene.hear(bob, ann, 2);
  scene.say(ann);
  scene.checker.subscribing(bob, "c");
  scene.checker.subscribed(bob, "c");
  scene.roster(bob, ["ann"]);
  scene.change(ann, ["bob"]);
  scene.say(ann);
  scene.hear(bob, ann, 5);
  expect(scene.found()).toEqual({});
});

test("what was sent before the ack of the subscribe may come or not", () => {
  const { scene, ann, bob } = pair();
  scene.hear(bob, ann, 1, 2, 3);
  const early = scene.open("eve");
  scene.checker.subscribing(early, "c");
  const late = scene.open("late");
  scene.checker.subscribing(late, "c");
  const number = scene.say(ann);
  scene.hear(bob, ann, number);
  scene.hear(early, ann, number);
  for (const id of [early, late]) scene.checker.subscribed(id, "c");
  const next = scene.say(ann);
  for (const id of [bob, early, late]) scene.hear(id, ann, next);
  scene.roster(early, ["ann", "bob", "late"]);
  scene.roster(late, ["ann", "bob", "eve"]);
  for (const id of [ann, bob]) scene.change(id, ["eve", "late"]);
  expect(scene.found()).toEqual({});
});

test("of a sender that ended before the ack nothing is promised; a late word of it is welcome", () => {
  const { scene, ann, bob } = pair();
  scene.hear(bob, ann, 1, 2, 3);
  scene.checker.closed(ann);
  scene.change(bob, ["late"], ["ann"]);
  const late = scene.join("late", ["bob"]);
  scene.hear(late, ann, 3);
  expect(scene.found()).toEqual({});
});

test("twice is doubled; after a later one is disordered; each sender has an order of its own", () => {
  const { scene, ann, bob } = pair();
  const cid = scene.open("cid");
  for (let i = 0; i < 2; i++) scene.hear(ann, cid, scene.say(cid));
  scene.hear(bob, ann, 2);
  scene.hear(bob, cid, 1);
  scene.hear(bob, ann, 1, 3);
  scene.hear(bob, cid, 2, 2);
  expect(scene.found()).toEqual({
    doubled: "1: bob got number 2 of cid in c twice",
    disordered: "1: bob got number 1 of ann in c after number 2",
  });
});

test("one peer's two connections are two senders: nothing is promised about their order", () => {
  const { scene, ann, bob } = pair();
  const again = scene.open("ann");
  const number = scene.say(again);
  scene.hear(ann, again, number);
  scene.hear(bob, ann, 1, 2);
  scene.hear(bob, again, number);
  scene.hear(bob, ann, 3);
  expect(scene.found()).toEqual({});
});

test("what was refused must not be seen; without an answer it may be seen or not", () => {
  const { scene, ann, bob } = pair();
  const { checker } = scene;
  scene.hear(bob, ann, 1, 2, 3);
  const [refused, seen, unknown] = [1, 2, 3].map(() => checker.publishing(ann, "c"));
  checker.published(ann, "c", refused!, "refused");
  scene.hear(bob, ann, seen!);
  checker.published(ann, "c", seen!, "refused");
  checker.published(ann, "c", unknown!, "unknown");
  expect(scene.found()).toEqual({ undone: "1: bob got number 5 of ann in c, which the sender was told had failed" });
});

test("an open connection is owed exactly one answer", () => {
  const { scene, ann, bob } = pair();
  scene.hear(bob, ann, 1, 2, 3);
  scene.checker.publishing(ann, "c");
  scene.checker.published(ann, "c", 3, "acked");
  expect(scene.found()).toEqual({
    unanswered: "2: ann got a further answer to its number 3 in c; ann got no answer to its number 4 in c",
  });
  scene.checker.closed(ann);
  scene.change(bob, [], ["ann"]);
  expect(scene.found()).toEqual({ unanswered: "1: ann got a further answer to its number 3 in c" });
});

test("one's own, a stranger's, and what one did not subscribe to are strange", () => {
  const { scene, ann, bob } = pair();
  scene.hear(bob, ann, 1, 2, 3, 4);
  scene.hear(ann, ann, 1);
  const eve = scene.open("eve");
  scene.hear(eve, ann, 1);
  scene.checker.message(bob, "c", "bob", { connection: ann, number: 1 });
  expect(scene.found().strange).toBe(
    "4: bob got number 4 of ann in c, which ann did not send; ann got number 1 of ann in c: its own; " +
      "eve got number 1 of ann in c, which it did not subscribe to",
  );
});

test("direct messages are judged alike, without a subscribe", () => {
  const scene = new Scene();
  const { checker } = scene;
  const [ann, bob] = [scene.open("ann"), scene.open("bob")];
  for (let n = 1; n <= 4; n++) checker.sent(ann, "bob", checker.sending(ann, "bob"), "acked");
  for (const number of [2, 1, 1, 3]) checker.direct(bob, "ann", { connection: ann, number });
  expect(scene.found()).toEqual({
    lost: "1: bob never got number 4 of ann sent to bob directly",
    doubled: "1: bob got number 1 of ann sent to bob directly twice",
    disordered: "1: bob got number 1 of ann sent to bob directly after number 2",
  });
});

test("rosters are held against who is there", () => {
  const { scene, ann, bob } = pair();
  scene.hear(bob, ann, 1, 2, 3);
  scene.join("cid", ["ann", "bob"]);
  expect(scene.found()).toEqual({ roster: "2: ann misses cid in c; bob misses cid in c" });
  scene.change(ann, ["cid"]);
  scene.change(bob, ["cid"]);
  expect(scene.found()).toEqual({});
  scene.checker.closed(ann);
  expect(scene.found()).toEqual({ roster: "2: bob still has ann in c; cid still has ann in c" });
  const silent = scene.open("dan");
  scene.checker.subscribing(silent, "c");
  scene.checker.subscribed(silent, "c");
  expect(scene.found().roster).toContain("dan got no roster and misses bob, cid in c");
});

test("a roster in parts is one roster", () => {
  const scene = new Scene();
  const ann = scene.join("ann", ["bob"]);
  scene.roster(ann, ["cid"]);
  scene.join("bob", ["ann", "cid"]);
  scene.join("cid", ["ann", "bob"]);
  expect(scene.found()).toEqual({});
});

test("a left without an end is a flap, whether or not it is taken back", () => {
  const { scene, ann, bob } = pair();
  scene.hear(bob, ann, 1, 2, 3);
  scene.change(bob, [], ["ann"]);
  scene.change(bob, ["ann"]);
  expect(scene.found()).toEqual({ flapped: "1: bob was told that ann left, who did not, in c" });
  expect(scene.found({ allowFlaps: true })).toEqual({});
});

test("others may hear of an end a little before it is seen, and long after, but once", () => {
  const { scene, ann, bob } = pair();
  scene.hear(bob, ann, 1, 2, 3);
  scene.change(bob, [], ["ann"]);
  scene.nowMs += 1000;
  scene.checker.closed(ann);
  const back = scene.join("ann", ["bob"]);
  scene.change(bob, ["ann"]);
  scene.checker.closed(back);
  scene.nowMs += 80_000;
  const third = scene.join("ann", ["bob"]);
  scene.change(bob, [], ["ann"]);
  scene.change(bob, ["ann"]);
  expect(scene.found()).toEqual({});
  scene.change(bob, [], ["ann"]);
  scene.nowMs += 10_000;
  scene.checker.closed(third);
  expect(scene.found()).toEqual({ flapped: "1: bob was told that ann left, who did not, in c" });
});

test("joined twice, and a change before the roster, are told", () => {
  const { scene, ann, bob } = pair();
  scene.hear(bob, ann, 1, 2, 3);
  scene.change(bob, ["ann"]);
  const cid = scene.open("cid");
  scene.checker.subscribing(cid, "c");
  scene.change(cid, ["ann"]);
  expect(scene.found()).toEqual({
    flapped:
      "2: bob was told that ann joined, who was there already, in c; cid was told of a change before its roster, in c",
  });
});

test("a million deliveries leave nothing behind", () => {
  const scene = new Scene();
  const names = Array.from({ length: 100 }, (_, at) => `p${at}`);
  const ids = names.map((name) =>
    scene.join(
      name,
      names.filter((other) => other !== name),
    ),
  );
  const speaker = ids[0]!;
  const talk = (messages: number): number => {
    for (let i = 0; i < messages; i++) {
      const number = scene.say(speaker);
      for (const id of ids) if (id !== speaker) scene.hear(id, speaker, number);
    }
    Bun.gc(true);
    return heapStats().objectCount;
  };
  const before = talk(100);
  const after = talk(10_100);
  expect(scene.checker.deliveries).toBeGreaterThan(1_000_000);
  expect(scene.found()).toEqual({});
  expect(after - before).toBeLessThan(10_000);
});
