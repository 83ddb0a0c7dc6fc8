/** The planted bugs fit the sources. In full, the walks find each of them. */
import { describe, expect, test } from "bun:test";
import { type Sources, sourcesIn } from "../support/declarations.ts";
import { BUGS, type Bug } from "./bugs.ts";
import { planted } from "./planting.ts";
import { RULES_BUGS } from "./rules-bugs.ts";

test("the text of every planted bug is exactly once in what the bug names", () => {
  const sources = sourcesIn("src");
  expect(sources.size).toBeGreaterThan(300);
  const misplaced = [...BUGS, ...RULES_BUGS].flatMap((bug) => {
    try {
      planted(bug, sources);
      return [];
    } catch (error) {
      return [String(error)];
    }
  });
  expect(misplaced).toEqual([]);
});

describe("a bug", () => {
  const bug: Bug = { name: "b", in: "Hut", find: "open()", replace: "shut()" };
  const sources = (...texts: string[]): Sources => new Map(texts.map((text, at) => [`src/${at}.ts`, text]));
  const hut = "export class Hut {\n  enter(\n    a: number,\n  ) {\n    open();\n  }\n}\n";

  test("is planted in the class that it names, whichever file has it", () => {
    const other = "export class Huts {\n  enter() {\n    open();\n  }\n}\n\nconst last = open();\n";
    expect(planted(bug, sources(other, other + hut + other))).toEqual({
      file: "src/1.ts",
      text: other + hut.replace("open()", "shut()") + other,
    });
  });

  test("fails if nothing has its name", () => {
    expect(() => planted({ ...bug, in: "Hu" }, sources(hut))).toThrow('"b": no source declares Hu');
  });

  test.each([
    [0, [hut.replace("open()", "close()")]],
    [2, [hut.replace("open()", "open(), open()")]],
    [2, [hut, hut]],
  ])("fails if its text is there %i times", (times, texts) => {
    expect(() => planted(bug, sources(...texts))).toThrow(`"b": its text is ${times} times in Hut of src/0.ts`);
  });
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
