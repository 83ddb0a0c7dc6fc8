/** What is found of a store that is not opened. PostgreSQL's is in engines/postgres.test.ts. */
import { expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "./contract/store.ts";
import { foundEmbedded } from "./found.ts";
import { noteVersion } from "./identity.ts";
import { schemaVersion } from "./migrate.ts";
import { openSqlite, openStore, sqliteFile } from "./open.ts";
import { fillAsVersion } from "./testing/older.ts";
import { newFolders } from "./testing/places.ts";

const newFolder = newFolders();

/** In another process: a file that is closed takes the locks of its process with it. */
function foundElsewhere(folder: string): unknown {
  const script = `import { foundEmbedded } from "${join(import.meta.dir, "found.ts")}";
    console.log(JSON.stringify(foundEmbedded(${JSON.stringify(folder)})))`;
  return JSON.parse(Bun.spawnSync([process.execPath, "-e", script]).stdout.toString());
}

test("a folder without a store, and one whose start has only made the file", () => {
  const folder = newFolder();
  expect(foundEmbedded(folder)).toEqual({ schema: 0, version: undefined, bytes: 0, notStarted: undefined });
  writeFileSync(sqliteFile(folder), "");
  expect(foundEmbedded(folder).schema).toBe(0);
  expect(readdirSync(folder)).toEqual(["parley.sqlite"]);
});

test("a store that is in use: its schema, the version that was started on it, and the size of a copy", async () => {
  const folder = newFolder();
  const store = await openStore(folder);
  await noteVersion(store, "1.2.3");
  expect(foundElsewhere(folder)).toEqual({ schema: schemaVersion(), version: "1.2.3", bytes: expect.any(Number) });
  await noteVersion(store, "1.2.4");
  expect(foundElsewhere(folder)).toMatchObject({ version: "1.2.4" });
  await store.close();
});

test("a store of an earlier version", async () => {
  const folder = newFolder();
  const sql = await openSqlite(sqliteFile(folder));
  await fillAsVersion(sql, 16);
  await sql.close();
  expect(foundEmbedded(folder)).toMatchObject({ schema: 16, version: undefined });
});

test("a file that is no database is named", () => {
  const folder = newFolder();
  writeFileSync(sqliteFile(folder), "not a database".repeat(100));
  expect(() => foundEmbedded(folder)).toThrow(StoreError);
  expect(() => foundEmbedded(folder)).toThrow(`${sqliteFile(folder)} is not a readable database`);
});
