/** The wall clock can be set. Code of a running service says by name which clock it reads, and reads it in one place (src/base/README.md, "Time"). */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const SRC = join(import.meta.dir, "../../src");
const CLOCK = "base/clock.ts";
/** Programs that an operator runs and that end. */
const NO_SERVER = ["cli/", "verify/"];

/** Without comments, which may name what the code does not use. */
const codeOf = (file: string): string =>
  readFileSync(join(SRC, file), "utf8").replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");

test("only the file of the clocks reads the wall clock", () => {
  const files = [...new Bun.Glob("**/*.ts").scanSync(SRC)].filter(
    (file) => !/\.test\.ts$|(^|\/)testing\//.test(file) && !NO_SERVER.some((folder) => file.startsWith(folder)),
  );
  const readers = files.filter((file) => /\bDate\.now\b|\bnew Date\(\)/.test(codeOf(file)));
  expect(readers).toEqual([CLOCK]);
});
