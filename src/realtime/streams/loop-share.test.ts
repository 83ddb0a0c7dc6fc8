import { expect, test } from "bun:test";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { TURN_SHARE_MAX_MS, TURN_SHARE_MIN_MS } from "./limits.ts";
import { LoopShare } from "./loop-share.ts";

/** Work that never ends; each piece of it takes a millisecond. */
class Work {
  done = 0;
  hasMore = true;
  private readonly clock = new FakeClock();
  private deferred: (() => void)[] = [];
  private readonly share = new LoopShare({ clock: this.clock, defer: (callback) => this.deferred.push(callback) }, () =>
    this.run(),
  );

  run(): void {
    while (this.hasMore && !this.share.isOver()) {
      this.clock.advance(1);
      this.done++;
    }
  }

  /** How much is done in a turn in which everything else takes this long. */
  turn(elsewhereMs: number): number {
    const before = this.done;
    this.clock.advance(elsewhereMs);
    for (const callback of this.deferred.splice(0)) callback();
    return this.done - before;
  }
}

test("a few milliseconds of each turn", () => {
  const work = new Work();
  work.run();
  expect([work.done, work.turn(0), work.turn(1)]).toEqual(Array(3).fill(TURN_SHARE_MIN_MS));
});

test("half as long as everything else takes, up to a limit", () => {
  const work = new Work();
  work.run();
  expect([work.turn(20), work.turn(30), work.turn(5000), work.turn(0)]).toEqual([
    10,
    15,
    TURN_SHARE_MAX_MS,
    TURN_SHARE_MIN_MS,
  ]);
});

test("what begins after a pause does not take more for it", () => {
  const work = new Work();
  work.run();
  work.hasMore = false;
  work.turn(0);
  work.turn(1000);
  work.hasMore = true;
  work.done = 0;
  work.run();
  expect(work.done).toBe(TURN_SHARE_MIN_MS);
});
