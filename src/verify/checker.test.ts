import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { pair, Scene } from "./testing/scene.ts";

test("messages received once and in order are no problem", () => {
  const { scene, ann, bob } = pair();
  scene.receive(bob, ann, 1, 2, 3);
  expect(scene.problems()).toEqual({});
  expect(scene.checker.deliveries).toBe(3);
});

test("messages that an open connection did not receive are lost, also if it received none", () => {
  const { scene, ann, bob } = pair();
  expect(scene.problems()).toEqual({ lost: "3: bob never got number 1–3 of ann in c" });
  scene.receive(bob, ann, 1, 3);
  expect(scene.problems()).toEqual({ lost: "1: bob never got number 2 of ann in c" });
});

test("a connection that ended may miss the last messages, but none in between", () => {
  const { scene, ann, bob } = pair();
  scene.publish(ann);
  scene.receive(bob, ann, 1, 3);
  scene.checker.closed(bob);
  scene.change(ann, [], ["bob"]);
  expect(scene.problems()).toEqual({ lost: "1: bob never got number 2 of ann in c" });
});

test("so may a connection that unsubscribed, and a new subscribe starts over", () => {
  const { scene, ann, bob } = pair();
  scene.receive(bob, ann, 1);
  scene.checker.unsubscribed(bob, "c");
  scene.change(ann, [], ["bob"]);
  scene.receive(bob, ann, 2);
  scene.publish(ann);
  scene.checker.subscribing(bob, "c");
  scene.checker.subscribed(bob, "c");
  scene.roster(bob, ["ann"]);
  scene.change(ann, ["bob"]);
  scene.publish(ann);
  scene.receive(bob, ann, 5);
  expect(scene.problems()).toEqual({});
});

test("messages sent before the ack of the subscribe may arrive or not", () => {
  const { scene, ann, bob } = pair();
  scene.receive(bob, ann, 1, 2, 3);
  const early = scene.open("eve");
  scene.checker.subscribing(early, "c");
  const late = scene.open("late");
  scene.checker.subscribing(late, "c");
  const number = scene.publish(ann);
  scene.receive(bob, ann, number);
  scene.receive(early, ann, number);
  for (const id of [early, late]) scene.checker.subscribed(id, "c");
  const next = scene.publish(ann);
  for (const id of [bob, early, late]) scene.receive(id, ann, next);
  scene.roster(early, ["ann", "bob", "late"]);
  scene.roster(late, ["ann", "bob", "eve"]);
  for (const id of [ann, bob]) scene.change(id, ["eve", "late"]);
  expect(scene.problems()).toEqual({});
});

test("messages of a sender that ended before the ack are not promised, but may arrive", () => {
  const { scene, ann, bob } = pair();
  scene.receive(bob, ann, 1, 2, 3);
  scene.checker.closed(ann);
  scene.change(bob, ["late"], ["ann"]);
  const late = scene.join("late", ["bob"]);
  scene.receive(late, ann, 3);
  expect(scene.problems()).toEqual({});
});

test("a message received twice is doubled, one after a later one is disordered, and each sender has its own order", () => {
  const { scene, ann, bob } = pair();
  const cid = scene.open("cid");
  for (let i = 0; i < 2; i++) scene.receive(ann, cid, scene.publish(cid));
  scene.receive(bob, ann, 2);
  scene.receive(bob, cid, 1);
  scene.receive(bob, ann, 1, 3);
  scene.receive(bob, cid, 2, 2);
  expect(scene.problems()).toEqual({
    doubled: "1: bob got number 2 of cid in c twice",
    disordered: "1: bob got number 1 of ann in c after number 2",
  });
});

test("two connections of one peer are two senders, with no order between them", () => {
  const { scene, ann, bob } = pair();
  const second = scene.open("ann");
  const number = scene.publish(second);
  scene.receive(ann, second, number);
  scene.receive(bob, ann, 1, 2);
  scene.receive(bob, second, number);
  scene.receive(bob, ann, 3);
  expect(scene.problems()).toEqual({});
});

test("a refused message must not arrive; without an answer it may arrive or not", () => {
  const { scene, ann, bob } = pair();
  const { checker } = scene;
  scene.receive(bob, ann, 1, 2, 3);
  const [refused, seen, unknown] = [1, 2, 3].map(() => checker.publishing(ann, "c"));
  checker.published(ann, "c", refused!, "refused");
  scene.receive(bob, ann, seen!);
  checker.published(ann, "c", seen!, "refused");
  checker.published(ann, "c", unknown!, "unknown");
  expect(scene.problems()).toEqual({ undone: "1: bob got number 5 of ann in c, which was refused to its sender" });
});

test("an open connection gets exactly one answer per request", () => {
  const { scene, ann, bob } = pair();
  scene.receive(bob, ann, 1, 2, 3);
  scene.checker.publishing(ann, "c");
  scene.checker.published(ann, "c", 3, "acked");
  expect(scene.problems()).toEqual({
    unanswered: "2: ann got a further answer to its number 3 in c; ann got no answer to its number 4 in c",
  });
  scene.checker.closed(ann);
  scene.change(bob, [], ["ann"]);
  expect(scene.problems()).toEqual({ unanswered: "1: ann got a further answer to its number 3 in c" });
});

