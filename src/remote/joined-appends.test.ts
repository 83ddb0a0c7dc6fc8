/** Batches of several workers in one transaction: in their order, seen by later calls, and each answered by itself. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { nextTurn } from "../../test/support/wait.ts";
import { anAppId } from "../base/testing/ids.ts";
import { type Batch, HistoryUnavailable } from "../history/contract/history.ts";
import { ALL, batchOf, message, numbers, readTexts, texts } from "../history/testing/kit.ts";
import { newFolders } from "../store/testing/places.ts";
import { type Appending, JoinedAppends } from "./joined-appends.ts";
import { JOINED_MAX_MESSAGES } from "./limits.ts";
import { Served } from "./testing/served.ts";

const APP = anAppId("app");
const newFolder = newFolders();

class Worker implements Appending {
  readonly outcomes: [nr: number, stored: number | string][] = [];
  flushes = 0;

  answerAppend(nr: number, _bytes: number, outcome: Parameters<Appending["answerAppend"]>[2]): void {
    this.outcomes.push([nr, "error" in outcome ? String(outcome.error) : outcome.length]);
  }

  flushAnswers(): void {
    this.flushes++;
  }
}

const textsOf = (...all: readonly string[]): Batch =>
  batchOf(...all.map((text) => ({ dataJson: JSON.stringify(text) })));

describe("batches that arrive in one turn", () => {
  let calls: (readonly Batch[])[];
  let appends: JoinedAppends;
  let failure: Error | undefined;
  beforeEach(() => {
    calls = [];
    failure = undefined;
    appends = new JoinedAppends((batches) => {
      calls.push(batches);
      if (failure) throw failure;
      return batches.map(({ check, messages }) =>
        messages.map((_, at) => ({ epoch: "e", offset: at + 1, check, time: 1, isDuplicate: false })),
      );
    });
  });

  test("are appended together, in their order, and every worker is answered with one write", async () => {
    const [one, other] = [new Worker(), new Worker()];
    const batches = [textsOf("a", "b"), textsOf("c"), textsOf("d")];
    appends.add(one, 1, batches[0] as Batch, 10);
    appends.add(other, 1, batches[1] as Batch, 10);
    appends.add(one, 2, batches[2] as Batch, 10);
    expect(calls).toEqual([]);
    await nextTurn();
    expect(calls).toEqual([batches]);
    expect([one.outcomes, other.outcomes]).toEqual([
      [
        [1, 2],
        [2, 1],
      ],
      [[1, 1]],
    ]);
    expect([one.flushes, other.flushes]).toEqual([1, 1]);
    await nextTurn();
    expect(calls).toHaveLength(1);
  });

  test("are not waited for beyond the limit of a transaction", async () => {
    const worker = new Worker();
    const many: Batch = { check: "c", messages: Array.from({ length: JOINED_MAX_MESSAGES - 1 }, () => message()) };
    appends.add(worker, 1, many, 10);
    expect(calls).toHaveLength(0);
    appends.add(worker, 2, textsOf("last"), 10);
    expect(calls).toHaveLength(1);
    await nextTurn();
    expect(calls).toHaveLength(1);
  });

  test("of a worker that is gone are not appended", async () => {
    const [gone, other] = [new Worker(), new Worker()];
    appends.add(gone, 1, textsOf("a"), 10);
    appends.add(other, 1, textsOf("b"), 10);
    appends.drop(gone);
    await nextTurn();
    expect(calls.flat().map(({ messages }) => messages.length)).toEqual([1]);
    expect([gone.outcomes, other.outcomes]).toEqual([[], [[1, 1]]]);
    appends.add(gone, 2, textsOf("a"), 10);
    appends.drop(gone);
    await nextTurn();
    expect(calls).toHaveLength(1);
  });

  test("all fail if their transaction does, and are not repeated", async () => {
    const [one, other] = [new Worker(), new Worker()];
    failure = new Error("full");
    appends.add(one, 1, textsOf("a"), 10);
    appends.add(other, 1, textsOf("b"), 10);
    await nextTurn();
    expect(calls).toHaveLength(1);
    expect([one.outcomes, other.outcomes]).toEqual([[[1, "Error: full"]], [[1, "Error: full"]]]);
  });
});

describe("over the socket", () => {
  let served: Served;
  beforeEach(async () => {
    served = await Served.open(newFolder());
  });
  afterEach(() => served.close());

  test("every batch of several workers keeps its own check, offsets and duplicates", async () => {
    const all = await Promise.all(Array.from({ length: 4 }, async () => (await served.worker()).history));
    const sent = all.map((_, at) =>
      batchOf({ dataJson: `"${at}"` }, { dataJson: `"${at} again"` }, { id: "same", dataJson: '"once"' }),
    );
    const results = await Promise.all(all.map((history, at) => history.append(sent[at] as Batch)));
    const stored = results.flat().filter(({ isDuplicate }) => !isDuplicate);
    expect(stored.map(({ offset }) => offset).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(results.flat().filter(({ isDuplicate }) => isDuplicate)).toHaveLength(3);
    for (const [at, history] of all.entries())
      expect(await history.settle(sent[at] as Batch)).toEqual(results[at] as never);
    expect(await all[0]?.settle(textsOf("never sent"))).toBeUndefined();
    expect((await served.history.usage(APP)).messages).toBe(9);
  });

  test("a call sees what its worker and others have sent to be appended before it", async () => {
    const [one, other] = [(await served.worker()).history, (await served.worker()).history];
    const appending = numbers(1, 50).map((text) => one.append(textsOf(text)));
    const page = one.read(APP, "channel", ALL);
    const usage = one.usage(APP);
    expect(texts((await page)?.messages ?? [])).toEqual([...numbers(1, 50)]);
    expect((await usage).messages).toBe(50);
    await Promise.all(appending);
    expect(await readTexts(other)).toEqual([...numbers(1, 50)]);
  });

  test("texts that have no UTF-8 are stored all the same, in the order of the calls", async () => {
    const { history } = await served.worker();
    const half = textsOf("2");
    const odd = { ...half, messages: half.messages.map((one) => ({ ...one, idScope: "\ud83d" })) };
    await Promise.all([history.append(textsOf("1")), history.append(odd), history.append(textsOf("3"))]);
    expect(await readTexts(history)).toEqual(["1", "2", "3"]);
  });

  test("a transaction that fails is an error of the contract for every worker in it, and nothing of it is stored", async () => {
    const [one, other] = [(await served.worker()).history, (await served.worker()).history];
    const { appendAll } = served.history;
    const [first, second] = [textsOf("a"), textsOf("b")];
    served.history.appendAll = () => {
      throw new HistoryUnavailable("the disk is full");
    };
    const results = await Promise.allSettled([one.append(first), other.append(second)]);
    served.history.appendAll = appendAll;
    for (const result of results) {
      expect(result.status).toBe("rejected");
      expect((result as PromiseRejectedResult).reason).toEqual(new HistoryUnavailable("the disk is full"));
    }
    expect(await one.settle(first)).toBeUndefined();
    expect(await other.append(second)).toHaveLength(1);
    expect(await readTexts(one)).toEqual(["b"]);
  });

  test("batches wait for a server that does not read, and are refused beyond the limit", async () => {
    const { history } = await served.worker();
    const large: Batch = { check: "c", messages: [message({ dataJson: JSON.stringify("x".repeat(8 * 1024 * 1024)) })] };
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => history.append(large)));
    const refused = results.filter((result) => result.status === "rejected");
    expect(refused.length).toBeGreaterThan(0);
    for (const { reason } of refused) expect(String(reason)).toContain("wait for the stores already");
    expect((await served.history.usage(APP)).messages).toBe(results.length - refused.length);
  });
});
