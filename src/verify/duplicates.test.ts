/** Acks of publishes that were repeated on a channel with history. */
import { expect, test } from "bun:test";
import { pos, StoredScene } from "./testing/stored-scene.ts";

test("a duplicate's ack with a position ahead of what has arrived", () => {
  const scene = new StoredScene();
  const first = scene.checker.publishing(scene.ann, "c");
  scene.checker.closed(scene.ann);
  const [returned, eve] = [scene.follow("ann"), scene.open("eve")];
  scene.store(2, eve);
  const mark = { connection: scene.ann, number: first };
  scene.checker.retrying(returned, "c", mark);
  scene.checker.retried(returned, "c", mark, { pos: pos(3), isDuplicate: true });
  expect(scene.findings.ahead).toBe("2: ann never got offset 1–2 in c, and an ack said that it was past it");
});

test("messages of others that arrive behind a duplicate's ack", () => {
  const scene = new StoredScene();
  const bob = scene.follow("bob");
  const number = scene.checker.publishing(bob, "c");
  scene.store(2);
  scene.checker.retrying(bob, "c", { connection: bob, number });
  scene.checker.retried(bob, "c", { connection: bob, number }, { pos: pos(3), isDuplicate: true });
  scene.live(bob, 1, 2);
  expect(scene.findings.ahead).toStartWith(
    "2: bob got number 1 of ann in c at offset 1, behind the ack of a later one",
  );
});

test("duplicates' acks of messages that follow each other, which their publisher does not get", () => {
  const scene = new StoredScene();
  const first = scene.follow("bob");
  const numbers = [1, 2, 3].map(() => scene.checker.publishing(first, "c"));
  const bob = scene.resume(first, "bob", pos(0), {});
  for (const number of numbers) {
    const mark = { connection: first, number };
    scene.checker.retrying(bob, "c", mark);
    scene.checker.retried(bob, "c", mark, { pos: pos(number), isDuplicate: true });
  }
  expect(scene.findings).toEqual({});
});
