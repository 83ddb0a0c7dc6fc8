import { expect, test } from "bun:test";
import { pos, StoredScene } from "./testing/stored-scene.ts";

test("messages from the ack's position on, once and in order, are no problem", () => {
  const scene = new StoredScene();
  scene.store(2);
  const bob = scene.follow("bob");
  scene.store(3);
  scene.live(bob, 3, 4, 5);
  expect(scene.findings).toEqual({});
  expect(scene.checker.hasHistory("c")).toBeTrue();
});

test("a recovery replays what was missed, and is counted", () => {
  const scene = new StoredScene();
  const first = scene.follow("bob");
  scene.store(5);
  scene.live(first, 1, 2);
  const bob = scene.resume(first, "bob", pos(2), { replay: 3 });
  scene.replayed(bob, 3, 4, 5);
  scene.store();
  scene.live(bob, 6);
  expect(scene.findings).toEqual({});
  expect(scene.checker.recoveries).toEqual({ recovered: 1, unrecovered: 0, replayed: 3 });
});

test("after recovered: false a subscription starts at the ack's position", () => {
  const scene = new StoredScene();
  const first = scene.follow("bob");
  scene.store(5);
  scene.live(first, 1);
  const bob = scene.resume(first, "bob", pos(1), { recovered: false });
  scene.store();
  scene.live(bob, 6);
  expect(scene.findings).toEqual({});
  expect(scene.checker.recoveries).toEqual({ recovered: 0, unrecovered: 1, replayed: 0 });
});

test("a hole in a live subscription, and in a recovery", () => {
  const scene = new StoredScene();
  const first = scene.follow("bob");
  scene.store(6);
  scene.live(first, 1, 3);
  const bob = scene.resume(first, "bob", pos(3), { replay: 2 });
  scene.replayed(bob, 4, 6);
  expect(scene.findings).toEqual({
    hole: "2: bob never got offset 2 in c; bob, which resumed from e1.3.k3, never got offset 5 in c",
  });
});

test("the newest messages that an open subscription never got are lost; a connection that ended may miss them", () => {
  const scene = new StoredScene();
  const [bob, cid] = [scene.follow("bob"), scene.follow("cid")];
  scene.store(3);
  scene.live(bob, 1);
  scene.checker.closed(cid);
  expect(scene.findings).toEqual({ lost: "2: bob never got offset 2–3 in c, the newest" });
});

test("a recovery that is not followed by its messages is lost and miscounted", () => {
  const scene = new StoredScene();
  const first = scene.follow("bob");
  scene.store(2);
  scene.resume(first, "bob", pos(0), { replay: 2 });
  expect(scene.findings).toEqual({
    lost: "2: bob, which resumed from e1.0.0, never got offset 1–2 in c, the newest",
    miscounted: "1: bob, which resumed from e1.0.0, never got 2 of the replayed messages in c",
  });
});

test("a message twice, out of order, and from before the position", () => {
  const scene = new StoredScene();
  const first = scene.follow("bob");
  scene.store(6);
  scene.live(first, 1, 2);
  const bob = scene.resume(first, "bob", pos(2), { replay: 6 });
  scene.replayed(bob, 2, 3, 3, 5, 4, 6);
  expect(scene.findings).toEqual({
    doubled: "1: bob got number 3 of ann in c at offset 3 twice",
    disordered: "1: bob got number 4 of ann in c at offset 4, behind offset 5",
    stale: "1: bob got number 2 of ann in c at offset 2, in a subscription from 2 on",
    miscounted: expect.any(String),
  });
});

test("a message before the ack of the first subscribe is stale; of a further one it may be of the earlier", () => {
  const scene = new StoredScene();
  scene.store(2);
  const bob = scene.open("bob");
  scene.checker.subscribing(bob, "c");
  scene.live(bob, 2);
  expect(scene.findings).toEqual({ stale: "1: bob got number 2 of ann in c before the ack of its subscribe" });
  const other = new StoredScene();
  const cid = other.follow("cid");
  other.store(2);
  other.live(cid, 1);
  other.checker.unsubscribed(cid, "c");
  other.checker.subscribing(cid, "c", { pos: pos(1), without: undefined });
  other.live(cid, 2);
  other.checker.subscribed(cid, "c", { pos: pos(2), recovered: true, replay: 1 });
  other.replayed(cid, 2);
  expect(other.findings).toEqual({});
});

