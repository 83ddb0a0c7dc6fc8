/** The embedded history while the clock on the wall is wrong. */
import { afterEach, expect, test } from "bun:test";
import { retentionClock } from "../../base/clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { appendTexts, batchOf, clocksOf, readTexts, type TestTime, trimAll } from "../testing/kit.ts";
import { openMemoryHistory } from "../testing/memory.ts";
import type { SqliteHistory } from "./history.ts";

const YEAR_MS = 365 * 86_400_000;

let history: SqliteHistory;
afterEach(() => history.close());

function open(time: TestTime): SqliteHistory {
  const clocks = clocksOf(time);
  return openMemoryHistory({ ...clocks, retentionMs: retentionClock(clocks.wallMs, clocks.monotonicMs) });
}

test("a clock that is a year ahead for a minute costs no message, and hides none", async () => {
  const time = { passedMs: 0, setMs: 0 };
  history = open(time);
  await appendTexts(history, ["a", "b"]);
  time.setMs = YEAR_MS;
  await trimAll(history);
  expect(await readTexts(history)).toEqual(["a", "b"]);
  expect(await history.open(anAppId("app"), "channel", { messages: 1000, seconds: 3600 })).toMatchObject({
    first: 1,
    top: 2,
  });
  time.passedMs = 60_000;
  await trimAll(history);
  time.setMs = 0;
  await trimAll(history);
  expect(await readTexts(history)).toEqual(["a", "b"]);
});

test("one that stays ahead deletes what is too old by it, an hour later", async () => {
  const time = { passedMs: 0, setMs: 0 };
  history = open(time);
  await appendTexts(history, ["a", "b"], { keep: { messages: 1000, seconds: 86_400 } });
  time.setMs = YEAR_MS;
  await trimAll(history);
  time.passedMs = 3_600_001;
  // The first round deletes the messages, the next one finds that the stream has none, and forgets it too.
  await trimAll(history);
  await trimAll(history);
  expect(await readTexts(history)).toBeUndefined();
});

test("a clock that is set forward by ten minutes makes no id new", async () => {
  const time = { passedMs: 0, setMs: 0 };
  history = open(time);
  await history.append(batchOf({ id: "i" }));
  time.setMs = 600_000;
  expect((await history.append(batchOf({ id: "i" })))[0]).toMatchObject({ offset: 1, isDuplicate: true });
  time.passedMs = 121_000;
  expect((await history.append(batchOf({ id: "i" })))[0]).toMatchObject({ offset: 2, isDuplicate: false });
});
