/** Every collection that input can grow has a bound in docs/limits.md: compared with the code, field by field. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const ROOT = join(import.meta.dir, "../..");
const SRC = join(ROOT, "src");
const PAGE = "docs/limits.md";

/** Programs that an operator runs and that end: their memory ends with them. */
const NO_SERVER = ["cli/", "verify/", "config/", "../client/"];

/** Files of src that a running server loads: the imports of main.ts, and theirs. */
function serverFiles(): string[] {
  const found = new Set<string>();
  const visit = (file: string): void => {
    if (found.has(file)) return;
    found.add(file);
    for (const [, target = ""] of readFileSync(file, "utf8").matchAll(/(?:from|import\() ?"(\.[^"]+\.ts)"/g))
      visit(join(dirname(file), target));
  };
  visit(join(SRC, "main.ts"));
  return [...found]
    .map((file) => relative(SRC, file))
    .filter((file) => !NO_SERVER.some((folder) => file.startsWith(folder)))
    .sort();
}

const COLLECTION = String.raw`(?:new (?:Weak)?(?:Map|Set)\b|\[\]|new Array\b|Array\.from\b)`;
const pattern = (before: string): RegExp => new RegExp(`${before}${COLLECTION}`);
const FORMS: readonly RegExp[] = [
  // In a class: `private readonly byKey = new Map()`, `ready: Subscription[] = []`.
  pattern(String.raw`^  (?:(?:private|protected|public|readonly|static|override) )*#?(\w+)(?::.*)? = `),
  // In a module: `const found = new Map()`.
  pattern(String.raw`^(?:export )?(?:const|let) (\w+)(?::.*)? = `),
  // Created when needed: `this.names = new Set(…)`, `member.remote ??= new Map()`, `{ parts: new Map() }`.
  pattern(String.raw`\.(\w+) (?:\?\?)?= `),
  /\b(\w+): new (?:Map|Set)\b/,
  // A list that is an array only if it has several elements: `private held: Few<Connection>`.
  /^ {2}(?:private |readonly )*(\w+): Few</,
];
/** `const METHODS = new Set(["GET", …])`: it never grows. */
const CONSTANT = /^(?:export )?const [A-Z_]+(?::.*)? = .*\(.+/;

/** `file:name` of each collection that lives longer than a call. */
function collections(file: string): string[] {
  return readFileSync(join(SRC, file), "utf8")
    .split("\n")
    .filter((line) => !CONSTANT.test(line) && !/^ {2}return\b/.test(line))
    .flatMap((line) => {
      const name = FORMS.map((form) => form.exec(line)?.[1]).find((found) => found !== undefined);
      return name === undefined ? [] : [`${file}:${name}`];
    });
}

/** A collection that a closure keeps: `const counters = new Map()` inside a function. */
function isInClosure(entry: string): boolean {
  const [file = "", name = ""] = entry.split(":");
  const path = join(SRC, file);
  return existsSync(path) && pattern(String.raw`\bconst ${name}(?::.*)? = `).test(readFileSync(path, "utf8"));
}

/** The first cell of each row of the table for maintainers: `file:name`. */
const listed = (page: string): string[] =>
  [...page.matchAll(/^\| `([\w./-]+\.ts:\w+)` \|([^|]*)\|([^|]*)\|/gm)].map(([, entry = ""]) => entry);

test(`every collection that a server keeps is in ${PAGE} with its bound`, () => {
  const page = readFileSync(join(ROOT, PAGE), "utf8");
  const known = new Set(listed(page));
  const missing = [...new Set(serverFiles().flatMap(collections))].filter((entry) => !known.has(entry));
  const rows = missing.map((entry) => `| \`${entry}\` | what it holds | its bound, and what happens at it |`);
  expect(rows, `add to the table "By file" of ${PAGE}, sorted by file:\n${rows.join("\n")}\n`).toEqual([]);
});

test(`every row of ${PAGE} names an existing collection, once, with a bound`, () => {
  const page = readFileSync(join(ROOT, PAGE), "utf8");
  const entries = listed(page);
  const kept = new Set(serverFiles().flatMap(collections));
  const gone = entries.filter((entry) => !kept.has(entry) && !isInClosure(entry));
  expect(gone, `remove these rows from ${PAGE}, or name them anew:\n${gone.join("\n")}\n`).toEqual([]);
  expect(entries.filter((entry, at) => entries.indexOf(entry) !== at)).toEqual([]);
  const empty = [...page.matchAll(/^\| `[\w./-]+\.ts:\w+` \|.*$/gm)].filter(
    ([row]) => row.split("|").filter((cell) => cell.trim() !== "").length < 3,
  );
  expect(empty.map(([row]) => row)).toEqual([]);
});
