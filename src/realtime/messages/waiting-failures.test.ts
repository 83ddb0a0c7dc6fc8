/** Attempts to deliver a direct message that throw, and messages for which there is no place to wait. */
import { describe, expect, spyOn, test } from "bun:test";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { type DirectAttempt, type Engine, type Sent, UNAVAILABLE } from "../../engine/engine.ts";
import { delayed } from "../../engine/testing/traffic.ts";
import { NO_ARRIVALS } from "../state/arrivals.ts";
import { turn, World } from "../testing/kit.ts";
import { type WaitingSend, WaitingSends } from "./waiting-sends.ts";

const A = anAppId("a");

function sendOf({ onDeferred }: WaitingSends, order: number): WaitingSend {
  const attempt: DirectAttempt = {
    spaceId: A,
    to: "ann",
    onDeferred,
    number: 0,
    firstMs: 0,
    isHeld: false,
    isUnanswered: false,
    delivered: 0,
    isNext: false,
    isLast: false,
  };
  const envelope = { from: "ben", metadataJson: undefined, dataJson: "1" };
  return { spaceId: A, to: "ann", envelope, sender: undefined, order, attempt, arrivals: NO_ARRIVALS };
}

const FAILURES: readonly (readonly [how: string, fail: () => Promise<number>])[] = [
  [
    "throws",
    () => {
      throw new Error("thrown");
    },
  ],
  ["rejects", () => Promise.reject(new Error("rejected"))],
];

describe.each(FAILURES)("an attempt that %s", (_how, fail) => {
  test("is repeated, and those behind it are delivered after it", async () => {
    const clock = new FakeClock();
    const tried: number[] = [];
    const caught: unknown[] = [];
    const attempt = ({ order }: WaitingSend): number | Promise<number> => (tried.push(order) === 1 ? fail() : 1);
    const waiting = new WaitingSends({ clock, attempt, failed: (error) => caught.push(error) });
    const added = [1, 2].map((order) => waiting.add(sendOf(waiting, order)));
    for (let i = 0; i < 4; i++) {
      clock.advance(200);
      await turn();
    }
    expect(await Promise.all(added)).toEqual([1, 1]);
    expect(tried).toEqual([1, 1, 2]);
    expect(caught).toHaveLength(1);
    expect(waiting.count).toBe(0);
  });

  test("again and again ends with the time of the message", async () => {
    const clock = new FakeClock();
    const waiting = new WaitingSends({ clock, attempt: fail, failed: () => undefined });
    const added = waiting.add(sendOf(waiting, 1));
    for (let i = 0; i < 60; i++) {
      clock.advance(200);
      await turn();
    }
    expect(await added).toBe(UNAVAILABLE);
    expect(waiting.mustWait(A, "ann")).toBe(false);
  });
});

test("a first attempt that throws does not keep later messages to its receiver waiting", async () => {
  const faults: unknown[] = [];
  const world = new World({ nodes: 2, faults: { caught: (_where, error) => void faults.push(error) } });
  const ben = world.join("ben", "c");
  const cat = world.join("cat", "c");
  world.join("ann", "c", { expiresInMs: 3000 });
  world.advance(3000);
  const failing = spyOn(world.nodeAt(0).engine, "send").mockImplementationOnce(() => {
    throw new Error("thrown");
  });
  ben.send("ann", 1);
  expect(faults).toHaveLength(1);
  failing.mockRestore();
  cat.send("ann", 2);
  const ann = world.connect("ann");
  for (let i = 0; i < 40; i++) {
    world.advance(50);
    await turn();
  }
  expect(ann.newFrames()).toEqual(["direct cat 2"]);
});

/** As the engine of a cluster, it numbers what it sends: a node that is slow may still deliver it. */
function numbering(engine: Engine): Engine {
  const send = engine.send.bind(engine);
  let last = 0;
  return Object.assign(engine, {
    send: (...[spaceId, to, envelope, isHere, attempt]: Parameters<Engine["send"]>): Sent => {
      if (attempt) attempt.number ||= ++last;
      return send(spaceId, to, envelope, isHere, attempt);
    },
  });
}

test("what other nodes were asked to deliver is not known to be lost when too much waits", async () => {
  const world = new World({ nodes: 2, traffic: delayed(20), engine: numbering });
  const ben = world.connect("ben");
  world.connect("ann", { node: 1, expiresInMs: 2000 });
  world.advance(2000);
  for (let n = 0; n < 70; n++) ben.send("ann", n);
  for (let passedMs = 0; passedMs < 300; passedMs += 50) {
    world.advance(50);
    await turn();
  }
  // Each one was on its way before the first answer: the other node may be slow, and deliver it.
  expect(ben.newFrames()).toEqual(Array.from({ length: 6 }, (_, n) => `error backend_error r${65 + n}`));
});
