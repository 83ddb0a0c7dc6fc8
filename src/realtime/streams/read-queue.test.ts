import { expect, test } from "bun:test";
import { nextTurn } from "../../../test/support/wait.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { LONG_READS_MAX, TURN_SHARE_MIN_MS } from "./limits.ts";
import { ReadQueue } from "./read-queue.ts";

const APP = anAppId("app");

class Reads {
  readonly clock = new FakeClock();
  readonly done: string[] = [];
  private deferred: (() => void)[] = [];
  private readonly queue = new ReadQueue({ clock: this.clock, defer: (callback) => this.deferred.push(callback) });

  /** As with the embedded store: the read is over when the call returns, and has taken a millisecond. */
  embedded(requester: string, count: number, app = APP): void {
    for (let nr = 1; nr <= count; nr++)
      void this.queue.run(app, requester, async () => {
        this.clock.advance(1);
        this.done.push(`${requester}${nr}`);
      });
  }

  /** As with a server: the test says when it is over. */
  distant(requester: string): () => void {
    let end: () => void = () => undefined;
    void this.queue.run(APP, requester, () => {
      this.done.push(requester);
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    return () => end();
  }

  /** All that can be done before other events have their turn. */
  settled = (): Promise<void> => nextTurn();

  nextTurn(): Promise<void> {
    for (const callback of this.deferred.splice(0)) callback();
    return this.settled();
  }

  get isIdle(): boolean {
    return this.deferred.length === 0;
  }
}

test("reads take a few milliseconds of each turn, however many wait", async () => {
  const reads = new Reads();
  reads.embedded("a", 10);
  await reads.settled();
  expect(reads.done).toHaveLength(TURN_SHARE_MIN_MS);
  await reads.nextTurn();
  expect(reads.done).toHaveLength(2 * TURN_SHARE_MIN_MS);
  await reads.nextTurn();
  expect(reads.done).toHaveLength(10);
  await reads.nextTurn();
  expect(reads.isIdle).toBe(true);
});

test("requesters alternate: who asks for much does not hold up the others", async () => {
  const reads = new Reads();
  reads.embedded("a", 6);
  reads.embedded("b", 2);
  for (let turn = 0; turn < 4; turn++) await reads.nextTurn();
  expect(reads.done.indexOf("b2")).toBeLessThan(reads.done.indexOf("a5"));
  expect(reads.done.filter((one) => one.startsWith("a"))).toEqual(["a1", "a2", "a3", "a4", "a5", "a6"]);
});

test("applications alternate: one with many requesters does not hold up the others", async () => {
  const reads = new Reads();
  for (let nr = 0; nr < 20; nr++) reads.embedded(`many-${nr}-`, 1);
  reads.embedded("other", 2, anAppId("other"));
  for (let turn = 0; turn < 5; turn++) await reads.nextTurn();
  // The first turn was over before it came.
  expect(reads.done.indexOf("other1")).toBeWithin(TURN_SHARE_MIN_MS, TURN_SHARE_MIN_MS + 2);
  expect(reads.done.indexOf("other2")).toBeLessThan(TURN_SHARE_MIN_MS + LONG_READS_MAX);
});

test("a requester has one read under way, all together a few; one that fails makes room as well", async () => {
  const reads = new Reads();
  const ends = Array.from({ length: LONG_READS_MAX + 2 }, (_, nr) => reads.distant(`${nr}`));
  const second = reads.distant("0");
  await reads.nextTurn();
  expect(reads.done).toHaveLength(LONG_READS_MAX);
  ends[0]?.();
  await reads.nextTurn();
  expect(reads.done.slice(LONG_READS_MAX)).toEqual([`${LONG_READS_MAX}`]);
  for (const end of ends) end();
  await reads.nextTurn();
  expect(reads.done.filter((requester) => requester === "0")).toHaveLength(2);
  second();
});

test("what a read rejects with reaches its caller, and the next one runs", async () => {
  const clock = new FakeClock();
  const queue = new ReadQueue({ clock, defer: () => undefined });
  const failed = queue.run(APP, "a", () => Promise.reject(new Error("away")));
  const next = queue.run(APP, "a", async () => "read");
  expect(failed).rejects.toThrow("away");
  expect(await next).toBe("read");
});
