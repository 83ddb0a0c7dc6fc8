/** The command line of `parley move`; test/faults/moves.test.ts runs it. */
import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UsageError } from "../../line/errors.ts";
import { Input } from "../../line/input.ts";
import { moveStore } from "./move.ts";

const DATA = join(tmpdir(), "parley-no-such-folder");

const refusal = (flags: Readonly<Record<string, string>>, env = {}): Promise<unknown> =>
  moveStore(new Input([], new Map(Object.entries({ data: DATA, ...flags })), env)).catch((error: unknown) => error);

test.each([
  ["no direction", {}, "needs one of --to, --from and --reopen"],
  ["two directions", { to: "postgres", reopen: "" }, "needs one of --to, --from and --reopen"],
  ["no database", { to: "postgres" }, "--to postgres is the database of PARLEY_DATABASE_URL, which is not set"],
  ["another database", { from: "mysql://host/db" }, "--from must be postgres://user@host/database"],
  ["no host", { from: "postgres:///db" }, "--from must be postgres://user@host/database"],
])("%s is refused", async (_, flags, text) => {
  const error = await refusal(flags);
  expect(error).toBeInstanceOf(UsageError);
  expect((error as Error).message).toContain(text);
});

test("without a store there is nothing to move or to reopen, and no folder is made", async () => {
  for (const flags of [{ to: "postgres://user@host/db" }, { reopen: "" }])
    expect(String(await refusal(flags))).toContain(`${DATA} has no store; pass the data folder with --data`);
  expect(await Bun.file(DATA).exists()).toBe(false);
});
