/** Estimates of how much the embedded store holds. */
import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { sqlitePlaces, withApps } from "../testing/places.ts";
import { databaseOf } from "../testing/recordings.ts";
import { SqlAmounts } from "./amounts.ts";

const A = anAppId("a");
const newPlace = sqlitePlaces();

test("beyond what is counted, the number of rows is that between the oldest and the newest", async () => {
  const store = await withApps(await newPlace());
  const amounts = new SqlAmounts(databaseOf(store), 20);
  const row = { app: A, messages: 1, guestMessages: 0, peakConnections: 0 };
  const add = (from: number, to: number, seq: number): Promise<void> =>
    store.addUsage(
      Array.from({ length: to - from }, (_, n) => ({ ...row, period: from + n })),
      { writer: "w", seq, atMs: 1 },
    );
  const counted = async () => (await amounts.ofTables(["usage"])).get("usage");
  await add(0, 20, 1);
  expect(await counted()).toEqual({ count: 20, isAbout: false });
  await add(20, 100, 2);
  expect(await counted()).toEqual({ count: 100, isAbout: true });
  expect((await amounts.ofApp(A, ["usage"])).get("usage")).toEqual({ count: 20, isAbout: true });
  await store.clearing.forgetUsage(40, 100);
  expect(await counted()).toEqual({ count: 60, isAbout: true });
  await store.close();
});