test("own messages, forged messages and messages of other channels are strange", () => {
  const { scene, ann, bob } = pair();
  scene.receive(bob, ann, 1, 2, 3, 4);
  scene.receive(ann, ann, 1);
  const eve = scene.open("eve");
  scene.receive(eve, ann, 1);
  scene.checker.message(bob, "c", "bob", { connection: ann, number: 1 });
  expect(scene.problems().strange).toBe(
    "4: bob got number 4 of ann in c, which ann did not send; ann got number 1 of ann in c: its own; " +
      "eve got number 1 of ann in c, which it did not subscribe to",
  );
});

test("direct messages are judged in the same way, without a subscribe", () => {
  const scene = new Scene();
  const { checker } = scene;
  const [ann, bob] = [scene.open("ann"), scene.open("bob")];
  for (let n = 1; n <= 4; n++) checker.sent(ann, "bob", checker.sending(ann, "bob"), "acked");
  for (const number of [2, 1, 1, 3]) checker.direct(bob, "ann", { connection: ann, number });
  expect(scene.problems()).toEqual({
    lost: "1: bob never got number 4 of ann sent to bob directly",
    doubled: "1: bob got number 1 of ann sent to bob directly twice",
    disordered: "1: bob got number 1 of ann sent to bob directly after number 2",
  });
});

test("rosters are compared with the actual members", () => {
  const { scene, ann, bob } = pair();
  scene.receive(bob, ann, 1, 2, 3);
  scene.join("cid", ["ann", "bob"]);
  expect(scene.problems()).toEqual({ roster: "2: ann misses cid in c; bob misses cid in c" });
  scene.change(ann, ["cid"]);
  scene.change(bob, ["cid"]);
  expect(scene.problems()).toEqual({});
  scene.checker.closed(ann);
  expect(scene.problems()).toEqual({ roster: "2: bob still has ann in c; cid still has ann in c" });
  const silent = scene.open("dan");
  scene.checker.subscribing(silent, "c");
  scene.checker.subscribed(silent, "c");
  expect(scene.problems().roster).toContain("dan got no roster and misses bob, cid in c");
});

test("a roster in parts is one roster", () => {
  const scene = new Scene();
  const ann = scene.join("ann", ["bob"]);
  scene.roster(ann, ["cid"]);
  scene.join("bob", ["ann", "cid"]);
  scene.join("cid", ["ann", "bob"]);
  expect(scene.problems()).toEqual({});
});

test("a left without the end of a connection is a flap, also if a joined follows", () => {
  const { scene, ann, bob } = pair();
  scene.receive(bob, ann, 1, 2, 3);
  scene.change(bob, [], ["ann"]);
  scene.change(bob, ["ann"]);
  expect(scene.problems()).toEqual({ flapped: "1: bob was shown that ann left, which it did not, in c" });
  expect(scene.problems({ allowFlaps: true })).toEqual({});
});

test("others may see an end shortly before its client or long after it, but once", () => {
  const { scene, ann, bob } = pair();
  scene.receive(bob, ann, 1, 2, 3);
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
  expect(scene.problems()).toEqual({});
  scene.change(bob, [], ["ann"]);
  scene.nowMs += 10_000;
  scene.checker.closed(third);
  expect(scene.problems()).toEqual({ flapped: "1: bob was shown that ann left, which it did not, in c" });
});

test("a joined of a member, and a change before the roster, are reported", () => {
  const { scene, ann, bob } = pair();
  scene.receive(bob, ann, 1, 2, 3);
  scene.change(bob, ["ann"]);
  const cid = scene.open("cid");
  scene.checker.subscribing(cid, "c");
  scene.change(cid, ["ann"]);
  expect(scene.problems()).toEqual({
    flapped:
      "2: bob was shown that ann joined, which was a member already, in c; cid got a presence change before its roster, in c",
  });
});

test("a million deliveries take no memory", () => {
  const scene = new Scene();
  const names = Array.from({ length: 100 }, (_, at) => `p${at}`);
  const ids = names.map((name) =>
    scene.join(
      name,
      names.filter((other) => other !== name),
    ),
  );
  const sender = ids[0]!;
  const publishMany = (messages: number): number => {
    for (let i = 0; i < messages; i++) {
      const number = scene.publish(sender);
      for (const id of ids) if (id !== sender) scene.receive(id, sender, number);
    }
    Bun.gc(true);
    return heapStats().objectCount;
  };
  const before = publishMany(100);
  const after = publishMany(10_100);
  expect(scene.checker.deliveries).toBeGreaterThan(1_000_000);
  expect(scene.problems()).toEqual({});
  expect(after - before).toBeLessThan(10_000);
});
