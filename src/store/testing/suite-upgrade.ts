/** Part of the tests of each database: a store of the version before meetings is opened by this one. */
import { expect } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Store } from "../contract/store.ts";
import { entering } from "./meetings.ts";
import { appRow } from "./rows.ts";

const OLD = anAppId("old");

/** The last schema without meetings. */
export const VERSION_WITHOUT_MEETINGS = 13;

export async function expectUpgraded(store: Store): Promise<void> {
  // Everything that the earlier version did not know has its default.
  expect(await store.app("old")).toEqual(appRow("old"));
  expect(await store.rooms.room(OLD, "standup", 5)).toMatchObject({ id: "r" });
  const entered = await store.meetings.enter(entering("p", "r", { app: OLD }), 1, 1000);
  expect(entered).toMatchObject({ outcome: "began", meeting: { app: OLD, room: "r" } });
  expect((await store.meetings.meetings(OLD, { limit: 5 }))?.total).toBe(1);
}
