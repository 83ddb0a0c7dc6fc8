/** Every collection that a server keeps says beside its declaration what limits its size: input must not make it grow without end. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type Source, unbounded } from "./collections.ts";

const SRC = join(import.meta.dir, "../../src");

/** Programs that an operator runs and that end: their memory ends with them. */
const NO_SERVER = ["cli/", "verify/", "config/", "../client/"];

const RULE = `A collection that lives longer than a call needs a comment with "Bound:" directly above its declaration, or behind it on the
same line: what limits its size, and what happens beyond that. If it is created elsewhere (x.y ??= new Map(), { y: new Set() }), the
comment is at the field y of a class or interface, in the same file or in one that it imports, or above the line that creates it.`;

const importsOf = (file: string, text: string): string[] =>
  [...text.matchAll(/(?:from|import\() ?"(\.[^"]+\.ts)"/g)].map(([, target = ""]) => join(dirname(file), target));

/** Files of src that a running server loads: the imports of main.ts, and theirs. */
function serverSources(): Source[] {
  const texts = new Map<string, string>();
  const visit = (file: string): void => {
    if (texts.has(file)) return;
    const text = readFileSync(file, "utf8");
    texts.set(file, text);
    importsOf(file, text).forEach(visit);
  };
  visit(join(SRC, "main.ts"));
  return [...texts]
    .map(([path, text]) => ({
      file: relative(SRC, path),
      text,
      imported: importsOf(path, text).map((target) => texts.get(target) ?? ""),
    }))
    .filter(({ file }) => !NO_SERVER.some((folder) => file.startsWith(folder)))
    .sort((a, b) => a.file.localeCompare(b.file));
}

test("every collection that a server keeps has its bound at its declaration", () => {
  const sources = serverSources();
  // Without this, a change to how files are found could pass by finding none.
  expect(sources.length).toBeGreaterThan(300);
  const found = sources.flatMap(unbounded);
  expect(found, `${RULE}\n${found.join("\n")}\n`).toEqual([]);
});

describe("a collection without a bound is found", () => {
  const found = (text: string, ...imported: string[]): string[] =>
    unbounded({ file: "a.ts", text, imported }).map((line) => line.split(":")[1] ?? "");

  test.each([
    ["in a class", "class A {\n  /** By key. */\n  private readonly byKey = new Map<string, A>();\n}", "3"],
    ["with a type", "class A {\n  ready: A[] = [];\n}", "2"],
    ["as a list of few", "class A {\n  private held: Few<A>;\n}", "2"],
    ["in a module", "const states = new WeakMap<A, B>();", "1"],
    ["created when needed", "interface A {\n  b?: Set<string>;\n}\nfunction f(a: A) {\n  a.b ??= new Set();\n}", "5"],
    ["in an object", "function f() {\n  g({ c: 1, b: new Map() });\n}", "2"],
    ["below one that has a bound", "class A {\n  // Bound: one.\n  b = new Set();\n  c = new Set();\n}", "4"],
    [
      "whose bound is of another field",
      "class A {\n  // Bound: one.\n  c?: A[];\n  f() {\n    this.b = [];\n  }\n}",
      "5",
    ],
  ])("%s", (_where, text, line) => {
    expect(found(text)).toEqual([line]);
  });

  test("also if only an imported class has a field of that name", () => {
    expect(found("class A {\n  f() {\n    this.b = [];\n  }\n}", "class B {\n  // Bound: one.\n  b: A[];\n}")).toEqual([
      "3",
    ]);
  });

  test.each([
    [
      "above it",
      "class A {\n  /**\n   * By key.\n   * Bound: one per key.\n   */\n  private readonly byKey = new Map();\n}",
    ],
    ["behind it", "class A {\n  private readonly keys: string[] = []; // Bound: as `apps`.\n}"],
    ["at its field", "class A {\n  // Bound: one.\n  private b: A[] = [];\n  f() {\n    this.b = [];\n  }\n}"],
    ["above its creation", "function f(a: A) {\n  // Bound: one.\n  a.b ??= new Set();\n}"],
  ])("and one with a bound %s is not", (_where, text) => {
    expect(found(text)).toEqual([]);
  });

  test("nor one whose bound is at the field of an imported interface", () => {
    expect(found("function f(a: A) {\n  a.b ??= [];\n}", "interface A {\n  /** Bound: two. */\n  b?: A[];\n}")).toEqual(
      [],
    );
  });

  test("nor a constant, nor the result of a function", () => {
    expect(found('const METHODS = new Set(["GET"]);\nfunction f() {\n  return { a: new Map() };\n}')).toEqual([]);
  });
});
