import { expect, spyOn, test } from "bun:test";
import { anAppId } from "../base/testing/ids.ts";
import type { PageRequest } from "../store/contract/recordings.ts";
import { sqlitePlaces, withApps } from "../store/testing/places.ts";
import { fill } from "../store/testing/recordings.ts";
import { makeKit } from "./testing/kit.ts";

const newPlace = sqlitePlaces();

/** Whether each page that was asked for waits however many others wait. */
const patience = (calls: readonly (readonly [unknown, PageRequest])[]): boolean[] =>
  calls.map(([, { isPatient = false }]) => isPatient);

test("deleting what filters match may be refused at its begin, but not once something is deleted", async () => {
  const store = await withApps(await newPlace());
  await fill(store, 450);
  const kit = await makeKit({ store, app: anAppId("a") });
  const page = spyOn(store.recordings, "page");
  expect(await kit.recordings.deleteAll(anAppId("a"), {})).toBe(450);
  expect(patience(page.mock.calls)).toEqual([false, true, true]);
  await kit.close();
});

test("deleting by age is not refused because an application's lists wait", async () => {
  const kit = await makeKit();
  await kit.record();
  kit.retentionDays = 1;
  const page = spyOn(kit.store.recordings, "page");
  await kit.sweep();
  expect(patience(page.mock.calls)).toEqual([true]);
  await kit.close();
});
