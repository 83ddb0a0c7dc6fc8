import { expect, test } from "bun:test";
import type { OpenMultipart, Part } from "../../recordings/storage/s3/client.ts";
import { removeOldUploads } from "./open-uploads.ts";

test("an upload is removed if it was begun and last written to before, and is ours", async () => {
  const uploads: Record<string, { initiated: number; parts: number[] }> = {
    old: { initiated: 10, parts: [20, 99] },
    empty: { initiated: 10, parts: [] },
    slow: { initiated: 10, parts: [20, 100] },
    young: { initiated: 100, parts: [] },
    foreign: { initiated: 10, parts: [] },
  };
  const aborted: string[] = [];
  const client = {
    async *openMultiparts(): AsyncGenerator<OpenMultipart> {
      for (const [key, { initiated }] of Object.entries(uploads)) yield { key, uploadId: `of ${key}`, initiated };
    },
    parts: async (key: string): Promise<Part[]> =>
      (uploads[key]?.parts ?? []).map((modified, at) => ({ number: at + 1, etag: "", size: 1, modified })),
    abortMultipart: async (key: string, uploadId: string): Promise<void> => {
      aborted.push(uploadId);
      if (key === "old") throw new Error("not now");
    },
  };
  await removeOldUploads(client, "", (key) => key !== "foreign", 100);
  expect(aborted).toEqual(["of old", "of empty"]);
});
