import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { assetPath, assetsIn, readAsset } from "./assets.ts";

const PROJECT = join(import.meta.dir, "../..");

test("in a checkout, a name is a path in the project, wherever the process runs", () => {
  const before = process.cwd();
  process.chdir("/");
  try {
    expect(assetPath("docs/cli.md")).toBe(join(PROJECT, "docs/cli.md"));
    expect(readAsset("docs/cli.md")).toBe(readFileSync(join(PROJECT, "docs/cli.md"), "utf8"));
    expect(assetsIn("src/store/migrations")).toEqual(readdirSync(join(PROJECT, "src/store/migrations")).sort());
  } finally {
    process.chdir(before);
  }
});

test("a file that is missing is an error, not an empty text", () => {
  expect(() => readAsset("docs/no-such-page.md")).toThrow("ENOENT");
});
