/** The history of workers: what is announced to all of them, rules and limits that their functions say, and writes in lost connections. */
import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { retried } from "../../test/support/wait.ts";
import { anAppId } from "../base/testing/ids.ts";
import { HistoryUnavailable } from "../history/contract/history.ts";
import { historyFile } from "../history/sqlite/file.ts";
import { batchOfWrites, creation, LIMITS, SPACE, textsIn, writeOf } from "../history/testing/created-kit.ts";
import { ALL, appendTexts, KEEP, numbers } from "../history/testing/kit.ts";
import { newFolders } from "../store/testing/places.ts";
import { VERSION } from "../version.ts";
import { CALLS, encode, HEADER_BYTES } from "./frames.ts";
import { HELLO } from "./methods.ts";
import { numberOf, rawClient } from "./testing/raw-client.ts";
import { Served } from "./testing/served.ts";

const APP = anAppId("app");

const newFolder = newFolders();
let folder: string;
let served: Served;
beforeEach(async () => {
  folder = newFolder();
  served = await Served.open(folder);
});
afterEach(() => served.close());

test("a history that is rewound is announced to all workers", async () => {
  const { history } = await served.worker();
  await appendTexts(history, numbers(1, 2000));
  await served.close();
  const bytes = readFileSync(historyFile(folder));
  bytes.fill(0xff, 16 * 4096);
  writeFileSync(historyFile(folder), bytes);
  served = await Served.open(folder);
  const [one, other] = [(await served.worker()).history, (await served.worker()).history];
  const notified = [one, other].map((each) => new Promise<void>((resolve) => each.onRewound(resolve)));
  await expect(one.read(APP, "channel", ALL)).rejects.toBeInstanceOf(HistoryUnavailable);
  await Promise.all(notified);
  expect((await appendTexts(other, ["new"]))[0]?.offset).toBe(1);
});

test("a change of rules reaches all channels, also if there are many", async () => {
  const { history } = await served.worker();
  for (let i = 0; i < 450; i++) await history.open(APP, `c${i}`, KEEP);
  await history.applyRules(APP, (channel) => (channel.endsWith("7") ? KEEP : undefined));
  expect((await history.usage(APP)).streams).toBe(45);
});

test("a change of rules deletes streams of all channels without such a rule, also if there are many", async () => {
  const { created } = (await served.worker()).history;
  for (let i = 0; i < 450; i++)
    await created.create(creation({ channel: `c${i}`, limits: { ...LIMITS, streams: 1000 } }));
  await created.applyRules(SPACE, (channel) => channel.endsWith("7"));
  expect(await created.list(SPACE, { limit: 1000 })).toHaveLength(45);
});

test("a write that lies in an earlier connection is settled as not stored, and never stored", async () => {
  await served.history.created.create(creation());
  const batch = batchOfWrites(writeOf(["late"]));
  const earlier = await rawClient(served.path);
  earlier.send([1, HELLO, [VERSION, "same"]]);
  await new Promise<void>((resolve) => earlier.socket.once("data", () => resolve()));
  const payload = encode([2, numberOf("created", "write"), [batch]]);
  const header = Buffer.alloc(HEADER_BYTES, CALLS);
  header.writeUInt32LE(payload.length);
  earlier.socket.write(Buffer.concat([header, payload.subarray(0, -1)]));
  const later = await rawClient(served.path);
  later.send([1, HELLO, [VERSION, "same"]]);
  await new Promise<void>((resolve) => later.socket.once("data", () => resolve()));
  earlier.socket.write(payload.subarray(-1));
  await earlier.closed;
  later.socket.destroy();
  expect(await served.history.created.settle(batch)).toBeUndefined();
  expect(await textsIn(served.history.created)).toEqual([]);
});

test("a write is refused as an append is, while the server is gone, and settled when it is back", async () => {
  const { created } = (await served.worker()).history;
  await created.create(creation());
  const batch = batchOfWrites(writeOf(["a"]));
  await created.write(batch);
  await served.stopServing();
  await expect(created.settle(batch)).rejects.toBeInstanceOf(HistoryUnavailable);
  await served.serve();
  const fate = await retried("the server answers", () => created.settle(batch));
  expect(fate).toMatchObject([{ outcome: "written" }]);
});

test("trimming follows the bytes that an application may have", async () => {
  const { history } = await served.worker();
  let max = Number.POSITIVE_INFINITY;
  const trim = async (): Promise<number> => {
    while (await history.trim(() => max));
    return (await history.usage(APP)).messages;
  };
  await appendTexts(history, numbers(1, 10));
  expect(await trim()).toBe(10);
  max = 0;
  expect(await trim()).toBe(0);
  await appendTexts(history, numbers(1, 10));
  max = Number.POSITIVE_INFINITY;
  expect(await trim()).toBe(10);
});

test("a file is used by the server alone", async () => {
  await served.worker();
  expect(() => new Database(historyFile(folder)).run("CREATE TABLE x (y)")).toThrow("locked");
});
