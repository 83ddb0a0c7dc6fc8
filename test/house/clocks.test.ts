/** The wall clock can be set. Code of a running service says by name which clock it reads, and reads it in one place (src/base/README.md, "Time"). */
import { expect, test } from "bun:test";
import { declarationsOf, sourcesIn } from "../support/declarations.ts";

/** Programs that an operator runs and that end. */
const NO_SERVER = ["src/cli/", "src/verify/"];

/** Without comments, which may name what the code does not use. */
const codeOf = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");

test("only the file of the clocks reads the wall clock", () => {
  const sources = sourcesIn("src");
  const readers = [...sources]
    .filter(([file]) => !NO_SERVER.some((folder) => file.startsWith(folder)))
    .filter(([, text]) => /\bDate\.now\b|\bnew Date\(\)/.test(codeOf(text)));
  expect(readers.map(([file]) => file)).toEqual(declarationsOf("systemClock", sources).map(({ file }) => file));
});
