import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { pair, Scene } from "./testing/scene.ts";

test("lost messages are still reported after pruning, and counted once", () => {
  const { scene, ann, bob } = pair();
  scene.receive(bob, ann, 1, 3);
  scene.checker.closed(ann);
  scene.change(bob, [], ["ann"]);
  scene.nowMs = 100_000;
  scene.checker.prune(60_000);
  scene.checker.prune(60_000);
  expect(scene.problems()).toEqual({ lost: "1: bob never got number 2 of ann in c" });
  expect(scene.checker.certain).toHaveLength(1);
});

test("messages that never arrived from a sender that ended are still lost after pruning", () => {
  const { scene, ann, bob } = pair();
  scene.receive(bob, ann, 1, 2, 3);
  const eve = scene.open("eve");
  scene.publish(eve);
  scene.checker.closed(eve);
  scene.nowMs = 100_000;
  scene.checker.prune(60_000);
  expect(scene.problems()).toEqual({
    lost: "2: ann never got number 1 of eve in c; bob never got number 1 of eve in c",
  });
});

test("a connection that ended a moment ago is not pruned, because its last messages may still arrive", () => {
  const { scene, ann, bob } = pair();
  scene.nowMs = 1000;
  scene.checker.closed(ann);
  scene.change(bob, [], ["ann"]);
  scene.nowMs = 2000;
  scene.checker.prune(60_000);
  scene.receive(bob, ann, 1, 2, 3);
  expect(scene.problems()).toEqual({});
});

test("a subscriber that ended is judged when the last answer has arrived", () => {
  const { scene, ann, bob } = pair();
  const number = scene.checker.publishing(ann, "c");
  scene.publish(ann);
  scene.receive(bob, ann, 1, 2, 3, number + 1);
  scene.checker.closed(bob);
  scene.change(ann, [], ["bob"]);
  scene.nowMs = 100_000;
  scene.checker.prune(60_000);
  scene.checker.published(ann, "c", number, "acked");
  scene.checker.prune(60_000);
  expect(scene.problems()).toEqual({ lost: `1: bob never got number ${number} of ann in c` });
});

test("later connections are judged as before, and what those that ended have received is not kept", () => {
  const scene = new Scene();
  const ann = scene.join("ann");
  const visit = (peer: string): void => {
    const guest = scene.join(peer, ["ann"]);
    scene.change(ann, [peer]);
    const number = scene.publish(ann);
    scene.receive(guest, ann, number);
    scene.receive(ann, guest, scene.publish(guest));
    scene.checker.closed(guest);
    scene.change(ann, [], [peer]);
    scene.nowMs += 100_000;
    scene.checker.prune(60_000);
  };
  const count = (): number => heapStats().objectTypeCounts.Track ?? 0;
  for (let i = 0; i < 100; i++) visit(`guest-${i % 7}`);
  Bun.gc(true);
  const before = count();
  for (let i = 0; i < 1000; i++) visit(`guest-${i % 7}`);
  Bun.gc(true);
  expect(count() - before).toBeLessThan(20);
  expect(scene.problems()).toEqual({});
});
