import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { entry, gathered, inChunks, KEY, NOW_MS, noise, readBack, written } from "../testing/archives.ts";
import { SourceChanged } from "./errors.ts";
import { CHUNK_BYTES, FRAME_BYTES } from "./format.ts";
import { readArchive } from "./read.ts";
import { type ArchiveEntry, writeArchive } from "./write.ts";

const hex = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Around every boundary of the format. */
const SIZES = [0, 1, 511, 512, 513, 1024, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, FRAME_BYTES, FRAME_BYTES + 1];

describe("what was written is read", () => {
  test.each([
    ["encrypted", KEY],
    ["not encrypted", undefined],
  ])("of any sizes, in any chunks, %s", async (_what, key) => {
    const sizes = fc.array(fc.constantFrom(...SIZES), { maxLength: 4 });
    const chunks = fc.array(fc.integer({ min: 1, max: 200_000 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(sizes, chunks, chunks, async (each, whenWritten, whenRead) => {
        const contents = each.map((size, at) => [`some/entry-${at}`, noise(size, at + 1)] as const);
        const file = await written(
          contents.map(([name, content]) => entry(name, content, ...whenWritten)),
          { key },
        );
        const { manifest, entries } = await readBack(file, key, ...whenRead);
        expect(manifest).toEqual({ format: 1, made: "for a test" });
        expect(entries.map(([name, content]) => [name, hex(content)])).toEqual(
          contents.map(([name, content]) => [name, hex(content)]),
        );
      }),
      { numRuns: 25, seed: 7 },
    );
  });

  test("byte by byte, on both sides", async () => {
    const content = noise(700);
    const file = await written([entry("a", content, 1)], { key: KEY });
    expect((await readBack(file, KEY, 1)).entries).toEqual([["a", Buffer.from(content)]]);
  });

  test("with long names, names in any script, and times to the second", async () => {
    const names = ["a".repeat(100), "b".repeat(101), `${"ü".repeat(60)}/${"é".repeat(400)}`, "録画/一.webm", "x y+z"];
    const file = await written(names.map((name) => ({ ...entry(name, noise(3)), modifiedMs: NOW_MS + 999 })));
    const archive = await readArchive(inChunks(file), {});
    const found = await Array.fromAsync(archive.entries, ({ name, modifiedMs }) => [name, modifiedMs]);
    expect(found).toEqual(names.map((name) => [name, NOW_MS]));
  });

  test("without entries", async () => {
    expect((await readBack(await written([]))).entries).toEqual([]);
  });
});

describe("a reader", () => {
  const contents = [noise(100_000, 1), noise(3_000_000, 2), noise(0), noise(777, 3)];
  const file = written(contents.map((content, at) => entry(`entry-${at}`, content)));

  test("may skip entries, or leave one in the middle, and still gets all digests", async () => {
    const archive = await readArchive(inChunks(await file, 65_536), {});
    const seen = [];
    for await (const one of archive.entries) {
      seen.push(one);
      if (one.name === "entry-1") for await (const _chunk of one.bytes) break;
      if (one.name === "entry-3") expect(hex(await gathered(one.bytes))).toBe(hex(noise(777, 3)));
    }
    expect(archive.isSealed).toBe(false);
    expect(seen.map((one) => one.digest())).toEqual(contents.map(hex));
  });

  test("cannot read an entry that is behind, nor ask for a digest before its bytes", async () => {
    const archive = await readArchive(inChunks(await file), {});
    const entries = archive.entries[Symbol.asyncIterator]();
    const { value: first } = await entries.next();
    expect(() => first.digest()).toThrow("when all its bytes were read");
    await entries.next();
    await expect(gathered(first.bytes)).rejects.toThrow("before the next entry is asked for");
    await entries.return?.();
  });

  test("that leaves, and one that finds an error, closes the source", async () => {
    let isClosed = false;
    async function* source(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
      try {
        yield* inChunks(bytes, 1000);
      } finally {
        isClosed = true;
      }
    }
    const bytes = await file;
    for await (const _entry of (await readArchive(source(bytes), {})).entries) break;
    expect(isClosed).toBe(true);
    isClosed = false;
    await expect(readArchive(source(noise(5000)), {})).rejects.toThrow("not a Parley backup");
    expect(isClosed).toBe(true);
  });

  test("gets an error of the source as it is", async () => {
    const bytes = await file;
    async function* source(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 2_000_000);
      throw new Error("the disk is gone");
    }
    const archive = await readArchive(source(), {});
    await expect(Array.fromAsync(archive.entries)).rejects.toThrow("the disk is gone");
  });
});

describe("a writer", () => {
  const sized = (size: number, ...chunks: readonly Uint8Array[]): ArchiveEntry => ({
    name: "some/file",
    size,
    modifiedMs: NOW_MS,
    bytes: inChunks(Buffer.concat(chunks)),
  });

  test("fails if an entry has fewer or more bytes than was said", async () => {
    await expect(written([sized(10, noise(9))])).rejects.toThrow(
      "some/file changed during the backup: it had 10 bytes, and now has 9.",
    );
    await expect(written([sized(10, noise(11))])).rejects.toBeInstanceOf(SourceChanged);
    await expect(written([sized(-1)])).rejects.toThrow("cannot have -1 bytes");
  });

  test("refuses names that a reader would refuse", async () => {
    const bad = [
      "",
      "/a",
      "a//b",
      "a/",
      "./a",
      "a/../b",
      "..",
      "a\\b",
      "a\nb",
      "a\0",
      "SHA256SUMS",
      "parley-backup.json",
    ];
    for (const name of [...bad, "x".repeat(1001), "\ud800"])
      await expect(written([entry(name, noise(1))]), JSON.stringify(name)).rejects.toThrow("cannot be named");
    await expect(written([entry("a", noise(1)), entry("a", noise(1))])).rejects.toThrow("two entries of the same name");
  });

  test("refuses a manifest of more than 1 MiB, and a key that is none", async () => {
    await expect(written([], { manifest: { text: "x".repeat(1024 * 1024) } })).rejects.toThrow("at most 1048576 bytes");
    await expect(written([], { key: KEY.subarray(1) })).rejects.toThrow("32 bytes");
  });

  test("sets the format itself, and reports each digest", async () => {
    const seen: unknown[] = [];
    const file = await written([entry("a", noise(9))], {
      manifest: { format: 7, more: [1] },
      onEntry: (one) => seen.push(one),
    });
    expect((await readBack(file)).manifest).toEqual({ format: 1, more: [1] });
    expect(seen).toEqual([
      { name: "parley-backup.json", size: expect.any(Number), sha256: expect.any(String) },
      { name: "a", size: 9, sha256: hex(noise(9)) },
    ]);
  });

  test("asks for no more than some MiB ahead, and ends its sources when the consumer leaves", async () => {
    let [taken, isEnded] = [0, false];
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          taken += CHUNK_BYTES;
          yield noise(CHUNK_BYTES, taken);
        }
      } finally {
        isEnded = true;
      }
    }
    const entries = [{ name: "a", size: 2 ** 40, modifiedMs: NOW_MS, bytes: endless() }];
    let received = 0;
    for await (const chunk of writeArchive({ manifest: {}, entries, nowMs: NOW_MS, key: KEY })) {
      received += chunk.length;
      expect(taken - received).toBeLessThan(4 * FRAME_BYTES);
      if (received > 8 * FRAME_BYTES) break;
    }
    expect(isEnded).toBe(true);
  });

  test("keeps the digests of many entries out of memory", async () => {
    const count = 2600;
    function* many(): Generator<ArchiveEntry> {
      for (let at = 0; at < count; at++) yield entry(`${"long".repeat(200)}/${at}`, noise(0));
    }
    let found = 0;
    const file = writeArchive({ manifest: {}, entries: many(), nowMs: NOW_MS });
    for await (const _entry of (await readArchive(file, {})).entries) found++;
    expect(found).toBe(count);
  });
});
