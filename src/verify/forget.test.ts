import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { pair, Scene } from "./testing/scene.ts";

test("what was lost stays lost when it is forgotten, and is counted once", () => {
  const { scene, ann, bob } = pair();
  scene.hear(bob, ann, 1, 3);
  scene.checker.closed(ann);
  scene.change(bob, [], ["ann"]);
  scene.nowMs = 100_000;
  scene.checker.forget(60_000);
  scene.checker.forget(60_000);
  expect(scene.found()).toEqual({ lost: "1: bob never got number 2 of ann in c" });
  expect(scene.checker.certain).toHaveLength(1);
});

test("a listener who got nothing of a sender who is gone is owed all of it, also when that is forgotten", () => {
  const { scene, ann, bob } = pair();
  scene.hear(bob, ann, 1, 2, 3);
  const eve = scene.open("eve");
  scene.say(eve);
  scene.checker.closed(eve);
  scene.nowMs = 100_000;
  scene.checker.forget(60_000);
  expect(scene.found()).toEqual({ lost: "2: ann never got number 1 of eve in c; bob never got number 1 of eve in c" });
});

test("what ended a moment ago is not forgotten: its last messages may still come", () => {
  const { scene, ann, bob } = pair();
  scene.nowMs = 1000;
  scene.checker.closed(ann);
  scene.change(bob, [], ["ann"]);
  scene.nowMs = 2000;
  scene.checker.forget(60_000);
  scene.hear(bob, ann, 1, 2, 3);
  expect(scene.found()).toEqual({});
});

test("a listener who is gone is judged when the last answer has come", () => {
  const { scene, ann, bob } = pair();
  const number = scene.checker.publishing(ann, "c");
  scene.say(ann);
  scene.hear(bob, ann, 1, 2, 3, number + 1);
  scene.checker.closed(bob);
  scene.change(ann, [], ["bob"]);
  scene.nowMs = 100_000;
  scene.checker.forget(60_000);
  scene.checker.published(ann, "c", number, "acked");
  scene.checker.forget(60_000);
  expect(scene.found()).toEqual({ lost: `1: bob never got number ${number} of ann in c` });
});

test("who comes later is judged as before, and memory does not grow with connections that ended", () => {
  const scene = new Scene();
  const ann = scene.join("ann");
  const come = (peer: string): void => {
    const guest = scene.join(peer, ["ann"]);
    scene.change(ann, [peer]);
    const said = scene.say(ann);
    scene.hear(guest, ann, said);
    scene.hear(ann, guest, scene.say(guest));
    scene.checker.closed(guest);
    scene.change(ann, [], [peer]);
    scene.nowMs += 100_000;
    scene.checker.forget(60_000);
  };
  const count = (): number => heapStats().objectTypeCounts.Track ?? 0;
  for (let i = 0; i < 100; i++) come(`guest-${i % 7}`);
  Bun.gc(true);
  const before = count();
  for (let i = 0; i < 1000; i++) come(`guest-${i % 7}`);
  Bun.gc(true);
  expect(count() - before).toBeLessThan(20);
  expect(scene.found()).toEqual({});
});
