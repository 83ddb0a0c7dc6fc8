/** The planted bugs fit the sources. In full, the walks find each of them. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { BUGS } from "./bugs.ts";
import { RULES_BUGS } from "./rules-bugs.ts";

test("the text of every planted bug is in its file exactly once", () => {
  const misplaced = [...BUGS, ...RULES_BUGS].filter(
    ({ file, find }) => readFileSync(file, "utf8").split(find).length !== 2,
  );
  expect(misplaced.map(({ name }) => name)).toEqual([]);
});

test.if(process.env.PARLEY_TEST_FULL === "1")(
  "the walks find every planted bug",
  async () => {
    const command = [process.execPath, "--no-env-file", "test/model/mutants.ts"];
    const mutants = Bun.spawn(command, { stdio: ["ignore", "pipe", "pipe"] });
    const output = await new Response(mutants.stdout).text();
    expect([await mutants.exited, output.split("\n").filter((line) => line.includes("NOT CAUGHT"))]).toEqual([0, []]);
  },
  3_600_000,
);
