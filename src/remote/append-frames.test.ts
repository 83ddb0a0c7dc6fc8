/** Batches and their results as bytes: the same at the other end, and an error for bytes that are neither. */
import { describe, expect, test } from "bun:test";
import { anAppId } from "../base/testing/ids.ts";
import type { Appended, Batch } from "../history/contract/history.ts";
import { batchOf, message } from "../history/testing/kit.ts";
import {
  maxBytesOfBatch,
  maxBytesOfResults,
  numbered,
  readBatch,
  readResults,
  writeBatch,
  writeResults,
} from "./append-frames.ts";

const FLIPS = 3000;

/** With other bytes before and behind it. */
function bytesOf<T>(one: T, maxBytes: number, write: (one: T, into: Buffer, at: number) => number): Buffer {
  const into = Buffer.alloc(maxBytes + 9, 0xee);
  const end = write(one, into, 7);
  expect(end).toBeLessThanOrEqual(7 + maxBytes);
  return into.subarray(7, end);
}

function batchBytes(nr: number, batch: Batch): Buffer {
  const one = numbered(nr, batch);
  if (!one) throw new Error("the batch cannot be encoded");
  return bytesOf(one, maxBytesOfBatch(one), writeBatch);
}

const resultBytes = (nr: number, results: readonly Appended[]): Buffer =>
  bytesOf({ nr, results }, maxBytesOfResults({ nr, results }), writeResults);

const BATCH = batchOf(
  {},
  { metadataJson: "", connection: "", id: "", idScope: "" },
  { metadataJson: '{"a":1}', connection: "c1", id: "i1", dataJson: '"\u{1F600} \ufeff é \u0000"' },
  { channel: "räume/1", from: "\ufeffann", keep: { messages: 1, seconds: 0.5 } },
  { spaceId: anAppId("other"), channel: "räume/1" },
  { channel: "", dataJson: "x".repeat(70_000) },
);

const RESULTS: readonly Appended[] = [
  { epoch: "e1", offset: 1, check: "c", time: 1_800_000_000_123, isDuplicate: false },
  { epoch: "e1", offset: 2, check: "c", time: 1_800_000_000_123, isDuplicate: false },
  { epoch: "e1", offset: 2 ** 40, check: "earlier", time: 5, isDuplicate: true },
  { epoch: "", offset: 7, check: "", time: 0, isDuplicate: true, isRemoved: true },
];

describe("a batch", () => {
  test("is the same at the other end, with texts that are absent, empty, long or not ASCII", () => {
    expect(readBatch(batchBytes(0xffffffff, BATCH))).toStrictEqual({ nr: 0xffffffff, batch: BATCH });
    const empty = { check: "c", messages: [] };
    expect(readBatch(batchBytes(1, empty))).toStrictEqual({ nr: 1, batch: empty });
  });

  test("names the stream of its messages once", () => {
    const [one, other] = [{ channel: "c".repeat(1000) }, { channel: "d".repeat(1000) }];
    const length = (...messages: (typeof one)[]): number => batchBytes(1, batchOf(...messages)).length;
    expect(length(one, one, one)).toBeLessThan(length(one) + 500);
    expect(length(one, other, one)).toBeGreaterThan(3000);
  });

  test("with half of a surrogate pair is not encoded, because it has no UTF-8", () => {
    for (const half of ["\ud83d", "\ude00"]) expect(numbered(1, batchOf({ from: half }))).toBeUndefined();
    // Two halves of one text that belong to two messages come apart again.
    const halves = { check: "c", messages: [message({ idScope: "\ud83d" }), message({ from: "\ude00" })] };
    expect(readBatch(batchBytes(1, halves)).batch).toStrictEqual(halves);
  });
});

test("results are the same at the other end", () => {
  expect(readResults(resultBytes(3, RESULTS))).toStrictEqual({ nr: 3, results: RESULTS });
  expect(readResults(resultBytes(4, []))).toStrictEqual({ nr: 4, results: [] });
});

describe("bytes that are no batch", () => {
  const all: readonly (readonly [name: string, bytes: Buffer, read: (bytes: Buffer) => unknown])[] = [
    ["batch", batchBytes(5, BATCH).subarray(0), readBatch],
    ["results", resultBytes(5, RESULTS), readResults],
  ];

  test("because the end is missing, or there is something behind it, are refused", () => {
    for (const [, bytes, read] of all) {
      const [last, step] = [bytes.length - 1, Math.ceil(bytes.length / 500)];
      for (let length = 0; length <= last; length += step) expect(() => read(bytes.subarray(0, length))).toThrow();
      expect(() => read(bytes.subarray(0, last))).toThrow();
      expect(() => read(Buffer.concat([bytes, Buffer.from("x")]))).toThrow();
    }
  });

  test("because any of them is another, are refused or read as at most as much", () => {
    for (const [, bytes, read] of all) {
      for (let flip = 0; flip < FLIPS; flip++) {
        const torn = Buffer.from(bytes);
        // The numbers and lengths are at the beginning.
        torn[Math.floor(Math.random() * Math.min(torn.length, 350))] = Math.floor(Math.random() * 256);
        try {
          expect(JSON.stringify(read(torn)).length).toBeLessThan(torn.length + 5000);
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }
    }
  });

  test("because the first message refers to one before it, are refused", () => {
    const bytes = batchBytes(1, batchOf({}));
    bytes.writeUInt32LE(0xfffffffe, 12);
    expect(() => readBatch(bytes)).toThrow("its first message refers to an earlier one");
  });
});
