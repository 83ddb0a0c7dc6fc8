/** The calls of Bun's SQL that the store uses, on statements that are compiled once. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { SQL } from "bun";
import { newFolders } from "../testing/places.ts";
import { openPrepared } from "./prepared-sqlite.ts";
import { isUniqueViolation } from "./rows.ts";

const newFolder = newFolders();

async function withThings(path = join(newFolder(), "test.sqlite")): Promise<SQL> {
  const sql = openPrepared(path);
  await sql.unsafe(
    "CREATE TABLE things (id TEXT UNIQUE, n BIGINT); -- a comment; with a semicolon\nCREATE INDEX things_n ON things (n);",
  );
  return sql;
}

const put = (sql: SQL, id: string, n: number | null | undefined): Promise<unknown[]> =>
  sql`INSERT INTO things (id, n) VALUES (${id}, ${n}) RETURNING id`;
const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);
const all = async (sql: SQL): Promise<string[]> => idsOf(await sql`SELECT id FROM things ORDER BY id`);

test("templates, lists, rows and placeholders give their values to the statement", async () => {
  const sql = await withThings();
  expect(await put(sql, "'); DROP TABLE things", Number.MAX_SAFE_INTEGER)).toEqual([{ id: "'); DROP TABLE things" }]);
  await put(sql, "null", null);
  await put(sql, "undefined", undefined);
  await sql`INSERT INTO things ${sql([
    { id: "a", n: 1 },
    { id: "b", n: 2 },
  ])}`;
  expect(await sql`SELECT n FROM things WHERE id = ${"'); DROP TABLE things"}`).toEqual([
    { n: Number.MAX_SAFE_INTEGER },
  ]);
  expect(idsOf(await sql`SELECT id FROM things WHERE n IS NULL ORDER BY id`)).toEqual(["null", "undefined"]);
  for (const ids of [["a"], ["a", "b", "c"], []]) {
    const found = await sql`SELECT id FROM things WHERE n > ${0} AND id IN ${sql(ids)} AND n < ${5} ORDER BY id`;
    expect(idsOf(found)).toEqual(ids.filter((id) => id !== "c"));
  }
  expect(idsOf(await sql.unsafe("SELECT id FROM things WHERE n = $1 OR n = $2 ORDER BY id", [1, 2]))).toEqual([
    "a",
    "b",
  ]);
  expect(await sql.unsafe("PRAGMA foreign_keys = ON")).toEqual([]);
  await sql.close();
});

test("a statement works after it has failed, and after the schema has changed", async () => {
  const sql = await withThings();
  await put(sql, "a", 1);
  const error = await put(sql, "a", 2).catch((reason: unknown) => reason);
  expect(isUniqueViolation(error)).toBe(true);
  await put(sql, "b", 2);
  const whole = (): Promise<unknown[]> => sql`SELECT * FROM things WHERE id = ${"a"}`;
  expect(await whole()).toEqual([{ id: "a", n: 1 }]);
  await sql.unsafe("ALTER TABLE things ADD COLUMN more TEXT NOT NULL DEFAULT 'x'");
  expect(await whole()).toEqual([{ id: "a", n: 1, more: "x" }]);
  expect(await all(sql)).toEqual(["a", "b"]);
  await sql.close();
});

test("a transaction is all or nothing, whatever throws in it", async () => {
  const sql = await withThings();
  expect(await sql.begin(async (tx) => (await put(tx, "kept", 1)).length)).toBe(1);
  const failing = (work: (tx: SQL) => Promise<unknown>): Promise<unknown> =>
    sql.begin(async (tx) => {
      await put(tx, "lost", 1);
      return work(tx);
    });
  await expect(
    failing(async () => {
      throw new Error("no");
    }),
  ).rejects.toThrow("no");
  await expect(failing((tx) => put(tx, "kept", 1))).rejects.toThrow("UNIQUE");
  // The database has rolled back already.
  await expect(failing((tx) => tx.unsafe("INSERT OR ROLLBACK INTO things VALUES ($1, 1)", ["kept"]))).rejects.toThrow(
    "UNIQUE",
  );
  expect(await all(sql)).toEqual(["kept"]);
  await sql.close();
});

test("a closed file can be opened again at once, also after it was locked", async () => {
  const path = join(newFolder(), "test.sqlite");
  for (const id of ["a", "b"]) {
    const sql = openPrepared(path);
    await sql`PRAGMA locking_mode = EXCLUSIVE`;
    await sql`CREATE TABLE IF NOT EXISTS things (id TEXT PRIMARY KEY, n BIGINT)`;
    await put(sql, id, 1);
    expect(await all(sql)).toContain(id);
    await sql.close();
  }
});

test("texts that come often stay compiled, and however many others come, each gives its rows", async () => {
  const sql = await withThings();
  await put(sql, "a", 1);
  const text = (column: number): string => `SELECT id AS c${column} FROM things WHERE n = $1`;
  for (let round = 0; round < 2; round++)
    for (let column = 0; column < 200; column++)
      expect(await sql.unsafe(text(column), [1])).toEqual([{ [`c${column}`]: "a" }]);
  await sql.unsafe("INSERT INTO things (id, n) VALUES ($1, $2)", ["b", 2]);
  const repeated = sql.unsafe("INSERT INTO things (id, n) VALUES ($1, $2)", ["b", 2]);
  expect(isUniqueViolation(await repeated.catch((reason: unknown) => reason))).toBe(true);
  await sql.unsafe("INSERT INTO things (id, n) VALUES ($1, $2)", ["c", 3]);
  await sql.unsafe("ALTER TABLE things ADD COLUMN more TEXT NOT NULL DEFAULT 'x'");
  expect(await all(sql)).toEqual(["a", "b", "c"]);
  await sql.close();
});
