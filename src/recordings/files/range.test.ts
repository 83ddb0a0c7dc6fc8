import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseContentRange, spanOf } from "./range.ts";

describe("Range", () => {
  test.each<[string, number, ReturnType<typeof spanOf>]>([
    ["bytes=0-0", 10, { first: 0, last: 0 }],
    ["bytes=2-4", 10, { first: 2, last: 4 }],
    ["bytes=5-", 10, { first: 5, last: 9 }],
    ["bytes=-3", 10, { first: 7, last: 9 }],
    ["bytes=-30", 10, { first: 0, last: 9 }],
    ["bytes=0-999", 10, { first: 0, last: 9 }],
    // Outside the file.
    ["bytes=10-", 10, "none"],
    ["bytes=10-12", 10, "none"],
    ["bytes=-0", 10, "none"],
    ["bytes=0-", 0, "none"],
    ["bytes=-1", 0, "none"],
    // Reversed.
    ["bytes=4-2", 10, "none"],
    // Headers that a server may ignore: several ranges, another unit, not understood.
    ["bytes=0-1,3-4", 10, "all"],
    ["bytes=0-1, 3-4", 10, "all"],
    ["items=0-1", 10, "all"],
    ["bytes", 10, "all"],
    ["bytes=", 10, "all"],
    ["bytes=-", 10, "all"],
    ["bytes=a-b", 10, "all"],
    ["bytes=1-2-3", 10, "all"],
    ["bytes=+1-2", 10, "all"],
    ["bytes=1.5-2", 10, "all"],
    ["bytes=0x1-2", 10, "all"],
    [`bytes=${"9".repeat(400)}-`, 10, "all"],
  ])("%s of %d bytes", (header, size, wanted) => {
    expect(spanOf(header, size)).toEqual(wanted);
  });

  test("without a header the whole file is sent", () => {
    expect(spanOf(null, 10)).toBe("all");
  });

  test("every range that is answered lies within the file", () => {
    const number = fc.oneof(fc.nat(50), fc.constant(""), fc.maxSafeNat());
    fc.assert(
      fc.property(number, number, fc.nat(40), (from, to, size) => {
        const span = spanOf(`bytes=${from}-${to}`, size);
        if (typeof span === "string") return;
        expect(span.first).toBeGreaterThanOrEqual(0);
        expect(span.last).toBeGreaterThanOrEqual(span.first);
        expect(span.last).toBeLessThan(size);
      }),
    );
  });
});

describe("Content-Range", () => {
  test("names bytes, or asks for the offset", () => {
    expect(parseContentRange("bytes 0-9/10")).toEqual({ kind: "bytes", span: { first: 0, last: 9 }, total: 10 });
    expect(parseContentRange("bytes 3-3/10")).toEqual({ kind: "bytes", span: { first: 3, last: 3 }, total: 10 });
    expect(parseContentRange("bytes */10")).toEqual({ kind: "query", total: 10 });
    expect(parseContentRange("bytes */0")).toEqual({ kind: "query", total: 0 });
    expect(parseContentRange("bytes 3-9/*")).toEqual({ kind: "bytes", span: { first: 3, last: 9 }, total: null });
    expect(parseContentRange("bytes */*")).toEqual({ kind: "query", total: null });
  });

  test.each([
    "",
    "bytes",
    "bytes 0-9",
    "bytes 9-0/*",
    "bytes 0-9/**",
    "bytes *-9/*",
    "bytes 9-0/10",
    "bytes 0-10/10",
    "bytes 0-0/0",
    "bytes -9/10",
    "bytes 0-/10",
    "bytes=0-9/10",
    "items 0-9/10",
    "bytes 0-9/10,",
    "bytes 0-9/10\n",
    "bytes  0-9/10",
    "bytes 0-9/1e9",
    `bytes 0-9/${"9".repeat(16)}`,
  ])("not one: %p", (header) => {
    expect(parseContentRange(header)).toBeUndefined();
  });
});
