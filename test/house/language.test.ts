/**
 * Words that cost a newcomer time, and what to write instead. The terms to use are in the docs/glossary.md.
 *
 * Read: all of src/, web/ and bench/ (code and comments), the pages, and in test/ comments and the names of tests.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");

interface Rule {
  readonly pattern: RegExp;
  readonly instead: string;
}

/** In prose: comments, texts, pages, names of tests. */
const PROSE: readonly Rule[] = [
  { pattern: /\bwords\b/i, instead: "messages" },
  { pattern: /\btold\b/i, instead: "sent, shown, notified" },
  { pattern: /\bsomebody\b/i, instead: "a node, a client, a peer" },
  { pattern: /\b(nobody|everybody|anybody|whoever)\b/i, instead: "no one, all members, the caller: name who it is" },
  { pattern: /\bfor ever\b/i, instead: "without a limit, forever" },
  { pattern: /\bso (long|many|much|often)\b/i, instead: "the number itself, or while, as long as, as many as" },
  { pattern: /(\*|\/\/) +Of [a-z]/, instead: "a whole sentence" },
  {
    pattern:
      /\b(bytes|[KM]i?B|B|one|file|object|class|frames?|messages?|rows?|closure|timer) an? (connection|channel|application|node|peer|resource|key|subscriber|recording|room)\b/i,
    instead: "per connection, per channel, …",
  },
];

/** Identifiers, without comments and strings. */
const NAMES: readonly Rule[] = [{ pattern: /\b(again|told|words|somebody)\b/, instead: "a name from the glossary" }];

const scan = (pattern: string): string[] =>
  [...new Bun.Glob(pattern).scanSync(ROOT)]
    .filter((file) => !/node_modules|\.build|client\/dist|language\.test/.test(file))
    .sort();

const CODE = ["src", "web", "client", "bench", "scripts"].flatMap((folder) => scan(`${folder}/**/*.{ts,tsx,html}`));
const PAGES = [...scan("docs/**/*.md"), ...scan("*.md").filter((file) => file !== "CHANGELOG.md")];
const TESTS = scan("test/**/*.ts");

function findings(file: string, text: string, rules: readonly Rule[]): string[] {
  return text
    .split("\n")
    .flatMap((line, at) =>
      rules
        .filter(({ pattern }) => pattern.test(line))
        .map(({ pattern, instead }) => `${file}:${at + 1}: "${pattern.exec(line)?.[0]}" (${instead})`),
    );
}

const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");

/** Comments and names of tests; everything else as empty lines. */
const proseOf = (text: string): string =>
  text
    .split("\n")
    .map((line) => (/^\s*(\/\*\*|\*|\/\/)|\b(test|describe)(\.\w+(\(.*?\))?)?\(["`]/.test(line) ? line : ""))
    .join("\n");

/** The expressions of a template, and its line breaks. */
const withoutText = (template: string): string => template.match(/\$\{[^}]*\}?|\n/g)?.join("") ?? "";

/** The code alone. */
const codeOf = (text: string): string =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ""))
    .replace(/(^|\s)\/\/.*$/gm, "")
    .replace(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, '""')
    .replace(/`(?:[^`\\]|\\.)*`/g, withoutText);

test("comments, error texts and pages use the field's own words", () => {
  const found = [
    ...[...CODE, ...PAGES].flatMap((file) => findings(file, read(file), PROSE)),
    ...TESTS.flatMap((file) => findings(file, proseOf(read(file)), PROSE)),
  ];
  expect(found).toEqual([]);
});

test("identifiers do too", () => {
  const typescript = [...CODE, ...TESTS].filter((file) => /\.tsx?$/.test(file));
  const found = typescript.flatMap((file) => findings(file, codeOf(read(file)), NAMES));
  expect(found).toEqual([]);
});
