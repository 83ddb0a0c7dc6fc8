/** A fleet on channels with history, beside the other one of a fault test: the same fault, and stronger promises. */
import { expect } from "bun:test";
import type { Judging } from "../../../src/verify/checker.ts";
import type { Fleet } from "../../../src/verify/fleet.ts";
import type { Totals } from "../../../src/verify/tally.ts";
import { SETTLE_MS } from "./load.ts";
import { show } from "./show.ts";

/** Everything arrived, once and in order, and every client that reconnected has recovered. */
export async function judgeStored(fault: string, fleet: Fleet, judging: Judging = {}): Promise<Totals> {
  fleet.hush();
  const { problems, figures } = await fleet.settle(SETTLE_MS, judging);
  show(`${fault}, with history`, figures);
  expect(problems).toEqual([]);
  expect(figures.unrecovered).toBe(0);
  // Each connection of a client that was subscribed before begins with a recovery.
  expect(figures.recoveries).toBeGreaterThanOrEqual(figures.reconnects);
  return figures;
}