test("a position is one message everywhere, and a message has one position", () => {
  const scene = new StoredScene();
  const [bob, cid] = [scene.follow("bob"), scene.follow("cid")];
  scene.store(3);
  scene.live(bob, 1, 2, 3);
  scene.arrive(cid, 1, { number: 2 });
  scene.arrive(cid, 2, { at: "e1.2.other" });
  scene.live(cid, 3);
  expect(scene.findings.split).toBe(
    "2: cid got number 2 of ann in c at offset 1, which is number 1 of connection 1 as well; " +
      "cid got number 2 of ann in c at offset 2 with the check other, which was k2 before",
  );
  scene.store();
  scene.top = 9;
  scene.arrive(bob, 10, { number: 4 });
  expect(scene.findings.split).toContain("bob got number 4 of ann in c at offset 10, which was at offset 4 before");
});

test("a new epoch needs a new subscription", () => {
  const scene = new StoredScene();
  const [bob, cid] = [scene.follow("bob"), scene.follow("cid")];
  scene.store(1);
  scene.live(bob, 1);
  scene.live(cid, 1);
  const number = scene.checker.publishing(scene.ann, "c");
  scene.checker.published(scene.ann, "c", number, "acked", { pos: "e2.1.k", isDuplicate: false });
  scene.arrive(bob, 1, { number, at: "e2.1.k" });
  expect(scene.findings).toEqual({
    split: "1: bob got number 2 of ann in c, of epoch e2 in a subscription of epoch e1",
    lost: "2: bob is still in epoch e1 in c, which is in e2; cid is still in epoch e1 in c, which is in e2",
  });
});

test.each([
  ["e1.1.other", pos(2), "recovered from e1.1.other, where the check is k1"],
  [pos(1, "e0"), pos(2), "recovered over a new epoch, from e0.1.k1 to e1.2.k2"],
  ["nonsense", pos(2), "recovered from no position, nonsense"],
])("recovered: true from %s", (from, at, sentence) => {
  const scene = new StoredScene();
  const first = scene.follow("bob");
  scene.store(2);
  const bob = scene.resume(first, "bob", from, { pos: at, replay: 1 });
  scene.replayed(bob, 2);
  expect(scene.findings.hole).toContain(`bob got the ack of a subscribe in c: ${sentence}`);
});

test("messages of one connection have the order in which it sent them, unless they were retried", () => {
  const scene = new StoredScene();
  const bob = scene.follow("bob");
  const [a, b] = [scene.checker.publishing(scene.ann, "c"), scene.checker.publishing(scene.ann, "c")];
  scene.arrive(bob, 1, { number: b });
  scene.arrive(bob, 2, { number: a });
  expect(scene.findings.disordered).toBe("1: bob got number 1 of ann in c behind number 2");
  const other = new StoredScene();
  const cid = other.follow("cid");
  const [c, d] = [other.checker.publishing(other.ann, "c"), other.checker.publishing(other.ann, "c")];
  other.checker.published(other.ann, "c", c, "unknown");
  other.checker.retrying(other.ann, "c", { connection: other.ann, number: c });
  other.arrive(cid, 1, { number: d });
  other.checker.published(other.ann, "c", d, "acked", { pos: pos(1), isDuplicate: false });
  other.arrive(cid, 2, { number: c });
  other.checker.retried(other.ann, "c", { connection: other.ann, number: c }, { pos: pos(2), isDuplicate: false });
  expect(other.findings).toEqual({});
});

test("own messages do not arrive, and the offsets they take are no holes", () => {
  const scene = new StoredScene();
  const bob = scene.follow("bob");
  scene.store();
  scene.store(2, bob);
  scene.store();
  scene.live(bob, 1);
  scene.arrive(bob, 4, { number: 2 });
  expect(scene.findings).toEqual({
    ahead: "1: bob got number 1 of ann in c at offset 1, behind the ack of a later one",
  });
  const other = new StoredScene();
  const cid = other.follow("cid");
  other.store();
  other.live(cid, 1);
  const unknown = other.checker.publishing(cid, "c");
  other.top++;
  other.store();
  other.arrive(cid, 3, { number: 2 });
  expect(other.findings).toEqual({ unanswered: expect.any(String) });
  // A client that takes the last position it saw would go back.
  other.checker.published(cid, "c", unknown, "acked", { pos: pos(2), isDuplicate: false });
  expect(other.findings).toEqual({
    ahead: "1: cid got the ack of number 1 in c at offset 2, behind the message at offset 3",
  });
});

test("an ack whose position is ahead of messages that never arrive", () => {
  const scene = new StoredScene();
  const bob = scene.follow("bob");
  scene.store(1);
  scene.store(1, bob);
  expect(scene.findings).toEqual({
    ahead: "1: bob never got offset 1 in c, and an ack said that it was past it",
  });
});

