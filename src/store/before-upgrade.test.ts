/** What an upgrade of the embedded store leaves behind: sentences, a copy, and after a failure the store as it was. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CopyBeforeUpgrade, copiesFolder, type UpgradeLog } from "./before-upgrade.ts";
import { StoreError } from "./contract/store.ts";
import { foundEmbedded } from "./found.ts";
import { schemaVersion } from "./migrate.ts";
import { openSqlite, openStore, sqliteFile } from "./open.ts";
import { fillAsVersion } from "./testing/older.ts";
import { newFolders } from "./testing/places.ts";

const OLD = 16;
const NOW = schemaVersion();
const newFolder = newFolders();

/** A data folder as the version with schema 16 has left it. */
async function oldFolder(): Promise<string> {
  const folder = newFolder();
  const sql = await openSqlite(sqliteFile(folder));
  await fillAsVersion(sql, OLD);
  await sql.close();
  return folder;
}

function heard(): UpgradeLog & { readonly lines: string[] } {
  const lines: string[] = [];
  return { lines, info: (text) => lines.push(text), warn: (text) => lines.push(`warning: ${text}`) };
}

const copiesIn = (folder: string): string[] =>
  existsSync(copiesFolder(folder)) ? readdirSync(copiesFolder(folder)).sort() : [];

/** Schema and applications of a file that is not open. */
function contentOf(path: string): unknown {
  using db = new Database(path, { readwrite: true, create: false });
  const flaw = db.query("PRAGMA integrity_check").get();
  return [flaw, db.query("SELECT MAX(version) AS schema FROM migrations").get(), db.query("SELECT id FROM apps").all()];
}

const WHOLE_AND_OLD = [{ integrity_check: "ok" }, { schema: OLD }, [{ id: "old" }]];

test("an upgrade is announced before and after, and the store of before is copied for its owner alone", async () => {
  const folder = await oldFolder();
  const log = heard();
  await (await openStore(folder, "", log)).close();
  const copy = join(folder, "before-upgrade", `parley-schema-${OLD}.sqlite`);
  expect(log.lines).toEqual([
    `upgrading the store: schema ${OLD} → ${NOW}`,
    `the store was upgraded to schema ${NOW}, in less than a second; a copy of the old store is in ${copy}`,
  ]);
  expect(contentOf(copy)).toEqual(WHOLE_AND_OLD);
  expect([statSync(copy).mode & 0o777, statSync(join(folder, "before-upgrade")).mode & 0o777]).toEqual([0o600, 0o700]);
  expect(foundEmbedded(folder).schema).toBe(NOW);
});

test("a new store, and one of this version, are opened without a word and without a copy", async () => {
  const folder = newFolder();
  const log = heard();
  for (const _start of ["the first", "the second"]) await (await openStore(folder, "", log)).close();
  expect([log.lines, copiesIn(folder)]).toEqual([[], []]);
});

test("a migration that fails leaves the store as it was, and says where its copy is", async () => {
  const folder = await oldFolder();
  using db = new Database(sqliteFile(folder));
  // The last migration makes this table: all before it have been run then.
  db.run("CREATE TABLE usage_writers (x)");
  db.close();
  const failed = await openStore(folder).then(String, (error: Error) => error);
  expect(failed).toBeInstanceOf(StoreError);
  expect(String(failed)).toContain(`could not be upgraded from schema ${OLD} to ${NOW}: table usage_writers already`);
  expect(String(failed)).toContain(`It is also in ${join(copiesFolder(folder), `parley-schema-${OLD}.sqlite`)}`);
  expect(contentOf(sqliteFile(folder))).toEqual(WHOLE_AND_OLD);
  using mended = new Database(sqliteFile(folder));
  mended.run("DROP TABLE usage_writers");
  mended.close();
  await (await openStore(folder)).close();
  expect(foundEmbedded(folder).schema).toBe(NOW);
});

test("without room for the copy nothing is changed, and the message says what to do", () => {
  const dataFolder = newFolder();
  const begin = () => new CopyBeforeUpgrade({ dataFolder, store: "parley", schema: 1, bytes: 2 ** 60 });
  expect(begin).toThrow(StoreError);
  expect(begin).toThrow("there is not enough space to copy the store before its upgrade: 1048576.0 TiB are needed in");
  expect(begin).toThrow("a link to a folder on another disk");
  expect(copiesIn(dataFolder)).toEqual([]);
});

test("the folder of the copies may be a link to another disk", async () => {
  const [folder, elsewhere] = [await oldFolder(), newFolder()];
  symlinkSync(elsewhere, copiesFolder(folder));
  await (await openStore(folder)).close();
  expect(readdirSync(elsewhere)).toEqual([`parley-schema-${OLD}.sqlite`]);
});

test("two copies are kept, and what a killed process has left is removed", async () => {
  const folder = await oldFolder();
  const copies = copiesFolder(folder);
  mkdirSync(copies);
  for (const [at, schema] of [11, 12, 13].entries()) {
    const file = join(copies, `parley-schema-${schema}.sqlite`);
    writeFileSync(file, "older");
    utimesSync(file, at, at);
  }
  const others = ["history-schema-1.sqlite", "mine.txt"];
  const left = ["parley-schema-13.sqlite.0123abcd.partial", "parley-schema-16.sqlite.4567abcd.partial-journal"];
  for (const name of [...others, ...left]) writeFileSync(join(copies, name), "");
  await (await openStore(folder)).close();
  expect(copiesIn(folder)).toEqual([
    others[0] ?? "",
    "mine.txt",
    "parley-schema-13.sqlite",
    `parley-schema-${OLD}.sqlite`,
  ]);
});
