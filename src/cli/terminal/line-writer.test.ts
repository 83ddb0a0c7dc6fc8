import { afterAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../testing/kit.ts";
import { LineWriter } from "./line-writer.ts";

const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("nothing to write does not keep later lines from being written", async () => {
  const file = Bun.file(join(folder, "lines"));
  const writer = new LineWriter(file);
  writer.add("");
  writer.add("first\n");
  await writer.done();
  expect(await file.text()).toBe("first\n");
});

test("too much that waits is an error instead of memory without a limit", () => {
  const writer = new LineWriter(Bun.file(join(folder, "much")));
  const mebibyte = "x".repeat(1024 * 1024);
  writer.add("begins to be written\n");
  expect(() => {
    for (let i = 0; i < 65; i++) writer.add(mebibyte);
  }).toThrow("the program reading this output is too slow: 64 MiB are waiting");
});
