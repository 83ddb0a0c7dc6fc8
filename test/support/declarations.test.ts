import { describe, expect, test } from "bun:test";
import { declarationOf, declarationsOf, sourcesIn } from "./declarations.ts";

const CLASS = "export class Hut {\n  enter(\n    a: number,\n  ): void {\n    open();\n  }\n}";
const FUNCTION = "export async function hut(\n  a: number,\n): Promise<void> {\n  open();\n}";
const CONSTANT = "const HUT =\n  open();";
const TYPE = 'export type Kind =\n  | "a"\n  | "b";';
const FILE = `import { open } from "./open.ts";\n\n/** Hut. */\n${CLASS}\n\n${FUNCTION}\n// HUT\n${CONSTANT}\n${TYPE}\n`;

describe("a declaration", () => {
  test.each([
    ["Hut", CLASS],
    ["hut", FUNCTION],
    ["HUT", CONSTANT],
    ["Kind", TYPE],
  ])("is found by its name: %s", (name, text) => {
    const sources = new Map([["a.ts", FILE]]);
    expect(declarationOf(name, sources).trimEnd()).toBe(text);
    const [{ before, text: found, after } = { before: "", text: "", after: "" }] = declarationsOf(name, sources);
    expect(before + found + after).toBe(FILE);
  });

  test("that no file has is an error, and so is one that two files have", () => {
    const sources = new Map([
      ["a.ts", FILE],
      ["b.ts", CLASS],
    ]);
    expect(declarationsOf("Hu", sources)).toEqual([]);
    expect(() => declarationOf("Hu", sources)).toThrow("no source declares Hu");
    expect(() => declarationOf("Hut", sources)).toThrow("Hut is declared in a.ts and b.ts");
    expect(declarationsOf("Hut", sources).map(({ file }) => file)).toEqual(["a.ts", "b.ts"]);
  });
});

test("sources are without tests and their support", () => {
  const files = [...sourcesIn("src").keys()];
  expect(files).toContain("src/main.ts");
  expect(files.filter((file) => /\.test\.|testing/.test(file))).toEqual([]);
});
