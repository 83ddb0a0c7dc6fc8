/** What no other file uses is not exported, and what nothing uses is not kept: an export says that others depend on it. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/import-graph.ts";

/** Where a use counts: pages and programs beside the TypeScript, too. */
const FILES = ["src", "web", "client", "test", "bench", "scripts", "examples", "deploy"]
  .flatMap((folder) => [...new Bun.Glob(`${folder}/**/*.{ts,tsx,mjs,js,html}`).scanSync(ROOT)])
  .filter((file) => !/node_modules|\.build|\/dist|\/\.tools/.test(file));

/** Applications import the client's own files, and client/types shows the compiler right and wrong uses of them. */
const isPublic = (file: string): boolean => file.startsWith("client/") || file.startsWith("examples/");

/** A type counts only if it says what a class is built from: others are results and arguments, which callers may want to name. */
const EXPORT =
  /^export (?:(?:async )?(?:abstract )?(?:function\*?|const|let|class|enum) ([\w$]+)|(?:interface|type) (\w*Parts)\b)/gm;
const TYPE = /^export (?:interface|type) ([\w$]+)/gm;

const texts = new Map(FILES.map((file) => [file, readFileSync(join(ROOT, file), "utf8")]));
/** How many files have a name, and how often one file has it; comments count, so that a finding is always right. */
const namesIn = (text: string): string[] => text.match(/[A-Za-z_$][\w$]*/g) ?? [];
const filesWith = new Map<string, number>();
for (const text of texts.values())
  for (const name of new Set(namesIn(text))) filesWith.set(name, (filesWith.get(name) ?? 0) + 1);

const declared = (form: RegExp): [file: string, name: string][] =>
  [...texts]
    .filter(([file]) => /\.tsx?$/.test(file) && !isPublic(file))
    .flatMap(([file, text]) =>
      [...text.matchAll(form)].map(([, name, parts]): [string, string] => [file, name ?? parts ?? ""]),
    );

test("every exported function, constant and class, and what a class is built from, is named in another file", () => {
  const values = declared(EXPORT);
  expect(values.length).toBeGreaterThan(1000);
  expect(values.filter(([, name]) => filesWith.get(name) === 1)).toEqual([]);
});

test("every exported type is used", () => {
  const isUsed = ([file, name]: [string, string]): boolean =>
    (filesWith.get(name) ?? 0) > 1 || namesIn(texts.get(file) ?? "").filter((one) => one === name).length > 1;
  expect(declared(TYPE).filter((type) => !isUsed(type))).toEqual([]);
});
