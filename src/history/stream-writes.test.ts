import { expect, test } from "bun:test";
import { FakeClock } from "../base/testing/fake-clock.ts";
import type { WriteBatch, Written } from "./contract/created-streams.ts";
import { HistoryUnavailable } from "./contract/history.ts";
import { StreamWrites, type WriteOutcome } from "./stream-writes.ts";
import { writeOf } from "./testing/created-kit.ts";

type Settled = readonly Written[] | undefined;

/** A store whose answers the test gives. */
function world() {
  const clock = new FakeClock();
  const batches: { batch: WriteBatch; answer: PromiseWithResolvers<readonly Written[]> }[] = [];
  const settles: PromiseWithResolvers<Settled>[] = [];
  const stored: string[] = [];
  let unconfirmed = 0;
  const writes = new StreamWrites({
    store: {
      write: (batch) => {
        const answer = Promise.withResolvers<readonly Written[]>();
        batches.push({ batch, answer });
        return answer.promise;
      },
      settle: () => {
        const answer = Promise.withResolvers<Settled>();
        settles.push(answer);
        return answer.promise;
      },
    },
    clock,
    defer: queueMicrotask,
    stored: (write) => stored.push(write.channel),
    unconfirmed: () => unconfirmed++,
    failed: (error) => {
      throw error;
    },
  });
  const outcomes: (WriteOutcome | undefined)[] = [];
  const send = (channel: string, bytes = 100): void => {
    const at = outcomes.push(undefined) - 1;
    const write = writeOf(["x".repeat(bytes)], { channel });
    void writes.write(write).then((outcome) => {
      outcomes[at] = outcome;
    });
  };
  return { clock, batches, settles, stored, writes, outcomes, send, unconfirmed: () => unconfirmed };
}

const end = { epoch: "e", offset: 1, check: "c" };
const written: Written = { outcome: "written", appended: [], producerSeq: undefined, end, isClosed: false };
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("what arrives while a batch is under way is the next batch, in order", async () => {
  const { batches, stored, outcomes, send } = world();
  send("a");
  send("b");
  await soon();
  send("c");
  await soon();
  expect(batches.map(({ batch }) => batch.writes.map(({ channel }) => channel))).toEqual([["a", "b"]]);
  batches[0]?.answer.resolve([written, { outcome: "not found" }]);
  await soon();
  expect(outcomes).toEqual([written, { outcome: "not found" }, undefined]);
  expect(stored).toEqual(["a"]);
  expect(batches[1]?.batch.writes.map(({ channel }) => channel)).toEqual(["c"]);
});

test("a batch that the store has failed is settled before anything is answered or written", async () => {
  const { batches, settles, stored, outcomes, send } = world();
  send("a");
  await soon();
  send("b");
  batches[0]?.answer.reject(new HistoryUnavailable("gone"));
  await soon();
  expect([batches.length, settles.length, outcomes]).toEqual([1, 1, [undefined, undefined]]);
  settles[0]?.resolve([written]);
  await soon();
  expect(outcomes).toEqual([written, undefined]);
  expect(stored).toEqual(["a"]);
  expect(batches.length).toBe(2);
});

test("what was not stored is written again, before what came later", async () => {
  const { batches, settles, outcomes, send } = world();
  send("a");
  await soon();
  send("b");
  batches[0]?.answer.reject(new HistoryUnavailable("gone"));
  await soon();
  settles[0]?.resolve(undefined);
  await soon();
  expect(batches[1]?.batch.writes.map(({ channel }) => channel)).toEqual(["a", "b"]);
  expect(batches[1]?.batch.check).not.toBe(batches[0]?.batch.check);
  batches[1]?.answer.resolve([written, written]);
  await soon();
  expect(outcomes).toEqual([written, written]);
});

test("a store that hangs is asked what became of the batch, and given up on after ten seconds", async () => {
  const { clock, batches, settles, stored, outcomes, send, writes, unconfirmed } = world();
  send("a");
  await soon();
  clock.advance(2500);
  expect(settles.length).toBe(1);
  send("b");
  clock.advance(7400);
  await soon();
  expect(outcomes).toEqual([undefined, undefined]);
  clock.advance(400);
  await soon();
  expect(outcomes).toEqual(["unconfirmed", undefined]);
  // It was stored after all: its subscribers get it, and what has waited is written.
  settles.at(-1)?.resolve([written]);
  await soon();
  expect(stored).toEqual(["a"]);
  expect(batches.length).toBe(2);
  batches[1]?.answer.resolve([written]);
  await writes.close();
  expect(outcomes[1]).toBe(written);
  expect(unconfirmed()).toBe(1);
});

test("what waits is bounded, for each application", async () => {
  const { outcomes, send, writes, unconfirmed } = world();
  for (let at = 0; at < 9; at++) send("a", 1_000_000);
  await soon();
  expect(writes.waitingBytes).toBeLessThan(9_000_000);
  expect(outcomes.filter((one) => one === "unconfirmed").length).toBe(1);
  expect(unconfirmed()).toBe(1);
});
