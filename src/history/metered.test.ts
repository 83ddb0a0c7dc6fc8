import { expect, test } from "bun:test";
import { anAppId } from "../base/testing/ids.ts";
import { Metrics } from "../telemetry/metrics.ts";
import { messageBytes } from "./contract/size.ts";
import { MeteredHistory } from "./metered.ts";
import { batchOfWrites, created, messagesFor, producer, write, writeOf } from "./testing/created-kit.ts";
import { batchOf, KEEP, message } from "./testing/kit.ts";
import { openMemoryHistory } from "./testing/memory.ts";
import { UnreliableHistory } from "./testing/unreliable.ts";

function setup() {
  const unreliable = new UnreliableHistory(openMemoryHistory());
  const metrics = new Metrics();
  const changes: string[] = [];
  let nowMs = 0;
  const history = new MeteredHistory(unreliable, metrics, {
    changed: (canStore, error) => changes.push(canStore ? "stores again" : `${error}`),
    monotonicMs: () => nowMs,
  });
  const wait = (ms: number): void => {
    nowMs += ms;
  };
  const value = (name: string, of = "history"): number => {
    const line = metrics
      .text()
      .split("\n")
      .find((one) => one.startsWith(`parley_${of}_${name} `));
    return Number(line?.split(" ")[1]);
  };
  return { unreliable, history, value, changes, wait };
}

test("stored messages, duplicates, bytes and batches are counted", async () => {
  const { history, value } = setup();
  await history.append(batchOf({ id: "i" }, {}));
  await history.append(batchOf({ id: "i" }));
  expect([value("messages_total"), value("duplicates_total"), value("batches_total")]).toEqual([2, 1, 2]);
  expect(value("bytes_total")).toBe(messageBytes(message({ id: "i" })) + messageBytes(message()));
});

test("writes over HTTP are counted with what became of them, and with what they stored", async () => {
  const { history, value } = setup();
  await created(history.created, {}, ["a"]);
  await history.created.write(
    batchOfWrites(writeOf(["b", "c"], { producer: producer(0, 0) }), writeOf([], { channel: "none" })),
  );
  await write(history.created, ["b", "c"], { producer: producer(0, 0) });
  const writes = (outcome: string): number => value(`writes_total{outcome="${outcome}"}`, "stream");
  expect([writes("written"), writes("duplicate"), writes("not_found")]).toEqual([1, 1, 1]);
  expect([value("messages_total", "stream"), value("batches_total", "stream")]).toEqual([3, 2]);
  const bytes = messagesFor(["a", "b", "c"]).reduce((sum, one) => sum + one.bytes, 0);
  expect([value("bytes_total", "stream"), value("messages_total")]).toEqual([bytes, 0]);
});

test("a write that was stored without an answer is counted when it is settled, and a failure shows until then", async () => {
  const { unreliable, history, value, changes } = setup();
  await created(history.created);
  const batch = batchOfWrites(writeOf(["a"]));
  unreliable.fate = (call) => (call === "write" ? "lose" : "answer");
  await expect(history.created.write(batch)).rejects.toThrow();
  expect([value("messages_total", "stream"), history.isUp]).toEqual([0, false]);
  expect(await history.created.settle(batch)).toHaveLength(1);
  expect(value("messages_total", "stream")).toBe(1);
  unreliable.fate = () => "answer";
  await write(history.created, ["b"]);
  expect(changes).toEqual([expect.stringContaining("made to be lost"), "stores again"]);
});

test("a store that fails is down until it answers again", async () => {
  const { unreliable, history, value } = setup();
  expect(value("up")).toBe(1);
  unreliable.fate = () => "fail";
  await expect(history.open(anAppId("app"), "channel", KEEP)).rejects.toThrow();
  expect([value("up"), value("failures_total"), history.isUp]).toEqual([0, 1, false]);
  unreliable.fate = () => "answer";
  await history.trim(() => 0);
  expect([value("up"), history.isUp]).toEqual([1, true]);
});

test("a store that can be read but stores nothing, as on a full disk, is down, and that is reported once", async () => {
  const { unreliable, history, value, changes } = setup();
  unreliable.fate = (call) => (call === "append" ? "fail" : "answer");
  for (let i = 0; i < 3; i++) {
    await expect(history.append(batchOf({}))).rejects.toThrow();
    await history.trim(() => 0);
    expect(value("up")).toBe(0);
  }
  unreliable.fate = () => "answer";
  await history.append(batchOf({}));
  expect(value("up")).toBe(1);
  expect(changes).toEqual([expect.stringContaining("made to fail"), "stores again"]);
});

test("a failure counts for a minute if nothing is published after it", async () => {
  const { unreliable, history, wait } = setup();
  unreliable.fate = (call) => (call === "append" ? "fail" : "answer");
  await expect(history.append(batchOf({}))).rejects.toThrow();
  await history.trim(() => 0);
  wait(59_000);
  expect(history.isUp).toBe(false);
  wait(1000);
  expect(history.isUp).toBe(true);
});

test("a batch that was stored without an answer is counted when it is settled", async () => {
  const { unreliable, history, value } = setup();
  const batch = batchOf({}, {});
  unreliable.fate = (call) => (call === "append" ? "lose" : "answer");
  await expect(history.append(batch)).rejects.toThrow();
  expect(value("messages_total")).toBe(0);
  expect(await history.settle(batch)).toHaveLength(2);
  expect(value("messages_total")).toBe(2);
});

test("a paused batch that was settled meanwhile is not stored when it is released", async () => {
  const { unreliable, history } = setup();
  unreliable.pause("append");
  const batch = batchOf({});
  const appending = history.append(batch);
  await unreliable.pausedCalls();
  expect(await history.settle(batch)).toBeUndefined();
  unreliable.releaseAll();
  await expect(appending).rejects.toThrow("settled before");
  expect((await history.append(batchOf({})))[0]?.offset).toBe(1);
});

test("a paused call waits until it is released, with the fate it gets then", async () => {
  const { unreliable, history } = setup();
  unreliable.pause("append");
  const first = history.append(batchOf({}));
  const second = history.append(batchOf({}));
  expect(await unreliable.pausedCalls(2)).toEqual(["append", "append"]);
  unreliable.releaseFirst("fail");
  await expect(first).rejects.toThrow("made to fail");
  unreliable.releaseAll();
  expect((await second)[0]?.offset).toBe(1);
});
