import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { z } from "zod";
import { Problem } from "../../protocol/codes.ts";
import { roomName, unixTime } from "../../rooms/fields.ts";
import { parseForm } from "./form.ts";

const schema = z.object({
  roomName: roomName().optional(),
  flag: z.boolean().optional(),
  time: unixTime().optional(),
  text: z.string().optional(),
});

describe("a form", () => {
  test("of very many fields is refused before they are checked", () => {
    const fields = (count: number): string => Array.from({ length: count }, (_, i) => `k${i}=1`).join("&");
    expect(Object.keys(parseForm(fields(500), schema))).toHaveLength(500);
    expect(() => parseForm(fields(501), schema)).toThrow("it has more than 500 fields");
  });

  test("is read like the same JSON", () => {
    const body = fc.record(
      {
        roomName: fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/),
        flag: fc.boolean(),
        time: fc.integer({ min: 0, max: 253_402_300_799 }),
        text: fc.string(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(body, (json) => {
        const pairs = Object.entries(json).map(([name, value]): [string, string] => [
          name,
          String(value).toWellFormed(),
        ]);
        const form = new URLSearchParams(pairs).toString();
        expect(schema.parse(parseForm(form, schema))).toEqual(schema.parse(json));
      }),
    );
  });

  test.each([
    ["flag=true", { flag: true }],
    ["flag=false", { flag: false }],
    ["flag=True", { flag: true }],
    ["flag=FALSE", { flag: false }],
    ["flag=1", { flag: true }],
    ["flag=0", { flag: false }],
    ["time=0", { time: 0 }],
    ["time=1", { time: 1 }],
    ["time=1.75", { time: 1.75 }],
    ["text=True", { text: "True" }],
    ["text=1", { text: "1" }],
    ["text=true", { text: "true" }],
    ["text=", { text: "" }],
    ["roomName=0123", { roomName: "0123" }],
    // A value that no field accepts stays a string, so that the check reports it.
    ["flag=on", { flag: "on" }],
    ["other=1", { other: "1" }],
    ["a%20b=c+d%26", { "a b": "c d&" }],
  ])("%s", (form, value) => {
    expect(parseForm(form, schema)).toEqual(value);
  });

  test("keeps names that every object has as ordinary fields", () => {
    const value = parseForm("__proto__=1&constructor=2&toString=3", schema);
    expect(Object.keys(value)).toEqual(["__proto__", "constructor", "toString"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test("is read or refused with a Problem, whatever it holds", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        try {
          parseForm(text, schema);
        } catch (error) {
          expect(error).toBeInstanceOf(Problem);
        }
      }),
    );
  });
});
