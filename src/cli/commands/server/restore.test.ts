/** `parley restore` of backups whose store can be used, and whose messages cannot. */
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { historyFile } from "../../../history/sqlite/file.ts";
import { SqliteHistory } from "../../../history/sqlite/history.ts";
import { appendTexts } from "../../../history/testing/kit.ts";
import { openStore, sqliteFile } from "../../../store/open.ts";
import { parley, temporaryFolder } from "../../testing/kit.ts";

const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A backup of a store and of messages, which `change` has changed before. */
async function backupOf(name: string, change: (history: Database) => void): Promise<string> {
  const data = join(folder, name);
  await (await openStore(data)).close();
  const history = new SqliteHistory({ path: historyFile(data), sync: "process", setAside: console.log });
  await appendTexts(history, ["one", "two"]);
  await history.close();
  const db = new Database(historyFile(data), { readwrite: true });
  change(db);
  db.close();
  const file = join(folder, `${name}.backup`);
  expect(await parley(["backup", file, "--data", data])).toMatchObject({ exitCode: 0 });
  return file;
}

test("messages of a later version are refused before anything is changed", async () => {
  const [usable, later] = [
    await backupOf("usable", () => undefined),
    await backupOf("later", (db) => db.run("PRAGMA user_version = 99")),
  ];
  const data = join(folder, "restored");
  expect(await parley(["restore", usable, "--data", data])).toMatchObject({ exitCode: 0 });
  const before = [sqliteFile(data), historyFile(data)].map((path) => readFileSync(path));
  const { exitCode, stderr } = await parley(["restore", later, "--data", data, "--yes"]);
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringContaining("was made by a newer Parley (the schema of its messages is 99"),
  ]);
  expect([sqliteFile(data), historyFile(data)].map((path) => readFileSync(path))).toEqual(before);
});
