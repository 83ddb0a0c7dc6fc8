import { expect, test } from "bun:test";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { HistoryUnavailable, type HistoryUsage } from "../../history/contract/history.ts";
import { Usage } from "../../realtime/counting/usage.ts";
import { MemoryUsage, silentLog } from "../../realtime/testing/stubs.ts";
import type { UsageRow } from "../../store/contract/store.ts";
import { appRow } from "../../store/testing/rows.ts";
import { guardOf, run } from "../testing/calls.ts";
import { adminUsageEndpoints } from "./usage.ts";

const APP = anAppId("app");

interface Answer {
  readonly history?: Pick<HistoryUsage, "streams" | "messages" | "bytes">;
  readonly concurrentNow: number;
  readonly data: readonly {
    periodStartUnix: number;
    periodEndUnix: number;
    messagesUsed: number;
    peakConcurrent: number;
  }[];
}

const month = (year: number, index: number): number => Date.UTC(year, index, 1) / 1000;
const NOW = Date.UTC(2027, 1, 10);

const STORED = { streams: 9, filled: 2, messages: 30, bytes: 4000 };

/** The usage of an application that was created at this time. */
async function usageOf(
  created: number,
  query: string,
  rows: readonly UsageRow[] = [],
  stored = async (_space: string): Promise<HistoryUsage> => STORED,
): Promise<Answer> {
  const usage = new Usage(new MemoryUsage().store, new FakeClock(NOW), silentLog);
  usage.message(APP);
  const endpoints = adminUsageEndpoints(guardOf("read"), {
    appIn: async () => appRow("app", { created }),
    store: { usageOf: async (_app, from) => rows.filter(({ period }) => period >= from) },
    deletedApp: async () => undefined,
    occupancy: { connectionsOf: () => 4 },
    usage,
    gather: async () => undefined,
    history: { usage: stored },
  });
  const call = { method: "GET", path: "/api/internal/v1/apps/:app/usage", params: { app: APP }, query } as const;
  return (await run(endpoints, call)) as Answer;
}

test("periods follow each other, newest first; one without a row counts as zero", async () => {
  const rows: UsageRow[] = [
    // The store's row of the current period may be old: what this node knows counts.
    { app: APP, period: month(2027, 1), messages: 99, guestMessages: 0, peakConnections: 99 },
    { app: APP, period: month(2026, 11), messages: 7, guestMessages: 0, peakConnections: 3 },
    { app: APP, period: month(2026, 9), messages: 8, guestMessages: 0, peakConnections: 2 },
  ];
  const { concurrentNow, data } = await usageOf(0, "?periods=4", rows);
  expect(concurrentNow).toBe(4);
  expect(data.map((one) => [one.periodStartUnix, one.periodEndUnix, one.messagesUsed, one.peakConcurrent])).toEqual([
    [month(2027, 1), month(2027, 2), 1, 4],
    [month(2027, 0), month(2027, 1), 0, 0],
    [month(2026, 11), month(2027, 0), 7, 3],
    [month(2026, 10), month(2026, 11), 0, 0],
  ]);
});

test("there are twelve periods if none are named, and none from before the application was created", async () => {
  expect((await usageOf(0, "")).data).toHaveLength(12);
  expect((await usageOf(NOW, "")).data).toHaveLength(1);
  expect((await usageOf(month(2027, 1) * 1000 - 1, "")).data).toHaveLength(2);
  expect((await usageOf(month(2027, 1) * 1000, "")).data).toHaveLength(1);
});

test("what is stored in histories is shown, and left out while that cannot be read", async () => {
  // The rooms of the application count too: they are within the same limit.
  const stored = async (space: string): Promise<HistoryUsage> =>
    space === "app#rooms" ? { streams: 4, filled: 1, messages: 2, bytes: 300 } : STORED;
  expect((await usageOf(0, "", [], stored)).history).toEqual({ streams: 3, messages: 32, bytes: 4300 });
  const answer = await usageOf(0, "", [], () => Promise.reject(new HistoryUnavailable("away")));
  expect([answer.history, answer.concurrentNow]).toEqual([undefined, 4]);
});