test("own messages of the earlier connection must not be replayed; one that was not acked may arrive live", () => {
  const scene = new StoredScene();
  const witness = scene.follow("cid");
  const [one, two] = [scene.checker.publishing(scene.ann, "c"), scene.checker.publishing(scene.ann, "c")];
  scene.arrive(witness, 1, { number: one });
  scene.arrive(witness, 2, { number: two });
  scene.top = 2;
  const returned = scene.resume(scene.ann, "ann", pos(0), { replay: 1, pos: pos(1) });
  scene.arrive(returned, 1, { number: one, isReplay: true });
  scene.arrive(returned, 2, { number: two });
  expect(scene.findings).toEqual({
    echoed: "1: ann got number 1 of ann in c, replayed, which its earlier connection has published",
  });
});

test("an offset that only the earlier connection can have published is no hole", () => {
  const scene = new StoredScene();
  const first = scene.follow("bob");
  scene.checker.publishing(first, "c");
  scene.store(1);
  scene.top = 2;
  const bob = scene.resume(first, "bob", pos(0), { replay: 1 });
  scene.arrive(bob, 1, { number: 1, isReplay: true });
  scene.top = 2;
  scene.store(1);
  scene.arrive(bob, 3, { number: 2 });
  expect(scene.findings).toEqual({});
});

test("a retried message is stored once, and arrives from either connection", () => {
  const scene = new StoredScene();
  const bob = scene.follow("bob");
  const number = scene.checker.publishing(scene.ann, "c");
  scene.checker.closed(scene.ann);
  const returned = scene.follow("ann");
  const mark = { connection: scene.ann, number };
  scene.checker.retrying(returned, "c", mark);
  scene.arrive(bob, 1, { number });
  scene.arrive(returned, 1, { number });
  scene.checker.retried(returned, "c", mark, { pos: pos(1), isDuplicate: true });
  expect(scene.findings).toEqual({});
  scene.arrive(bob, 2, { number });
  expect(scene.findings).toEqual({
    split: "1: bob got number 1 of ann in c at offset 2, which was at offset 1 before",
  });
});

test("replayed messages are those that were announced, before any live one", () => {
  const scene = new StoredScene();
  const first = scene.follow("bob");
  scene.store(4);
  const bob = scene.resume(first, "bob", pos(0), { replay: 3 });
  scene.replayed(bob, 1, 2);
  scene.live(bob, 3);
  scene.replayed(bob, 4);
  expect(scene.findings).toEqual({
    miscounted:
      "2: bob got number 3 of ann in c as a live one, with 1 replayed ones to come; " +
      "bob got number 4 of ann in c as a replayed one, of which no more were announced",
  });
});

test.each([[{ recovered: false, replay: 2 }], [{ recovered: undefined }]])(
  "a recovery that is answered with %j is miscounted",
  (answer) => {
    const scene = new StoredScene();
    const first = scene.follow("bob");
    scene.store(1);
    scene.live(first, 1);
    scene.resume(first, "bob", pos(1), answer);
    expect(scene.findings.miscounted).toStartWith("1: bob got the ack of a subscribe in c: ");
  },
);

test("times do not decrease, and are the same for all subscribers", () => {
  const scene = new StoredScene();
  const [bob, cid] = [scene.follow("bob"), scene.follow("cid")];
  scene.store(2);
  scene.arrive(bob, 1, { timeMs: 50 });
  scene.arrive(bob, 2, { timeMs: 49 });
  scene.arrive(cid, 1, { timeMs: 51 });
  scene.arrive(cid, 2, { timeMs: 49 });
  expect(scene.findings).toEqual({
    backwards:
      "2: bob got number 2 of ann in c with the time 49, which is before 50 of the message before it; " +
      "cid got number 1 of ann in c with the time 51, which was 50 before",
  });
});

test("every ack and every message of a channel with history has a position", () => {
  const scene = new StoredScene();
  const bob = scene.follow("bob");
  const cid = scene.open("cid");
  scene.checker.subscribing(cid, "c");
  scene.checker.subscribed(cid, "c");
  const number = scene.checker.publishing(scene.ann, "c");
  scene.checker.published(scene.ann, "c", number, "acked");
  scene.receive(bob, scene.ann, number);
  scene.arrive(bob, 1, { number, at: "1" });
  expect(scene.findings.unplaced).toStartWith("4: cid got the ack of a subscribe in c without a position; ");
});

test("a refused message must not be stored", () => {
  const scene = new StoredScene();
  const bob = scene.follow("bob");
  const [seen, before] = [scene.checker.publishing(scene.ann, "c"), scene.checker.publishing(scene.ann, "c")];
  scene.arrive(bob, 1, { number: seen });
  scene.checker.published(scene.ann, "c", seen, "refused");
  scene.checker.published(scene.ann, "c", before, "refused");
  scene.arrive(bob, 2, { number: before });
  expect(scene.findings).toEqual({
    undone:
      "2: ann was refused number 1 in c, which is stored; bob got number 2 of ann in c, which was refused to its sender",
  });
});
