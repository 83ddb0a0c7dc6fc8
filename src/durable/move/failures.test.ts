import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { SQL } from "bun";
import { StoreError } from "../../store/contract/store.ts";
import { explained } from "./failures.ts";

const postgresError = (errno: string, message: string, code = "ERR_POSTGRES_SERVER_ERROR"): Error =>
  new SQL.PostgresError(message, { code, errno } as never);

/** As SQLite reports a full disk. */
function fullDisk(): unknown {
  using db = new Database(":memory:");
  db.run("CREATE TABLE things (bytes BLOB)");
  db.run("PRAGMA max_page_count = 2");
  try {
    return db.run("INSERT INTO things VALUES (zeroblob(100000))");
  } catch (error) {
    return error;
  }
}

test.each([
  [
    "a full disk of PostgreSQL",
    postgresError("53100", "could not extend file"),
    /^the disk of PG is full .* running the same command .* continues$/,
  ],
  [
    "missing rights",
    postgresError("42501", "permission denied for schema public"),
    /^PG refuses it .* the user needs the rights to create/,
  ],
  ["a standby", postgresError("25006", "cannot execute INSERT"), /^PG is read-only .* use the primary/],
  [
    "a connection that was lost",
    postgresError("57P01", "terminating connection"),
    /^the connection to PG was lost .* continues$/,
  ],
  ["a cursor that was lost", postgresError("34000", "cursor does not exist"), /^the connection to PG was lost/],
  ["a full disk", fullDisk(), /^the disk of the data folder is full .* continues$/],
])("%s is explained", (_, error, text) => {
  expect(explained(error, "PG")).toBeInstanceOf(StoreError);
  expect((explained(error, "PG") as Error).message).toMatch(text);
});

test("an error that explains itself, and one that is not expected, stay as they are", () => {
  const errors = [new StoreError("a"), new Error("b")];
  for (const error of errors) expect(explained(error, "PG")).toBe(error);
});
