import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../testing/runs.ts";
import { decodeFrame } from "./frames.ts";
import { rawValue, scanObject, stringEnd } from "./scan.ts";

test("data is the exact text that was sent", () => {
  for (const data of [
    "12345678901234567890",
    '{"b":1,"a": 2 }',
    "null",
    '"\\u0041\\\\\\""',
    "[1, [2,{}] ]",
    "1.0e5",
    '"]}\\""',
    "-0",
    "true",
  ]) {
    expect(decodeFrame(`{"type":"publish","data":${data},"x":1}`)?.data).toBe(data);
    expect(decodeFrame(` { "x" : [1,"}"] , "type" : "publish" , "data" : ${data} } `)?.data).toBe(data);
    expect(decodeFrame(`{"type":"publish","d\\u0061ta":${data}}`)?.data).toBe(data);
  }
});

test("the values of any object are found in its text", () => {
  const key = fc.constantFrom("a", "data", 'q"uote', "back\\slash", "", "é\u2028", "long key with spaces");
  fc.assert(
    fc.property(fc.dictionary(key, fc.jsonValue()), fc.constantFrom(undefined, 2, "\t"), (object, indent) => {
      const text = JSON.stringify(object, null, indent);
      expect(scanObject(text, "data").keys).toBe(Object.keys(object).length);
      for (const [name, value] of Object.entries(object))
        expect(JSON.parse(rawValue(text, name)!)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(rawValue(text, "not there")).toBeUndefined();
    }),
    { numRuns: runs(2000) },
  );
});

test("a string ends at its first quote that is not escaped, near or far", () => {
  const piece = fc.constantFrom('\\"', "\\\\", "\\n", "a", "x".repeat(31), "x".repeat(33), "é");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = `"${pieces.join("")}`;
      expect(stringEnd(`[${text}","b"]`, 1)).toBe(text.length + 2);
      expect(stringEnd(text, 0)).toBe(0);
      expect(stringEnd(`${text}\\`, 0)).toBe(0);
      expect(stringEnd(`${text}\\"`, 0)).toBe(0);
    }),
    { numRuns: runs(3000) },
  );
});

/** One member as text; its value may be written with escapes and blanks, its key may be one that objects enumerate first. */
const member = fc
  .tuple(
    fc.constantFrom("data", "type", "to", "channel", "7", "0", "data:", ',"data', "__proto__"),
    fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('"data":"', "\\", '"', "7", "data", "\n", "\u2028", "é")),
    fc.constantFrom("", "", "", " "),
    fc.boolean(),
  )
  .map(([key, value, blank, isEscaped]) => {
    const text = JSON.stringify(value);
    const shown = isEscaped ? text.replace("a", "\\u0061") : text;
    return { key, text: `${blank}${JSON.stringify(key)}:${blank}${shown}`, value: shown };
  });

test("in frames of strings only, data is kept byte for byte however it is written, and a key twice is refused", () => {
  fc.assert(
    fc.property(fc.array(member, { maxLength: 5 }), (members) => {
      const all = [{ key: "type", text: '"type":"publish"', value: "" }, ...members];
      const frame = decodeFrame(`{${all.map(({ text }) => text).join(",")}}`);
      if (new Set(all.map(({ key }) => key)).size < all.length) expect(frame).toBeUndefined();
      else expect(frame?.data).toBe(members.find(({ key }) => key === "data")?.value);
    }),
    { numRuns: runs(20_000) },
  );
  expect(decodeFrame('{"type":"publish","data":"x","7":"\\"data"}')?.data).toBe('"x"');
  expect(decodeFrame('{"type":"a","data":"1","data":"2"}')).toBeUndefined();
});

test.each([
  "",
  "{",
  "[]",
  "null",
  '"ping"',
  "{}",
  '{"type":7}',
  '{"type":"ping","type":"ping"}',
  '{"type":"publish","data":1,"d\\u0061ta":2}',
  '{"type":"ping","requestId":""}',
  '{"type":"ping","requestId":7}',
  '{"type":"ping","requestId":null}',
  `{"type":"ping","requestId":"${"r".repeat(129)}"}`,
])("a malformed frame is refused: %s", (text) => {
  expect(decodeFrame(text)).toBeUndefined();
});

test("a request id may have 128 characters, and equal keys inside data are not checked", () => {
  expect(decodeFrame(`{"type":"ping","requestId":"${"r".repeat(128)}"}`)?.requestId).toHaveLength(128);
  expect(decodeFrame('{"type":"publish","data":{"a":1,"a":2}}')?.data).toBe('{"a":1,"a":2}');
});

test("a type that comes from the prototype does not count", () => {
  expect(decodeFrame('{"__proto__":{"type":"publish"}}')).toBeUndefined();
});
