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

test("the list has every decision with its title, in order", () => {
  const rows = [...readPage(join(FOLDER, "README.md")).matchAll(/^\| \[(\d+)\]\(([^)]+)\) \| ([^|]+) \|/gm)];
  const listed = rows.map(([, number, name, title]) => [name, `# ${number}. ${title}`]);
  expect(listed).toEqual(pages.map((name) => [name, readPage(join(FOLDER, name)).split("\n")[0] ?? ""]));
});
