/** docs/production.md and `parley doctor` have the same checks. */
import { expect, test } from "bun:test";
import { CHECKS } from "../../src/cli/commands/doctor/checks.ts";
import { readPage } from "./support/page.ts";

const page = readPage("docs/production.md");
const rows = [...page.matchAll(/^\| ([\w .-]+) \| .+ \| (.+) \|$/gm)].slice(1);

test("the page explains every check of parley doctor, and lists no other", () => {
  const named = rows.map(([, name = ""]) => name);
  expect(named.toSorted()).toEqual([...CHECKS].toSorted());
});
