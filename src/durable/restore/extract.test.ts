import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { newFolders } from "../../store/testing/places.ts";
import { BACKUP_FORMAT, type Manifest, STORE_ENTRY } from "../backup/manifest.ts";
import { entry, inChunks, noise, written } from "../testing/archives.ts";
import { extract } from "./extract.ts";

const newFolder = newFolders();

const MANIFEST: Manifest = {
  format: BACKUP_FORMAT,
  parley: "0.2.0",
  at: "2026-11-18T15:43:30.123Z",
  schema: 23,
  recordings: "copied",
  files: 1,
  bytes: 1000,
};

async function extracted(manifest: object, names: readonly string[], minFreeBytes = 0) {
  const file = await written(
    names.map((name) => entry(name, noise(1000))),
    { manifest: { ...MANIFEST, ...manifest } },
  );
  const folder = newFolder();
  const result = await extract(
    { name: "x.backup", read: () => inChunks(file, 4096) },
    {
      key: undefined,
      folder,
      minFreeBytes,
      storeArrived: () => undefined,
      progress: () => undefined,
      signal: new AbortController().signal,
    },
  );
  return { folder, result };
}

test("the files of the stores are in the folder, and nothing else is", async () => {
  const { folder, result } = await extracted({}, [
    STORE_ENTRY,
    "something-later",
    `recordings/${"a".repeat(24)}/${"b".repeat(24)}`,
  ]);
  expect([result.names, result.files, readdirSync(folder)]).toEqual([[STORE_ENTRY], 1, [STORE_ENTRY]]);
});

test.each([
  ["no time", { at: null }],
  ["a time that is none", { at: "\u001b[2J" }],
  ["an object as its time", { at: { toString: 1 } }],
  ["no size", { bytes: "1" }],
  ["another word for its recordings", { recordings: 7 }],
  ["a schema that is no number", { schema: "23" }],
])("a manifest with %s is refused", async (_, manifest) => {
  await expect(extracted(manifest, [STORE_ENTRY])).rejects.toThrow("its manifest is not one that Parley writes");
});

test("a manifest that speaks of a store needs one; that of a service with PostgreSQL does not", async () => {
  await expect(extracted({}, [])).rejects.toThrow(`it has no ${STORE_ENTRY}`);
  expect((await extracted({ schema: null }, [])).result.names).toEqual([]);
});

test("nothing is written that would leave too little room on the disk", async () => {
  await expect(extracted({}, [STORE_ENTRY], 2 ** 60)).rejects.toThrow("1000 B, ");
});
