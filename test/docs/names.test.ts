/** Every command, flag, setting, script, metric and file that a page names exists. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { COMMANDS, commandAt, FLAG_KINDS } from "../../src/cli/declarations/all.ts";
import { parseCommand } from "../../src/cli/dispatch.ts";
import { NAMES, SETTINGS } from "../../src/config/settings.ts";
import { callsOf, codeOn } from "./support/named.ts";
import { PROJECT, readPage } from "./support/page.ts";

const scan = (pattern: string): string[] =>
  [...new Bun.Glob(pattern).scanSync(PROJECT)].filter((path) => !path.includes("node_modules")).sort();

/** All but the changelog, which names what existed then. */
const PAGES = [
  ...["README.md", "CONTRIBUTING.md", "SECURITY.md"],
  ...scan("{docs,examples,deploy}/**/*.md"),
  ...scan("{src,web,client}/**/README.md"),
];

const textOf = (pattern: string, without = /^$/): string =>
  scan(pattern)
    .filter((path) => !without.test(path))
    .map((path) => readFileSync(join(PROJECT, path), "utf8"))
    .join("\n");

const SOURCES = textOf("src/**/*.ts", /\.test\.ts$|\/testing\//);
const SCRIPTS = textOf("{test,bench,scripts}/**/*.{ts,sh}");

/** One line per page and name for which `isKnown` does not hold. `folder` is that of the page: an example is a project of its own. */
const unknown = (
  namesOf: (page: string) => Iterable<string>,
  isKnown: (name: string, folder: string) => boolean,
): string[] =>
  PAGES.flatMap((page) =>
    [...new Set(namesOf(page))]
      .filter((name) => !isKnown(name, join(PROJECT, dirname(page))))
      .map((name) => `${page}: ${name}`),
  );

describe("parley commands", () => {
  /** Code that begins like a command and is something else. */
  const NOT_COMMANDS = ["is ready"];
  /** Commands of other programs, for which it is the name of a release, a package or a container. */
  const OF_OTHERS = /^(?:sudo )?(?:apt-get|docker|helm|kubectl) /;
  const calls = (page: string): string[][] =>
    codeOn(page)
      .filter((code) => !OF_OTHERS.test(code))
      .flatMap((code) => callsOf(/(?:bin\/)?parley/, code))
      // `const parley = new Parley(…)` of programs that use the client.
      .filter(([first]) => first !== "=")
      .filter((argv) => argv.length > 0 && !NOT_COMMANDS.includes(argv.join(" ")));

  /** A bare name (`parley keys create`) stands for the command; with arguments it must be complete and understood. */
  function fault(argv: readonly string[]): string | undefined {
    if (COMMANDS.some(({ name }) => name === argv.join(" "))) return undefined;
    try {
      parseCommand(argv);
      return undefined;
    } catch (error) {
      return `parley ${argv.join(" ")}: ${(error as Error).message}`;
    }
  }

  for (const page of PAGES)
    test(`of ${page} are understood`, () => {
      expect(calls(page).flatMap((argv) => fault(argv) ?? [])).toEqual([]);
    });

  test("are found on the pages at all, and a wrong one is reported", () => {
    expect(PAGES.flatMap(calls).length).toBeGreaterThan(60);
    expect(commandAt(["keys", "create"])).toBeDefined();
    expect(callsOf(/parley/, "x | parley keys list --app 'a b' | head")).toEqual([["keys", "list", "--app", "a b"]]);
    expect(fault(["keys", "mint"])).toContain("keys mint");
    expect(fault(["up", "--prot", "1"])).toContain("--prot");
  });
});

test("flags that stand alone are flags of parley or of our scripts", () => {
  const isOurs = (flag: string): boolean =>
    FLAG_KINDS.has(flag) || new RegExp(`"${flag}"|\\b${flag}:|--${flag}\\b`).test(SCRIPTS);
  const flags = (page: string): string[] =>
    codeOn(page)
      .filter((code) => code.startsWith("--"))
      .map((code) => /^--([\w-]+)/.exec(code)?.[1] ?? "");
  expect(unknown(flags, isOurs)).toEqual([]);
});

test("PARLEY_ variables are settings, or read by the command line, a test or a script", () => {
  const settings = new Set(NAMES.map((name) => SETTINGS[name].env));
  const isRead = (name: string): boolean =>
    settings.has(name) || new RegExp(`"${name}"|env\\.${name}\\b|\\b${name}:`).test(`${SOURCES}\n${SCRIPTS}`);
  expect(unknown((page) => readPage(page).match(/\bPARLEY_[A-Z_]+[A-Z]\b/g) ?? [], isRead)).toEqual([]);
});

describe("npm", () => {
  const scriptsOf = (folder: string): object => {
    const file = join(folder, "package.json");
    return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")).scripts ?? {}) : {};
  };
  const runner = readPage("test/run.ts");
  const suites = [...runner.matchAll(/(?:\b(?:tests|types)\(|\{ name: )"([a-z ]+)"(?=\)|, (?:"|command|\.\.\.))/g)].map(
    ([, name = ""]) => name,
  );
  const operandsOf = (argv: readonly string[]): string[] => {
    const behind = argv.indexOf("--") + 1;
    return behind === 0 ? [] : argv.slice(behind).filter((one) => /^[a-z]/.test(one));
  };
  const calls = (page: string): string[][] => codeOn(page).flatMap((code) => callsOf(/npm/, code));

  test("scripts that a page names are in package.json, or in that of its folder", () => {
    const named = (page: string): string[] =>
      calls(page).flatMap(([verb = "", name = ""]) =>
        verb === "run" ? [name] : ["test", "start"].filter((one) => one === verb),
      );
    const isScript = (name: string, folder: string): boolean =>
      [PROJECT, folder].some((one) => Object.hasOwn(scriptsOf(one), name));
    expect(unknown(named, isScript)).toEqual([]);
  });

  test("suites that a page names are suites, and CONTRIBUTING.md lists all of them", () => {
    const named = (page: string): string[] =>
      calls(page).flatMap((argv) => (argv[0] === "test" ? operandsOf(argv) : []));
    expect(unknown(named, (name) => suites.includes(name))).toEqual([]);
    const listed = [...readPage("CONTRIBUTING.md").matchAll(/^\| ((?:`[a-z ]+`(?:, )?)+) \|/gm)].flatMap(
      ([, cell = ""]) => [...cell.matchAll(/`([a-z ]+)`/g)].map(([, name = ""]) => name),
    );
    expect(listed.toSorted()).toEqual(suites.toSorted());
  });

  test("benchmarks that a page names exist", () => {
    const benches = [...readPage("bench/run.ts").matchAll(/^ {2}(\w+): \{\s*about/gm)].map(([, name = ""]) => name);
    const named = (page: string): string[] =>
      calls(page).flatMap((argv) => (argv[1] === "bench" ? operandsOf(argv).slice(0, 1) : []));
    // `--only a,k1` and the like name loads, not benchmarks.
    const first = (page: string): string[] => named(page).filter((name) => !/^[a-z]\d*,/.test(name));
    expect(benches.length).toBeGreaterThan(3);
    expect(unknown(first, (name) => benches.includes(name))).toEqual([]);
  });
});

test("metrics that a page names exist, and docs/operations.md has every metric", () => {
  const metrics = new Set([...SOURCES.matchAll(/"(parley_[a-z_]+[a-z])"/g)].map(([, name = ""]) => name));
  const named = (page: string): string[] => readPage(page).match(/\bparley_[a-z_]+[a-z]\b/g) ?? [];
  expect(unknown(named, (name) => metrics.has(name))).toEqual([]);
  const explained = new Set(named("docs/operations.md"));
  expect([...metrics].filter((name) => !explained.has(name))).toEqual([]);
});

test("files and folders of the project that a page names exist", () => {
  /** Written by a benchmark, a build or a first start. */
  const MADE_LATER = /^(bench\/results|client\/dist|web\/\.build)/;
  const PATH = /(?<![\w./-])(?:\.\.\/)*((?:bench|bin|client|deploy|docs|examples|scripts|src|test|web)\/[\w./-]*\w)/g;
  const named = (page: string): string[] => [...readPage(page).matchAll(PATH)].map(([, path = ""]) => path);
  expect(PAGES.flatMap(named).length).toBeGreaterThan(100);
  const isThere = (path: string, folder: string): boolean =>
    [PROJECT, folder].some((one) => existsSync(join(one, path))) || MADE_LATER.test(path);
  expect(unknown(named, isThere)).toEqual([]);
});
