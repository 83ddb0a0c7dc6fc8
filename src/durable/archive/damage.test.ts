/** What is not as it was written is refused, with the reason that tells the operator what to do. */
import { describe, expect, test } from "bun:test";
import { IS_FULL } from "../../../test/support/slack.ts";
import {
  crafted,
  entry,
  inChunks,
  inTar,
  KEY,
  MANIFEST,
  noise,
  packed,
  readBack,
  refusal,
  written,
} from "../testing/archives.ts";
import { ArchiveError } from "./errors.ts";
import { CHUNK_BYTES } from "./format.ts";
import { readArchive } from "./read.ts";
import { SEALED_CHUNK_BYTES, SEALED_HEADER_BYTES } from "./sealing.ts";
import { END_BYTES, encodeHeader } from "./tar-headers.ts";

const small = (key?: Uint8Array): Promise<Buffer> =>
  written([entry("a", noise(40)), entry("b/c", Buffer.from("text ".repeat(100)))], { key });
const KINDS = [
  ["encrypted", KEY],
  ["not encrypted", undefined],
] as const;

describe.each(KINDS)("a backup that is %s", (_what, key) => {
  test("is refused as truncated wherever it is cut", async () => {
    const file = await small(key);
    expect(await refusal(file, key)).toBe("accepted");
    for (let length = 0; length < file.length; length++)
      expect(await refusal(file.subarray(0, length), key), `cut to ${length} bytes`).toBe("truncated");
  });

  test("is refused, or read as it was written, whichever bit has changed", async () => {
    const file = await small(key);
    const before = await readBack(file, key);
    for (let at = 0; at < file.length; at++)
      for (const bit of IS_FULL ? [0, 1, 2, 3, 4, 5, 6, 7] : [at % 8]) {
        const changed = Buffer.from(file);
        changed[at] = (changed[at] ?? 0) ^ (1 << bit);
        const outcome = await readBack(changed, key).catch((error: unknown) => error);
        if (!(outcome instanceof ArchiveError)) expect(outcome, `bit ${bit} of byte ${at}`).toEqual(before);
        // Nothing may pass where every byte is authenticated.
        if (key) expect(outcome, `bit ${bit} of byte ${at}`).toBeInstanceOf(ArchiveError);
      }
  }, 120_000);

  test("is refused if anything follows it", async () => {
    const file = await small(key);
    // A chunk that does not open at the end of an encrypted file is taken for a cut one.
    for (const more of [Buffer.alloc(1), Buffer.from("x"), Buffer.alloc(1024), noise(100_000), file])
      expect(await refusal(Buffer.concat([file, more]), key)).toMatch(key ? /^(damaged|truncated)$/ : /^damaged$/);
  });
});

