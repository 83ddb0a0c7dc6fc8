/** Files of SQLite read without it, compared with what SQLite says about them. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync, existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolders } from "../testing/places.ts";
import { UnreadableFile, withPages } from "./sqlite-pages.ts";
import { rowsOf } from "./sqlite-rows.ts";

const newFolder = newFolders();
const newPath = (): string => join(newFolder(), "some.sqlite");

/** As a server has it open: locked, with its changes in the log. */
function openLocked(path: string, pageBytes = 4096): Database {
  const db = new Database(path, { create: true });
  db.run(`PRAGMA page_size = ${pageBytes}`);
  db.run("PRAGMA locking_mode = EXCLUSIVE");
  db.run("PRAGMA journal_mode = WAL");
  return db;
}

const read = (path: string) => withPages(path, (pages) => ({ ...pages.header, rows: rowsOf(pages, "things", 3) }));

/** In another process: closing a file ends the locks that this one has on it. */
function readElsewhere(path: string): unknown {
  const script = `import { withPages } from "${join(import.meta.dir, "sqlite-pages.ts")}";
    import { rowsOf } from "${join(import.meta.dir, "sqlite-rows.ts")}";
    console.log(JSON.stringify(withPages(${JSON.stringify(path)}, (pages) => rowsOf(pages, "things", 3))));`;
  return JSON.parse(Bun.spawnSync([process.execPath, "-e", script]).stdout.toString());
}

test.each([512, 4096, 65_536])("rows of all lengths and values, on pages of %d bytes", (pageBytes) => {
  const path = newPath();
  const db = openLocked(path, pageBytes);
  db.run("CREATE TABLE other (long TEXT)");
  db.run("CREATE TABLE things (number BIGINT, text TEXT, last TEXT)");
  const numbers = [0, 1, -1, 127, -129, 40_000, -9_000_000, 2 ** 31, -(2 ** 40), Number.MAX_SAFE_INTEGER];
  const rows = Array.from({ length: 300 }, (_, at) => [numbers[at % numbers.length] ?? 0, "ü".repeat(at % 9), null]);
  for (const row of rows) db.run("INSERT INTO things VALUES (?, ?, ?)", row);
  db.run("INSERT INTO things VALUES (5, 'short', ?)", ["long".repeat(pageBytes)]);
  db.run("PRAGMA user_version = 7");
  db.run("PRAGMA application_id = 1234567");
  db.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
  expect(read(path)).toMatchObject({
    pageBytes,
    userVersion: 7,
    applicationId: 1_234_567,
    rows: [...rows, [5, "short", null]],
  });
});

test("what a running server has committed and not yet copied into the file, and nothing that it has not committed", () => {
  const path = newPath();
  const db = openLocked(path);
  db.run("CREATE TABLE things (number BIGINT, text TEXT, last TEXT)");
  db.run("INSERT INTO things VALUES (1, 'committed', NULL)");
  // More than fits into the cache, so that pages are written before the commit.
  db.run("PRAGMA cache_size = 5");
  db.run("BEGIN");
  for (let at = 0; at < 500; at++) db.run("INSERT INTO things VALUES (2, ?, NULL)", ["not committed".repeat(50)]);
  expect(readElsewhere(path)).toEqual([[1, "committed", null]]);
  db.run("ROLLBACK");
  db.run("UPDATE things SET number = 3");
  expect(readElsewhere(path)).toEqual([[3, "committed", null]]);
  // A log that begins anew has frames of the one before behind its own.
  db.run("PRAGMA wal_checkpoint(RESTART)");
  db.run("UPDATE things SET number = 4");
  expect(readElsewhere(path)).toEqual([[4, "committed", null]]);
  // It is still locked: another process cannot open it.
  const other = Bun.spawnSync([
    process.execPath,
    "-e",
    `new (require("bun:sqlite").Database)(${JSON.stringify(path)}).query("SELECT * FROM things").all()`,
  ]);
  expect(other.stderr.toString()).toContain("database is locked");
  db.close();
});

test("the log that a killed process has left counts, and nothing is changed or made", () => {
  const path = newPath();
  const db = openLocked(path);
  db.run("CREATE TABLE things (number BIGINT, text TEXT, last TEXT)");
  db.run("INSERT INTO things VALUES (1, 'in the log', NULL)");
  const left = newPath();
  for (const side of ["", "-wal"]) copyFileSync(path + side, left + side);
  db.close();
  const before = readFileSync(`${left}-wal`);
  expect(read(left)?.rows).toEqual([[1, "in the log", null]]);
  expect(readFileSync(`${left}-wal`)).toEqual(before);
  expect(readdirSync(join(left, "..")).sort()).toEqual(["some.sqlite", "some.sqlite-wal"]);
  // Cut off in the middle of its last commit: the one before counts.
  truncateSync(`${left}-wal`, before.length - 10);
  expect(read(left)?.rows).toEqual([]);
});

test("an empty file is nothing yet; other files are not readable", () => {
  const path = newPath();
  writeFileSync(path, "");
  expect(read(path)).toBeUndefined();
  for (const text of ["short", "this is no database".repeat(1000)]) {
    writeFileSync(path, text);
    expect(() => read(path)).toThrow(UnreadableFile);
  }
  const db = openLocked(newPath());
  db.run("CREATE TABLE other (x)");
  const file = db.filename;
  db.close();
  expect(read(file)?.rows).toBeUndefined();
});
