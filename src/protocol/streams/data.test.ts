import { expect, test } from "bun:test";
import fc from "fast-check";
import { MESSAGE_MAX_BYTES } from "../limits.ts";
import { BODY_MAX_VALUES, bytesOf, dataFormOf, messagesOf, shownOf } from "./data.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

test("a media type is compared without its parameters", () => {
  expect(dataFormOf("application/json; charset=utf-8")).toBe("json");
  expect(dataFormOf("text/plain;charset=utf-8")).toBe("text");
  expect(dataFormOf("application/x-ndjson")).toBe("binary");
});

test("one level of an array becomes messages, byte for byte", () => {
  expect(messagesOf(utf8(' [1, {"b":1, "a":2} ,[3],12345678901234567890, "x"] '), "json")).toEqual([
    "1",
    '{"b":1, "a":2}',
    "[3]",
    "12345678901234567890",
    '"x"',
  ]);
  expect(messagesOf(utf8('{"a":[1]}\n'), "json")).toEqual(['{"a":[1]}']);
  expect(messagesOf(utf8("7"), "json")).toEqual(["7"]);
});

test("a body that is not JSON, is empty or is too much has no messages", () => {
  for (const text of ["", "  ", "{", "[1,]", "[1 2]", "1 2", "[1]]", "﻿1"])
    expect(messagesOf(utf8(text), "json")).toBe("not JSON");
  expect(messagesOf(new Uint8Array([0x22, 0xff, 0x22]), "json")).toBe("not UTF-8");
  expect(messagesOf(utf8("[ ]"), "json")).toBe("empty");
  expect(
    messagesOf(
      utf8(
        `[${Array(BODY_MAX_VALUES + 1)
          .fill("1")
          .join()}]`,
      ),
      "json",
    ),
  ).toBe("too many values");
  expect(messagesOf(utf8(`["${"é".repeat(MESSAGE_MAX_BYTES / 2)}"]`), "json")).toBe("value too long");
});

test("bytes come back exactly, and every message is short enough", () => {
  const form = fc.constantFrom("text" as const, "binary" as const);
  const pieces = fc.oneof(
    fc.uint8Array({ maxLength: 2000 }),
    fc.string({ unit: "binary", maxLength: 2000 }).map(utf8),
    fc.constantFrom(
      utf8("é".repeat(50_000)),
      utf8("\0".repeat(60_000)),
      utf8("a😀".repeat(30_000)),
      new Uint8Array(100_000).fill(0x80),
    ),
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 4 }), form, (parts, as) => {
      const body = new Uint8Array(Buffer.concat(parts));
      const rows = messagesOf(body, as);
      if (typeof rows === "string") throw new Error(rows);
      for (const row of rows) expect(Buffer.byteLength(row)).toBeLessThanOrEqual(MESSAGE_MAX_BYTES);
      expect(Buffer.compare(Buffer.concat(rows.map((row) => bytesOf(row, as))), body)).toBe(0);
    }),
    { numRuns: 60 },
  );
});

test("text stays readable: a long one is cut between characters", () => {
  const rows = messagesOf(utf8("😀".repeat(40_000)), "text");
  if (typeof rows === "string") throw new Error(rows);
  expect(rows.length).toBeGreaterThan(1);
  for (const row of rows) expect(shownOf(row, "text").isBase64).toBe(false);
  expect(rows.map((row) => JSON.parse(row)).join("")).toBe("😀".repeat(40_000));
});

test("a reader of messages gets a string, marked if it is base64", () => {
  expect(shownOf('"aGk="', "binary")).toEqual({ dataJson: '"aGk="', isBase64: true });
  expect(shownOf('"hi"', "text")).toEqual({ dataJson: '"hi"', isBase64: false });
  expect(shownOf('["/w=="]', "text")).toEqual({ dataJson: '"/w=="', isBase64: true });
  expect(shownOf('["/w=="]', "json")).toEqual({ dataJson: '["/w=="]', isBase64: false });
});