describe("an encrypted backup", () => {
  /** Its chunks, with the header first. */
  const inParts = async (): Promise<Buffer[]> => {
    const file = await written([entry("a", noise(4 * CHUNK_BYTES))], { key: KEY });
    const parts = [file.subarray(0, SEALED_HEADER_BYTES)];
    for (let at = SEALED_HEADER_BYTES; at < file.length; at += SEALED_CHUNK_BYTES)
      parts.push(file.subarray(at, at + SEALED_CHUNK_BYTES));
    return parts;
  };

  test.each<[string, (parts: Buffer[]) => Buffer[]]>([
    ["swapped", ([head, a, b, ...rest]) => [head, b, a, ...rest] as Buffer[]],
    ["repeated", ([head, a, ...rest]) => [head, a, a, ...rest] as Buffer[]],
    ["removed at the beginning", ([head, _a, ...rest]) => [head, ...rest] as Buffer[]],
    ["removed in the middle", ([head, a, _b, ...rest]) => [head, a, ...rest] as Buffer[]],
    ["removed before the last one", (parts) => parts.toSpliced(-2, 1)],
    ["repeated at the end", (parts) => [...parts, ...parts.slice(-1)]],
  ])("is refused if chunks are %s", async (_what, change) => {
    expect(await refusal(Buffer.concat(change(await inParts())), KEY)).toMatch(/damaged|truncated/);
  });

  test("is truncated if its last chunks are missing", async () => {
    const parts = await inParts();
    for (let count = 1; count < parts.length; count++)
      expect(await refusal(Buffer.concat(parts.slice(0, count)), KEY)).toBe("truncated");
  });

  test("is refused if a chunk comes from another backup with the same key", async () => {
    const [one, other] = [await inParts(), await inParts()];
    expect(await refusal(Buffer.concat(one.with(2, other[2] as Buffer)), KEY)).toBe("damaged");
    expect(await refusal(Buffer.concat(one.with(0, other[0] as Buffer)), KEY)).toBe("damaged");
  });

  test("yields no byte of a chunk that was changed", async () => {
    const parts = await inParts();
    const changed = Buffer.from(parts[3] as Buffer);
    changed[0] = (changed[0] ?? 0) ^ 1;
    const archive = await readArchive(inChunks(Buffer.concat(parts.with(3, changed))), { key: KEY }).catch(
      (error: unknown) => error,
    );
    // The tar is one frame, which is only decompressed when all of it was authenticated.
    expect(archive).toMatchObject({ reason: "damaged" });
  });

  test("needs its key, says so, and never shows one", async () => {
    const file = await small(KEY);
    const other = KEY.map((byte) => byte ^ 1);
    expect(await refusal(file)).toBe("needs-key");
    expect(await refusal(file, other)).toBe("wrong-key");
    await expect(readArchive(inChunks(file), {})).rejects.toThrow(
      "this backup is encrypted, and no key is set: its contents cannot be read without one. Set PARLEY_BACKUP_KEY to the key that it was made with (32 bytes in base64).",
    );
  });

  test("with a damaged header is damaged, and not one of another key", async () => {
    const file = await small(KEY);
    for (let at = 14; at < SEALED_HEADER_BYTES; at++) {
      const changed = Buffer.from(file);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(await refusal(changed, KEY)).toBe("damaged");
    }
  });

  test("a key does no harm to a backup that is not encrypted", async () => {
    const archive = await readArchive(inChunks(await small()), { key: KEY });
    expect(archive.isSealed).toBe(false);
    await archive.close();
  });
});

describe("what is not a backup", () => {
  test.each<[string, () => Promise<Uint8Array> | Uint8Array, string]>([
    ["an empty file", () => new Uint8Array(), "truncated"],
    ["a text", () => Buffer.from("hello, I am a text"), "not-a-backup"],
    ["a database", () => Buffer.from("SQLite format 3\0"), "not-a-backup"],
    ["noise", () => noise(5000), "not-a-backup"],
    ["another tar", () => packed(inTar("notes.txt", "x"), Buffer.alloc(END_BYTES)), "not-a-backup"],
    ["something compressed", () => packed(Buffer.from("x".repeat(2000))), "not-a-backup"],
    ["a manifest without a format", () => packed(inTar("parley-backup.json", "{}")), "damaged"],
    ["a manifest that is no JSON", () => packed(inTar("parley-backup.json", "{")), "damaged"],
    ["a later format", () => packed(inTar("parley-backup.json", '{"format":2}')), "newer-format"],
  ])("%s", async (_what, file, reason) => {
    expect(await refusal(await file())).toBe(reason);
  });

  test("the error says which format it has, and what to do", async () => {
    const file = await packed(inTar("parley-backup.json", '{"format":2}'));
    await expect(readBack(file)).rejects.toThrow(
      "this backup was made by a newer version of Parley: it has format 2, and this version reads up to 1. Restore it with that version or a later one.",
    );
  });
});

