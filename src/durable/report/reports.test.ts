import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SETTINGS } from "../../config/settings.ts";
import { HistoryUnavailable } from "../../history/contract/history.ts";
import { newFolders } from "../../store/testing/places.ts";
import { appRow } from "../../store/testing/rows.ts";
import type { Limit } from "../inventory/entry.ts";
import { BUCKET_OBJECTS, DATA_FILES } from "../inventory/files.ts";
import { HISTORY_TABLES, POSTGRES_HISTORY_TABLES, STORE_TABLES } from "../inventory/inventory.ts";
import { SUBJECTS } from "../inventory/subjects.ts";
import { amountsIn } from "./folder.ts";
import { limitText } from "./limit-texts.ts";
import type { ReportParts } from "./report.ts";
import { DataReports } from "./reports.ts";

const newFolder = newFolders();

class Measured {
  nowMs = 0;
  calls = 0;
  isHistoryUp = true;

  get reports(): DataReports {
    const usage = async () => {
      if (!this.isHistoryUp) throw new HistoryUnavailable("away");
      return { streams: 1, filled: 1, messages: 5, bytes: 500 };
    };
    const parts: ReportParts = {
      amounts: {
        ofTables: async (names) => {
          this.calls++;
          return new Map(names.map((name) => [name, { count: 7, isAbout: name === "audit" }]));
        },
        ofApp: async (_app, names) => {
          this.calls++;
          return new Map(names.map((name) => [name, { count: 2, isAbout: false }]));
        },
        recordedBytes: async () => 1000,
        bytes: async () => 4096,
      },
      history: { usage, totals: async () => ({ ...(await usage()), isAbout: false }) },
      folder: () => amountsIn("/nowhere"),
      where: { store: "s", histories: "h", recordings: "r", files: "f" },
      isEmbedded: true,
      recorded: async () => ({ bytes: 300, uploading: 20 }),
      setting: () => "100",
      nowMs: () => 1000,
    };
    return new DataReports({ ...parts, monotonicMs: () => this.nowMs });
  }
}

describe("a report", () => {
  test("is measured once in ten seconds, and again for an application whose limits have changed", async () => {
    const measured = new Measured();
    const { reports } = measured;
    const [one, other] = [await reports.ofService(), await reports.ofService()];
    expect([one === other, measured.calls]).toEqual([true, 1]);
    measured.nowMs = 10_000;
    await reports.ofService();
    expect(measured.calls).toBe(2);
    await reports.ofApp(appRow("a"));
    await reports.ofApp(appRow("a"));
    expect(measured.calls).toBe(3);
    const edited = await reports.ofApp(appRow("a", { retentionDays: 1 }));
    expect(measured.calls).toBe(4);
    expect(edited.data.find(({ id }) => id === "recordings")?.kept).toBe("1 day after they are complete");
  });

  test("is not kept if it failed", async () => {
    const measured = new Measured();
    const { reports } = measured;
    const ofTables = async (): Promise<never> => {
      throw new Error("away");
    };
    const broken = Object.assign(Object.create(reports), {
      parts: { ...Reflect.get(reports, "parts"), amounts: { ofTables } },
    });
    await expect(broken.ofService()).rejects.toThrow("away");
    await reports.ofService();
    expect(measured.calls).toBe(1);
  });

  test("has the numbers of the whole service, or of one application; estimates are marked", async () => {
    const { reports } = new Measured();
    const [all, one] = [await reports.ofService(), await reports.ofApp(appRow("a"))];
    const nowOf = ({ data }: typeof all, wanted: string) => data.find(({ id }) => id === wanted)?.now;
    expect(nowOf(all, "audit")).toEqual({ count: 7, bytes: null, isAbout: true });
    expect(nowOf(all, "recordings")).toEqual({ count: 7, bytes: 1000, isAbout: false });
    expect(nowOf(one, "recordings")).toEqual({ count: 2, bytes: 300, isAbout: false });
    expect(nowOf(one, "uploads")).toEqual({ count: 2, bytes: 20, isAbout: false });
    // Its channels and its rooms.
    expect(nowOf(one, "messages")).toEqual({ count: 10, bytes: 1000, isAbout: false });
    expect([all.places.length, one.places.every(({ bytes }) => bytes === null)]).toEqual([4, true]);
  });

  test("is there while histories cannot be read", async () => {
    const measured = new Measured();
    measured.isHistoryUp = false;
    const { data } = await measured.reports.ofService();
    expect(data.find(({ id }) => id === "messages")?.now).toEqual({ count: null, bytes: null, isAbout: false });
  });
});

