import { describe, expect, test } from "bun:test";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { PUBLISHABLE_KEY, turn, World } from "../testing/kit.ts";
import { DirectIds } from "./direct-ids.ts";
import { DIRECT_IDS_PER_APP_MAX } from "./limits.ts";

const QUIET = anAppId("quiet");
const BUSY = anAppId("busy");

for (const nodes of [1, 2])
  describe(`a direct message that is repeated with the same id, ${nodes} ${nodes === 1 ? "node" : "nodes"}`, () => {
    const start = () => {
      const world = new World({ nodes });
      const [ann, ben] = [world.connect("ann", { node: nodes - 1 }), world.connect("ben")];
      const send = async (data: number, id?: string, from = ben): Promise<void> => {
        from.request({ type: "send", to: "ann", data, id });
        await turn();
      };
      return { world, ann, ben, send };
    };

    test("arrives once within two minutes, and is acked each time", async () => {
      const { world, ann, ben, send } = start();
      for (const [data, id] of [
        [1, "x"],
        [2, "y"],
        [1, "x"],
      ] as const)
        await send(data, id);
      expect(ann.newFrames()).toEqual(["direct ben 1", "direct ben 2"]);
      expect(ben.newFrames()).toEqual(["ack r1", "ack r2", "ack r3"]);
      world.advance(120_000);
      await send(1, "x");
      expect(ann.newFrames()).toEqual(["direct ben 1"]);
    });

    test("without an id nothing is remembered", async () => {
      const { ann, send } = start();
      await send(1);
      await send(1);
      expect(ann.newFrames()).toEqual(["direct ben 1", "direct ben 1"]);
    });

    test("the id counts within a peer, or within a publishable key, for one receiver", async () => {
      const { world, ann, send } = start();
      const dan = world.connect("dan", { node: nodes - 1 });
      const guests = [1, 2].map((n) => world.connect(`guest-${n}`, { key: PUBLISHABLE_KEY }));
      await send(1, "x");
      await send(2, "x", dan);
      for (const guest of guests) await send(3, "x", guest);
      expect(ann.newFrames()).toEqual(["direct ben 1", "direct dan 2", "direct guest-1 3"]);
      dan.request({ type: "send", to: "ben", data: 4, id: "x" });
      await turn();
      expect(dan.newFrames()).toEqual(["ack r1", "ack r2"]);
    });

    test("arrives once at each connection, also at one that is new", async () => {
      const { world, ann, ben, send } = start();
      await send(1, "x");
      world.advance(1);
      const second = world.connect("ann", { node: nodes - 1 });
      for (const _ of [1, 2]) await send(1, "x");
      ann.vanish();
      second.vanish();
      world.advance(1);
      const third = world.connect("ann", { node: nodes - 1 });
      for (const _ of [1, 2]) await send(1, "x");
      expect([ann, second, third].map((one) => one.newFrames())).toEqual(Array(3).fill(["direct ben 1"]));
      expect(ben.newFrames()).toEqual([1, 2, 3, 4, 5].map((n) => `ack r${n}`));
    });

    test("one that found no one is not remembered", async () => {
      const { world, ann, ben, send } = start();
      ann.vanish();
      await send(1, "x");
      expect(ben.newFrames()).toEqual(["error peer_not_found r1"]);
      const returned = world.connect("ann", { node: nodes - 1 });
      await send(1, "x");
      expect(returned.newFrames()).toEqual(["direct ben 1"]);
    });
  });

const envelope = (id: string) => ({ from: "ben", metadataJson: undefined, dataJson: "1", id, idScope: "peer ben" });

test("an application forgets its own oldest ids, and not those of others", () => {
  const clock = new FakeClock();
  const ids = new DirectIds(clock);
  const nowMs = clock.monotonicMs();
  ids.add(QUIET, "ann", envelope("kept"));
  for (let n = 0; n <= DIRECT_IDS_PER_APP_MAX; n++) ids.add(BUSY, "ann", envelope(String(n)));
  expect(ids.size).toBe(DIRECT_IDS_PER_APP_MAX + 1);
  expect(["0", "1"].map((id) => ids.deliveredMs(BUSY, "ann", envelope(id)))).toEqual([undefined, nowMs]);
  expect(ids.deliveredMs(QUIET, "ann", envelope("kept"))).toBe(nowMs);
});

test("ids are forgotten when their time is over, without another message", () => {
  const clock = new FakeClock();
  const ids = new DirectIds(clock);
  ids.add(anAppId("app"), "ann", envelope("x"));
  clock.advance(100_000);
  expect(ids.size).toBe(1);
  clock.advance(30_000);
  expect(ids.size).toBe(0);
});
