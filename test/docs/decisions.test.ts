/** Each decision says its context, what was decided and its price, on one page, and the list of decisions has all of them. */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { PROJECT, readPage } from "./support/page.ts";

const FOLDER = "docs/decisions";
const LINES_MAX = 60;
const pages = readdirSync(join(PROJECT, FOLDER))
  .filter((name) => name !== "README.md")
  .sort();

test.each(pages)("%s has its three parts and fits on a page", (name) => {
  const text = readPage(join(FOLDER, name));
  const headings = [...text.matchAll(/^#+ .+$/gm)].map(([heading]) => heading);
  expect(headings).toEqual([expect.stringMatching(/^# \d+\. \S/), "## Context", "## Decision", "## Price"]);
  expect(text.split("\n").length).toBeLessThanOrEqual(LINES_MAX);
});

test("measured numbers are quoted from another page", () => {
  const others = ["docs/*.md", "src/**/README.md"]
    .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(PROJECT)])
    .map((page) => readPage(page))
    .join("\n");
  const numbersIn = (text: string): string[] =>
    text.match(/(?<![\w.,])(\d+(,\d{3})+|\d+\.\d+)(?![\w.,]*\d| lines)/g) ?? [];
  const known = new Set(numbersIn(others));
  expect(known.has("206,204")).toBe(true);
  const unknown = pages.flatMap((name) =>
    numbersIn(readPage(join(FOLDER, name)))
      .filter((number) => !known.has(number))
      .map((number) => `${name}: ${number}`),
  );
  expect(unknown).toEqual([]);
});

test("the list has every decision with its title, in order", () => {
  const rows = [...readPage(join(FOLDER, "README.md")).matchAll(/^\| \[(\d+)\]\(([^)]+)\) \| ([^|]+) \|/gm)];
  const listed = rows.map(([, number, name, title]) => [name, `# ${number}. ${title}`]);
  expect(listed).toEqual(pages.map((name) => [name, readPage(join(FOLDER, name)).split("\n")[0] ?? ""]));
});
