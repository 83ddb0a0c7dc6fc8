import { expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import type { UploadRow } from "../../contract/uploads.ts";
import { UploadCache } from "./upload-cache.ts";

const A = anAppId("a");

test("a row is read again after a minute, however often it was used: its stay may have ended", () => {
  let nowMs = 0;
  const cache = new UploadCache(9, () => nowMs);
  const row = { id: "u", app: A } as Partial<UploadRow> as UploadRow;
  cache.set(row);
  nowMs = 59_999;
  expect(cache.get(A, "u")).toBe(row);
  nowMs = 60_000;
  expect(cache.get(A, "u")).toBeUndefined();
  cache.set(row);
  expect(cache.get(A, "u")).toBe(row);
});
