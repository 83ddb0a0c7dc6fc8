import { expect, test } from "bun:test";
import type { PageEntry } from "./frames.ts";
import { pos, StoredScene } from "./testing/stored-scene.ts";

test("what a subscription missed is still reported after pruning, and messages of a pruned sender may be replayed", () => {
  const scene = new StoredScene();
  const first = scene.follow("bob");
  scene.store(3);
  scene.live(first, 1, 3);
  scene.checker.closed(scene.ann);
  scene.checker.closed(first);
  scene.nowMs = 100_000;
  scene.checker.prune(60_000);
  const bob = scene.resume(first, "bob", pos(2), { replay: 1 });
  scene.replayed(bob, 3);
  expect(scene.findings).toEqual({ hole: "1: bob never got offset 2 in c" });
});

test("a message whose outcome its sender never knew may be stored long after the end of its connection", () => {
  const scene = new StoredScene();
  const bob = scene.follow("bob");
  const number = scene.checker.publishing(scene.ann, "c");
  scene.checker.closed(scene.ann);
  scene.nowMs = 100_000;
  scene.checker.prune(60_000);
  scene.arrive(bob, 1, { number });
  expect(scene.findings).toEqual({});
});

test("a page of history has every message between its ends, at the positions that subscribers have seen", () => {
  const scene = new StoredScene();
  const bob = scene.follow("bob");
  scene.store(5);
  scene.live(bob, 1, 2, 3, 4, 5);
  const entry = (offset: number, number = offset): PageEntry => ({
    from: "ann",
    mark: { connection: scene.ann, number },
    stored: { pos: pos(offset), timeMs: 1000 + offset, isReplay: false },
  });
  scene.checker.page(bob, "c", [entry(5), entry(4), entry(3)]);
  expect(scene.findings).toEqual({});
  scene.checker.page(bob, "c", [entry(5), entry(3)]);
  scene.checker.page(bob, "c", [entry(2, 1)]);
  scene.checker.page(bob, "c", [{ ...entry(1), stored: undefined }]);
  expect(scene.findings).toEqual({
    hole: "1: bob read number 3 of ann in c from the history at e1.3.k3, beside offset 5",
    split: "1: bob read number 1 of ann in c from the history at offset 2, which is number 2 of connection 1 as well",
    unplaced: "1: bob read number 1 of ann in c from the history without a position",
  });
});
