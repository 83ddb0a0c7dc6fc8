/** Dark colours are there twice: of the system (theme.css), and as chosen (documents.css). Both are the same. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const css = ["theme.css", "documents.css"].map((name) => readFileSync(join(import.meta.dir, name), "utf8")).join("\n");

const colours = (selector: string): string[] => {
  const [, block = ""] = css.split(`${selector} {\n`);
  return (block.split("}")[0] ?? "").split("\n").flatMap((line) => (line.includes("--") ? [line.trim()] : []));
};

test("dark as chosen is dark as of the system", () => {
  const chosen = colours(':root[data-scheme="dark"]');
  expect(chosen).toEqual(colours(':root:not([data-scheme="light"])'));
  expect(chosen).toContain("--page: #0f1114;");
});
