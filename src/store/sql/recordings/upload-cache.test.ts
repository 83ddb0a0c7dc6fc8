import { expect, test } from "bun:test";
import type { UploadRow } from "../../contract/uploads.ts";
import { UploadCache } from "./upload-cache.ts";

test("a row is read again after a minute, however often it was used: its stay may have ended", () => {
  let nowMs = 0;
  const cache = new UploadCache(9, () => nowMs);
  const row = { id: "u", app: "a" } as UploadRow;
  cache.set(row);
  nowMs = 59_999;
  expect(cache.get("a", "u")).toBe(row);
  nowMs = 60_000;
  expect(cache.get("a", "u")).toBeUndefined();
  cache.set(row);
  expect(cache.get("a", "u")).toBe(row);
});
