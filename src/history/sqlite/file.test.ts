/** The file of the embedded history: damage, copies that are put back, and a second process. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { anAppId } from "../../base/testing/ids.ts";
import { freeForCopies } from "../../store/before-upgrade.ts";
import { StoreError } from "../../store/contract/store.ts";
import { newFolders } from "../../store/testing/places.ts";
import type { CreatedStream } from "../contract/created-streams.ts";
import { HistoryUnavailable } from "../contract/history.ts";
import { created, NAME, producer, textsIn, write } from "../testing/created-kit.ts";
import { ALL, appendTexts, batchOf, KEEP, numbers, readTexts } from "../testing/kit.ts";
import { HISTORY_SCHEMA, type HistorySync, historyFile, SCHEMA } from "./file.ts";
import { SqliteHistory } from "./history.ts";
import { lackOfRoomForHistory } from "./upgrade.ts";

const APP = anAppId("app");

const newFolder = newFolders();
const newPath = (): string => historyFile(newFolder());

function open(path: string, sync: HistorySync = "process") {
  const notes: string[] = [];
  return Object.assign(new SqliteHistory({ path, sync, setAside: (text) => notes.push(text) }), { notes });
}

const dbOf = (store: SqliteHistory): Database => Reflect.get(Reflect.get(store, "opened") as object, "db") as Database;

test("only the owner can read the file", async () => {
  const path = newPath();
  await open(path).close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a file that is no database is set aside at the start, and a new history begins", async () => {
  const path = newPath();
  writeFileSync(path, "this is not a database, and it is long enough to be looked at".repeat(100));
  const store = open(path);
  expect(store.notes).toHaveLength(1);
  expect(store.notes[0]).toContain("a new history begins");
  const aside = readdirSync(dirname(path)).find((name) => name.includes(".damaged-"));
  expect(readFileSync(`${dirname(path)}/${aside}`, "utf8")).toStartWith("this is not a database");
  expect((await appendTexts(store, ["a"]))[0]?.offset).toBe(1);
  await store.close();
});

test("damage that a call finds costs that call, and later ones use a new file", async () => {
  const path = newPath();
  const before = open(path);
  const [first] = await appendTexts(before, numbers(1, 2000));
  await before.close();
  // All pages behind those of the schema and the streams.
  const bytes = readFileSync(path);
  bytes.fill(0xff, 16 * 4096);
  writeFileSync(path, bytes);
  const store = open(path);
  let rewound = 0;
  store.onRewound(() => rewound++);
  await expect(store.read(APP, "channel", ALL)).rejects.toBeInstanceOf(HistoryUnavailable);
  expect([store.notes.length, rewound]).toEqual([1, 1]);
  const [second] = await appendTexts(store, ["new"]);
  expect(second?.offset).toBe(1);
  expect(second?.epoch).not.toBe(first?.epoch as string);
  await store.close();
});

test("a file that cannot be opened is named", () => {
  const path = newPath();
  mkdirSync(path);
  expect(() => open(path)).toThrow(StoreError);
  expect(() => open(path)).toThrow(`${path} cannot be opened`);
});

test("a file of an earlier schema is copied before it is changed, and that is said before and after", async () => {
  const path = newPath();
  using older = new Database(path, { create: true });
  older.run(SCHEMA);
  older.run("PRAGMA user_version = 1");
  older.close();
  const lines: string[] = [];
  const log = { info: (text: string) => void lines.push(text), warn: (text: string) => void lines.push(text) };
  const options = { path, sync: "process", setAside: (text: string) => void lines.push(text), log } as const;
  for (const _start of ["the first", "the second"]) await new SqliteHistory(options).close();
  const copy = `${dirname(path)}/before-upgrade/history-schema-1.sqlite`;
  expect(lines).toEqual([
    `upgrading the history: schema 1 → ${HISTORY_SCHEMA}`,
    `the history was upgraded to schema ${HISTORY_SCHEMA}, in less than a second; a copy of the old history is in ${copy}`,
  ]);
  using kept = new Database(copy, { readonly: true });
  expect(kept.query("PRAGMA user_version").get()).toEqual({ user_version: 1 });
  expect(statSync(copy).mode & 0o777).toBe(0o600);
});

test("a copy of the history takes at most half of what is free", () => {
  const folder = newFolder();
  expect(lackOfRoomForHistory(folder, 1)).toBeUndefined();
  expect(lackOfRoomForHistory(folder, freeForCopies(folder) * 0.6)).toContain("are needed in");
});

test("a second process is refused", () => {
  const path = newPath();
  const store = open(path);
  const script = `import { SqliteHistory } from ${JSON.stringify(`${import.meta.dir}/history.ts`)};
    new SqliteHistory({ path: ${JSON.stringify(path)}, sync: "process", setAside: console.log });`;
  const other = Bun.spawnSync([process.execPath, "-e", script]);
  expect(other.exitCode).not.toBe(0);
  expect(other.stderr.toString()).toContain("another Parley process is using");
  return store.close();
});

test("a file of a newer version is refused, and left as it is", async () => {
  const path = newPath();
  await open(path).close();
  const db = new Database(path);
  db.run("PRAGMA user_version = 99");
  db.close();
  expect(() => open(path)).toThrow("newer Parley");
});

test("a file of the first version goes on: its ids count, also over the removal of their history", async () => {
  const path = newPath();
  const db = new Database(path, { create: true });
  db.run(SCHEMA);
  db.run("PRAGMA user_version = 1");
  const stream = "7, 'app', 'channel', 'e1', 1, 'c1', 1, '0', 1, 10, 1000, 3600000, NULL, 1, 1";
  db.run(`INSERT INTO streams VALUES (${stream})`);
  db.run(`INSERT INTO ids (stream, scope, mid, off, batch, time) VALUES (7, 'ann', 'i', 1, 'c1', ${Date.now()})`);
  db.close();
  const store = open(path);
  const [duplicate] = await store.append(batchOf({ id: "i" }));
  expect(duplicate).toMatchObject({ epoch: "e1", offset: 1, check: "c1", isDuplicate: true });
  expect(duplicate?.isRemoved).toBeUndefined();
  await store.remove(APP, "channel");
  const [removed] = await store.append(batchOf({ id: "i" }));
  // Which epoch it was of is not known any more.
  expect(removed).toMatchObject({ epoch: "0", isDuplicate: true, isRemoved: true });
  await store.close();
});

test("a file of the second version goes on, and has created streams", async () => {
  const path = newPath();
  const before = open(path);
  await appendTexts(before, ["a"]);
  const db = dbOf(before);
  for (const table of ["created", "producers", "ended", "writers"]) db.run(`DROP TABLE ${table}`);
  db.run("PRAGMA user_version = 2");
  await before.close();
  const store = open(path);
  expect(await readTexts(store)).toEqual(["a"]);
  await created(store.created, {}, ["b"]);
  await write(store.created, ["c"], { producer: producer(0, 0) });
  expect(await textsIn(store.created)).toEqual(["b", "c"]);
  expect(readdirSync(`${dirname(path)}/before-upgrade`)).toEqual(["history-schema-2.sqlite"]);
  await store.close();
});

test("positions in a part that a restored copy has lost do not fit what is stored there later", async () => {
  const path = newPath();
  const before = open(path);
  await appendTexts(before, numbers(1, 10));
  await before.close();
  copyFileSync(path, `${path}.copy`);
  const lost = open(path);
  const [eleventh, twelfth] = await appendTexts(lost, ["lost", "lost too"]);
  await lost.close();
  copyFileSync(`${path}.copy`, path);
  const restored = open(path);
  // Beyond the top at first.
  const missing = await restored.read(APP, "channel", { ...ALL, after: 11 });
  expect([missing?.state.epoch, missing?.check]).toEqual([eleventh?.epoch, undefined]);
  // Then another message has that offset, and another check.
  await appendTexts(restored, ["new", "newer", "newest"]);
  for (const position of [eleventh, twelfth]) {
    const page = await restored.read(APP, "channel", { ...ALL, after: position?.offset ?? 0 });
    expect(page?.check).toBeString();
    expect(page?.check).not.toBe(position?.check as string);
  }
  const kept = await restored.read(APP, "channel", { ...ALL, after: 10 });
  expect(kept?.messages.map(({ offset }) => offset)).toEqual([11, 12, 13]);
  await restored.close();
});

test("a stream that a restored copy has lost in part has other checks, and one that was created since is not there", async () => {
  const path = newPath();
  const before = open(path);
  await created(before.created, {}, ["a"]);
  await created(before.created, { channel: "again" }, ["a"]);
  await before.close();
  copyFileSync(path, `${path}.copy`);
  const lost = open(path);
  const kept = await lost.created.describe(NAME);
  const second = await write(lost.created, ["lost"]);
  await lost.created.delete({ ...NAME, channel: "again" });
  const anew = await created(lost.created, { channel: "again" }, ["b", "c"]);
  await created(lost.created, { channel: "late" }, ["a"]);
  await lost.close();
  copyFileSync(`${path}.copy`, path);
  const restored = open(path);
  expect(await restored.created.describe(NAME)).toEqual(kept as CreatedStream);
  await write(restored.created, ["new", "newer"]);
  const at = "end" in second ? second.end : undefined;
  const page = await restored.created.read(NAME, { ...ALL, after: at?.offset ?? 0 });
  if (!page || page === "gone" || !at) throw new Error("the stream is not there");
  expect([page.stream.epoch, page.page.messages.length]).toEqual([at.epoch, 1]);
  expect(page.page.check).not.toBe(at.check);
  const recreated = await restored.created.describe({ ...NAME, channel: "again" });
  expect(recreated === "gone" ? recreated : recreated?.epoch).not.toBe(anew.epoch);
  expect(await restored.created.describe({ ...NAME, channel: "late" })).toBeUndefined();
  await restored.close();
});

test("with sync to disk, every commit is synced", async () => {
  const path = newPath();
  const store = open(path, "disk");
  expect(dbOf(store).query("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
  await appendTexts(store, ["a"]);
  expect(await readTexts(store)).toEqual(["a"]);
  await store.close();
});

test("a full disk fails the batch, stores nothing of it, and the history goes on", async () => {
  const path = newPath();
  const store = open(path);
  await appendTexts(store, ["a"]);
  const limited = dbOf(store);
  const pages = limited.query<{ page_count: number }, []>("PRAGMA page_count").get()?.page_count ?? 0;
  limited.run(`PRAGMA max_page_count = ${pages}`);
  const large = batchOf({ dataJson: '"b"' }, { dataJson: JSON.stringify("x".repeat(60_000)) });
  await expect(store.append(large)).rejects.toBeInstanceOf(HistoryUnavailable);
  expect(await store.settle(large)).toBeUndefined();
  limited.run("PRAGMA max_page_count = 1000000");
  expect((await appendTexts(store, ["c"]))[0]?.offset).toBe(2);
  expect(await readTexts(store)).toEqual(["a", "c"]);
  expect((await store.usage(APP)).messages).toBe(2);
  expect((await store.open(APP, "channel", KEEP)).top).toBe(2);
  await store.close();
});