describe("a tar that no backup has is refused", () => {
  test("with names that lead elsewhere, or come twice", async () => {
    expect(await refusal(await crafted(["a/b", "x"]))).toBe("accepted");
    for (const name of ["/etc/passwd", "../a", "a/../../b", "a//b", "a/", ".", "a\\b", "a\nb", "parley-backup.json"])
      expect(await refusal(await crafted([name, "x"])), name).toBe("damaged");
    expect(await refusal(await crafted(["a", "x"], ["b", "y"], ["a", "x"]))).toBe("damaged");
  });

  test("with anything but regular files", async () => {
    for (const type of "1234567gKLS\0") {
      const header = encodeHeader({ name: "a", size: 0, modifiedSeconds: 0 });
      header.write(type, 156);
      header.write("        ", 148);
      const sum = header.reduce((total, byte) => total + byte, 0);
      header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
      expect(await refusal(await packed(inTar("parley-backup.json", MANIFEST), header)), type).toBe("damaged");
    }
  });

  test("with digests of something else, without any, and without an end", async () => {
    const manifest = inTar("parley-backup.json", MANIFEST);
    const line = `${"0".repeat(64)}  parley-backup.json\n`;
    const end = Buffer.alloc(END_BYTES);
    expect(await refusal(await packed(manifest, inTar("SHA256SUMS", line), end))).toBe("damaged");
    expect(await refusal(await packed(manifest, inTar("SHA256SUMS", ""), end))).toBe("damaged");
    expect(await refusal(await packed(manifest, end))).toBe("damaged");
    expect(await refusal(await packed(manifest))).toBe("truncated");
    expect(await refusal(await packed(manifest, inTar("SHA256SUMS", line).subarray(0, 513)))).toBe("truncated");
  });

  test("with something in the padding, or behind the end", async () => {
    const file = await crafted(["a", "x"]);
    const tar = Buffer.from(Bun.zstdDecompressSync(file));
    expect(await refusal(await packed(tar, Buffer.alloc(512)))).toBe("damaged");
    for (const at of [511, 1023, 1535, 2047, tar.length - 1]) {
      const changed = Buffer.from(tar);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(await refusal(await packed(changed)), `byte ${at}`).toBe("damaged");
    }
  });
});

describe("a frame is refused", () => {
  /** The error for a file whose second frame is this one. */
  const refusedFrame = async (frame: Uint8Array): Promise<string> => {
    const file = Buffer.concat([await packed(inTar("parley-backup.json", MANIFEST)), frame]);
    return readBack(file).then(() => "accepted", String);
  };

  test("before it is decompressed, if it claims more than a frame may have", async () => {
    const frame = Bun.zstdCompressSync(new Uint8Array(64 * 1024 * 1024));
    expect(await refusedFrame(frame)).toContain("damaged: a frame has an impossible length");
  });

  test("before it is decompressed, if it has blocks without an end", async () => {
    const header = Bun.zstdCompressSync(noise(100_000)).subarray(0, 9);
    const emptyBlocks = Buffer.alloc(5_000_000);
    expect(await refusedFrame(Buffer.concat([header, emptyBlocks]))).toContain("damaged: a frame has too many blocks");
  });

  test("before it is decompressed, if it is longer than any frame", async () => {
    const header = Bun.zstdCompressSync(noise(100_000)).subarray(0, 9);
    const block = Buffer.alloc(3 + 128 * 1024);
    block.writeUIntLE((128 * 1024) << 3, 0, 3);
    const blocks: Uint8Array[] = Array(40).fill(block);
    expect(await refusedFrame(Buffer.concat([header, ...blocks]))).toContain("damaged: a frame is too long");
  });

  test("if it has more, or less, than it claims", async () => {
    const frame = Buffer.from(Bun.zstdCompressSync(new Uint8Array(1024 * 1024)));
    // A number of four bytes here, behind the descriptor and the window.
    const at = frame.indexOf(Buffer.from([0, 0, 16, 0]));
    for (const claimed of [1024 * 1024 - 1, 1024 * 1024 + 1]) {
      frame.writeUInt32LE(claimed, at);
      expect(await refusedFrame(frame)).toContain("damaged: a frame cannot be decompressed");
    }
  });
});
