/** Encryption by itself, with content that is the same in all chunks: only the nonces tell them apart. */
import { describe, expect, test } from "bun:test";
import { gathered, inChunks, KEY, noise } from "../testing/archives.ts";
import { ByteSource } from "./byte-source.ts";
import { CHUNK_BYTES } from "./format.ts";
import { SEALED_CHUNK_BYTES, SEALED_HEADER_BYTES, sealed, unsealed } from "./sealing.ts";

const seal = (content: Uint8Array): Promise<Buffer> => gathered(sealed(inChunks(content, 100_000), KEY));

/** What is yielded, and why it ends. */
async function open(file: Uint8Array): Promise<{ readonly bytes: number; readonly end: string }> {
  let bytes = 0;
  try {
    for await (const chunk of await unsealed(new ByteSource(inChunks(file, 1000)), KEY)) bytes += chunk.length;
    return { bytes, end: "whole" };
  } catch (error) {
    return { bytes, end: (error as { reason: string }).reason };
  }
}

test.each([1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES])("%d bytes are opened", async (size) => {
  const file = await seal(noise(size));
  const content = await gathered(await unsealed(new ByteSource(inChunks(file, 777)), KEY));
  expect(content.equals(noise(size))).toBe(true);
  expect(file.length).toBe(SEALED_HEADER_BYTES + size + 16 * Math.ceil(size / CHUNK_BYTES));
});

test("two files with the same content and key have nothing in common", async () => {
  const [one, other] = [await seal(noise(100)), await seal(noise(100))];
  expect(one.subarray(16).equals(other.subarray(16))).toBe(false);
  expect(one.subarray(SEALED_HEADER_BYTES).equals(other.subarray(SEALED_HEADER_BYTES))).toBe(false);
});

test("an empty file is never taken for a whole one", async () => {
  expect(await open(await seal(new Uint8Array()))).toEqual({ bytes: 0, end: "truncated" });
});

describe("chunks of four that are the same", () => {
  const parts = async (): Promise<Buffer[]> => {
    const file = await seal(new Uint8Array(4 * CHUNK_BYTES));
    const at = (number: number): number => SEALED_HEADER_BYTES + number * SEALED_CHUNK_BYTES;
    return [file.subarray(0, SEALED_HEADER_BYTES), ...[0, 1, 2, 3].map((one) => file.subarray(at(one), at(one + 1)))];
  };
  const arranged = async (...order: readonly number[]): Promise<Buffer> => {
    const all = await parts();
    return Buffer.concat([0, ...order].map((at) => all[at] ?? Buffer.alloc(0)));
  };

  test.each<[string, number[], number, string]>([
    ["in order", [1, 2, 3, 4], 4, "whole"],
    ["without the last one", [1, 2, 3], 2, "truncated"],
    ["only the first", [1], 0, "truncated"],
    ["none", [], 0, "truncated"],
    ["swapped", [2, 1, 3, 4], 0, "damaged"],
    ["repeated", [1, 1, 2, 3, 4], 1, "damaged"],
    ["removed", [1, 3, 4], 1, "damaged"],
    ["the last one twice", [1, 2, 3, 4, 4], 3, "damaged"],
    ["the last one earlier", [1, 4], 1, "damaged"],
  ])("%s: no chunk is yielded that is not at its place", async (_what, order, yielded, end) => {
    expect(await open(await arranged(...order))).toEqual({ bytes: yielded * CHUNK_BYTES, end });
  });

  test("a changed bit in a chunk, or in its tag: it is not yielded", async () => {
    for (const at of [0, CHUNK_BYTES - 1, CHUNK_BYTES, SEALED_CHUNK_BYTES - 1]) {
      const file = await arranged(1, 2, 3, 4);
      const place = SEALED_HEADER_BYTES + 2 * SEALED_CHUNK_BYTES + at;
      file[place] = (file[place] ?? 0) ^ 0x80;
      expect(await open(file)).toEqual({ bytes: 2 * CHUNK_BYTES, end: "damaged" });
    }
  });
});
