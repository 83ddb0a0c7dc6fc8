/** Commands of the pages as a reader types them: they run in a fresh clone, and after another page was followed. */
import { expect, test } from "bun:test";
import { callsOf, proseOf } from "./support/named.ts";
import { blocks, commands, PROJECT } from "./support/page.ts";

const PAGES = [
  ...["README.md", "CONTRIBUTING.md", "client/README.md"],
  ...[...new Bun.Glob("{docs,examples,deploy}/**/*.md").scanSync(PROJECT)].filter(
    (one) => !one.includes("node_modules"),
  ),
].sort();

interface Line {
  readonly page: string;
  readonly text: string;
}

/** Blocks without a language may be shell too. */
const SHELL = ["", "sh", "bash", "shell", "console"];

/** The commands in blocks, with continued lines joined and without comments. */
const LINES: readonly Line[] = PAGES.flatMap((page) =>
  blocks(page)
    .filter(({ language }) => SHELL.includes(language))
    .flatMap(({ language, text }) => (language === "sh" ? commands(text) : text.split("\n")))
    .map((text) => ({ page, text: text.replace(/\\?\n\s*/g, " ") })),
);

/** Commands in sentences. */
const SPANS: readonly Line[] = PAGES.flatMap((page) =>
  [...proseOf(page).matchAll(/`([^`]+)`/g)].map(([, text = ""]) => ({ page, text })),
);

test("the program is called by its path: nothing installs parley on the PATH", () => {
  expect(LINES.filter(({ text }) => text.includes("bin/parley ")).length).toBeGreaterThan(20);
  // At the beginning, behind variables that are set for it, or behind an operator or "$(".
  const bare = /(?:^|[|;&(])\s*(?:\w+=\S+\s+)*parley\s/;
  expect(LINES.filter(({ text }) => bare.test(text)).map(({ page, text }) => `${page}: ${text}`)).toEqual([]);
});

/** What a line creates: `room standup`, `application shop`. */
function createdBy(text: string): string[] {
  const byCommand = callsOf(/bin\/parley/, text).flatMap(([noun, verb, name]) =>
    verb === "create" && name !== undefined && ["rooms", "apps"].includes(noun ?? "") ? [`${noun} ${name}`] : [],
  );
  const isPost = /\bcurl\b/.test(text) && !/-X |--request /.test(text);
  const [, room] = (isPost && /\/api\/v1\/room\b(?!\/).*"roomName": ?"(\w+)"/.exec(text)) || [];
  return room === undefined ? byCommand : [...byCommand, `rooms ${room}`];
}

test("no two pages create something of the same name: the second would be refused", () => {
  const pages = new Map<string, Set<string>>();
  for (const { page, text } of [...LINES, ...SPANS])
    for (const made of createdBy(text)) pages.set(made, (pages.get(made) ?? new Set()).add(page));
  expect([...pages.keys()]).toEqual(expect.arrayContaining(["apps shop", "rooms standup", "rooms board"]));
  expect([...pages].filter(([, on]) => on.size > 1).map(([made, on]) => `${made}: ${[...on].join(", ")}`)).toEqual([]);
});