test("files of the data folder are counted by what they are", () => {
  const folder = newFolder();
  mkdirSync(join(folder, "command-line"));
  const write = (path: string, size: number): void => writeFileSync(join(folder, path), "x".repeat(size));
  write("parley.sqlite", 1000);
  write("history.sqlite", 10);
  write("history.sqlite-wal", 5);
  write("history.sqlite.damaged-20260101T000000Z", 7);
  write("master.key", 3);
  write("command-line/shop.key", 2);
  expect(amountsIn(folder)).toEqual({
    secrets: { count: 2, bytes: 5 },
    copies: { count: 1, bytes: 7 },
    histories: { count: 2, bytes: 15 },
    all: { count: 3, bytes: 12 },
  });
  expect(amountsIn(join(folder, "nothing")).all).toEqual({ count: 0, bytes: 0 });
});

const TABLES = [...STORE_TABLES, ...HISTORY_TABLES, ...POSTGRES_HISTORY_TABLES];
const FILES = [...DATA_FILES, ...BUCKET_OBJECTS];

describe("the inventory", () => {
  test("names only settings that exist", () => {
    const limits: Limit[] = [...TABLES, ...FILES].flatMap(({ retention: { age, amount } }) => [age, amount]);
    const known: string[] = Object.values(SETTINGS).map(({ env }) => env);
    const named = limits.flatMap((limit) => ("setting" in limit ? [limit.setting] : []));
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
    expect(named.length).toBeGreaterThan(0);
  });

  test("every table and file is of a subject, and every subject has its main table or file", () => {
    const ids = SUBJECTS.map(({ id }) => id as string);
    expect(new Set(ids).size).toBe(ids.length);
    const named: (readonly [string, string])[] = [
      ...TABLES.map(({ name, subject }) => [name, subject] as const),
      ...FILES.flatMap(({ paths, subject }) => paths.map((path) => [path, subject] as const)),
    ];
    expect(named.filter(([, subject]) => subject !== "tables" && !ids.includes(subject))).toEqual([]);
    expect(SUBJECTS.filter(({ id, main }) => !named.some(([name, of]) => name === main && of === id))).toEqual([]);
  });

  test("a limit of bytes is said in the largest unit, also if it is no whole number of them", () => {
    const text = (maxHistoryBytes: number): string =>
      limitText({ field: "maxHistoryBytes" }, { setting: () => "", app: appRow("a", { maxHistoryBytes }) });
    expect([900, 1024 ** 3, 1.5 * 1024 ** 3, 900_000_000_000].map(text)).toEqual([
      "900 bytes",
      "1 GiB",
      "1.5 GiB",
      "838.2 GiB",
    ]);
  });

  test("the rules of an application are named, a few of them", () => {
    const rule = (pattern: string) => ({ pattern, history: { messages: 1000, seconds: 3600 }, graceSec: 0 });
    const app = appRow("a", { channelRules: ["a", "b", "c", "d", "e"].map(rule) });
    const text = limitText({ field: "channelRules" }, { setting: () => "", app });
    expect(text).toBe(
      "a 1 hour and 1,000 per channel; b 1 hour and 1,000 per channel; c 1 hour and 1,000 per channel; 2 more rules; chats of rooms 7 days",
    );
  });
});
