/** Sweeps of the embedded store, which answers within the call: other events have their turn while they go on. */
import { afterEach, expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import { openStore } from "../../open.ts";
import { entering } from "../../testing/meetings.ts";
import { newFolders } from "../../testing/places.ts";
import { appRow } from "../../testing/rows.ts";
import type { SqlStore } from "../store.ts";
import { ENDED_AT_ONCE } from "./stays.ts";

const newFolder = newFolders();
const ROOMS = 3 * ENDED_AT_ONCE;

let store: SqlStore | undefined;
afterEach(() => store?.close());

/** How many turns other events had during the work. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let next = setImmediate(function turn(): void {
    turns++;
    next = setImmediate(turn);
  });
  await work();
  clearImmediate(next);
  return turns;
}

test("stays and meetings that end together leave turns to other events", async () => {
  store = await openStore(newFolder());
  const { meetings } = store;
  await store.change((change) => change.putApp(appRow("a")));
  for (let nr = 0; nr < ROOMS; nr++) {
    await meetings.enter(entering(`p${nr}`, `r${nr}`, { app: anAppId("a") }), 5, 1000);
    await meetings.lost(`p${nr}`, "n1", 1000);
  }
  let ended = 0;
  const overdue = await turnsDuring(async () => {
    ended = (await meetings.endOverdue(5000, await meetings.overdue(5000, 1000))).length;
  });
  const empty = await turnsDuring(async () => {
    ended += (await meetings.endEmpty(5000, 1000)).length;
  });
  expect(ended).toBe(2 * ROOMS);
  expect(Math.min(overdue, empty)).toBeGreaterThanOrEqual(2);
});
