/** The embedded stores: what they hold is listed, and what is left of a deleted application. */
import { afterEach, describe, expect, test } from "bun:test";
import { historyFile, openHistoryFile } from "../history/sqlite/file.ts";
import { SqliteHistory } from "../history/sqlite/history.ts";
import type { DbRow } from "../store/engines/rows.ts";
import { openStore } from "../store/open.ts";
import { newFolders } from "../store/testing/places.ts";
import { databaseOf } from "../store/testing/recordings.ts";
import { HISTORY_TABLES, STORE_TABLES } from "./inventory/inventory.ts";
import { type DurableStores, deletionSuite } from "./testing/deletion.suite.ts";
import { expectListed } from "./testing/inventory.suite.ts";
import { sqliteTables, tablesIn } from "./testing/tables.ts";

const newFolder = newFolders();
const opened: DurableStores[] = [];
afterEach(async () => {
  for (const { store, history } of opened.splice(0)) {
    await history.close();
    await store.close();
  }
});

async function open(): Promise<DurableStores> {
  const folder = newFolder();
  const history = new SqliteHistory({ path: historyFile(folder), sync: "process", setAside: () => undefined });
  const stores = { store: await openStore(folder), history };
  opened.push(stores);
  return stores;
}

describe("the inventory", () => {
  test("lists every table and column of the embedded store", async () => {
    const { store } = await open();
    expectListed(await tablesIn(databaseOf(store)), STORE_TABLES);
  });

  test("lists every table and column of the embedded history", async () => {
    const path = historyFile(newFolder());
    const db = openHistoryFile({ path, sync: "process", setAside: () => undefined });
    expectListed(await sqliteTables(async (text) => db.query<DbRow, []>(text).all()), HISTORY_TABLES);
    db.close();
  });

  test("notices a table and a column that it does not list", async () => {
    const { store } = await open();
    await databaseOf(store).run((sql) => sql`ALTER TABLE blocks ADD COLUMN why TEXT`);
    const found = await tablesIn(databaseOf(store));
    expect(() => expectListed(found, STORE_TABLES)).toThrow("why");
    expect(() => expectListed(found, STORE_TABLES.slice(1))).toThrow("migrations");
  });
});

describe("the deletion of an application", () => deletionSuite(open));
