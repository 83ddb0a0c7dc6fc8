/** The benchmark of rooms: everyone gets in and every signal arrives, and the bound decides by the middle of the rounds. */
import { expect, test } from "bun:test";
import { judged } from "../rooms.ts";
import { startNode } from "./node.ts";
import { measureRounds } from "./rounds.ts";

const STEPS = ["plain connect", "plain subscribe", "join", "connect", "subscribe"];

test("people of two rooms join, connect, subscribe and exchange signals", async () => {
  await using node = await startNode({ isPinned: false });
  const [round] = await measureRounds(node, { rooms: 2, rounds: 1, warmUps: 1 });
  expect(Object.keys(round?.steps ?? {}).sort()).toEqual(STEPS.toSorted());
  for (const us of [...Object.values(round?.steps ?? {}), round?.usPerSignal]) expect(us).toBeGreaterThan(0);
});

const round = (us: number) => ({
  steps: { "plain connect": 100, "plain subscribe": 100, join: us, connect: 100, subscribe: 100 },
  usPerSignal: 50,
});

test("the target holds for a ratio of 3, and is missed above it", () => {
  expect(judged([round(400), round(100), round(9000)])).toMatchObject({ ratio: 3, holds: true });
  expect(judged([round(402), round(100), round(9000)])).toMatchObject({ ratio: 3.01, holds: false });
});

test("a round without all figures is no proof", () => {
  expect(judged([{ steps: {}, usPerSignal: 50 }]).holds).toBe(false);
});
