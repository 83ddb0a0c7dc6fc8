/** Dark colours are in theme.css twice: of the system, and as chosen. Both are the same. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const css = readFileSync(join(import.meta.dir, "theme.css"), "utf8");

const colours = (selector: string): string[] => {
  const [, block = ""] = css.split(`${selector} {\n`);
  return (block.split("}")[0] ?? "").split("\n").flatMap((line) => (line.includes("--") ? [line.trim()] : []));
};

test("dark as chosen is dark as of the system", () => {
  const chosen = colours(':root[data-scheme="dark"]');
  expect(chosen).toEqual(colours(':root:not([data-scheme="light"])'));
  expect(chosen).toContain("--page: #0f1114;");
});
