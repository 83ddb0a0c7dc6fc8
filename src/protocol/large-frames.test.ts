import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../testing/runs.ts";
import { decodeFrame } from "./frames.ts";
import { isObject } from "./json.ts";
import { decodeLargeFrame, FRAME_FIELDS, LARGE_FRAME_CHARS, type LargeFrame, valueEndIn } from "./large-frames.ts";
import { rawValue, scanObject } from "./scan.ts";

/** As JSON.parse decides. */
function reference(text: string): LargeFrame | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(fields) || scanObject(text, "").keys !== Object.keys(fields).length) return undefined;
  const known = Object.entries(fields).filter(([key]) => FRAME_FIELDS.has(key));
  return {
    fields: Object.fromEntries(known.map(([key, value]) => [key, key === "data" ? null : value])),
    data: rawValue(text, "data"),
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const ODD: readonly string[] = [
  "",
  " ",
  "0",
  "-0",
  "-",
  "01",
  "1.",
  ".5",
  "1e5",
  "1E+05",
  "1e",
  "1e+",
  "-1.50e-7",
  "1e999",
  "+1",
  "0x1",
  "NaN",
  "Infinity",
  "tru",
  "true",
  "truex",
  "nul",
  "false",
  "[",
  "]",
  "[]",
  "[ ]",
  "[,]",
  "[1,]",
  "[1 2]",
  "[1,2]",
  "{",
  "{}",
  "{ }",
  "{,}",
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{"a" : 1 , "b":[{}]}',
  "{a:1}",
  "{'a':1}",
  '{"a":1 "b":2}',
  "[}",
  "{]",
  '"',
  '"a',
  '"a\\"',
  '"\\u12"',
  '"\\u12Gh"',
  '"\\u0041"',
  '"\\x"',
  '"\\/\\b\\f\\n\\r\\t\\\\\\""',
  '"a\nb"',
  '"a\u0000b"',
  '"a\u007fb\u2028\ud800"',
  `"${"x".repeat(100)}"`,
  `"${"x".repeat(100)}\n"`,
  `"${"x".repeat(100)}\\"`,
  `"${"x".repeat(100)}\\u00e9\\ud83d"`,
  "\u00a01",
  "\ufeff1",
  "1\u000b",
  "[1]\t\r\n ",
  "// c\n1",
];

describe("a text is taken for JSON exactly if JSON.parse takes it", () => {
  const isTaken = (text: string): boolean => {
    const start = text.length - text.replace(/^[ \t\r\n]+/, "").length;
    const end = valueEndIn(text, start);
    return end >= 0 && /^[ \t\r\n]*$/.test(text.slice(end));
  };

  test.each(ODD)("%j", (text) => expect(isTaken(text)).toBe(isJson(text)));

  test("changed in one place", () => {
    const piece = fc.constantFrom(...ODD, "\\", ",", ":", "e", "-", "\t", "\n", "\u0001", "é", "\ud83d");
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.nat(),
        fc.nat(3),
        piece,
        fc.constantFrom(0, 1, 2),
        (value, at, cut, put, indent) => {
          const text = JSON.stringify(value, null, indent);
          const where = at % (text.length + 1);
          const changed = text.slice(0, where) + put + text.slice(where + cut);
          expect(isTaken(changed)).toBe(isJson(changed));
        },
      ),
      { numRuns: runs(5000) },
    );
  });

  test("nested as deep as a frame is long", () => {
    const deep = 32_000;
    expect(valueEndIn("[".repeat(deep) + "]".repeat(deep), 0)).toBe(2 * deep);
    expect(valueEndIn('{"a":'.repeat(9000), 0)).toBe(-1);
    expect(valueEndIn(`${"[".repeat(deep)}}`, 0)).toBe(-1);
  });
});

describe("a large frame", () => {
  const filler = "x".repeat(LARGE_FRAME_CHARS);

  test("has the data and the fields that JSON.parse finds", () => {
    const key = fc.constantFrom("type", "data", "d\\u0061ta", "channel", "id", "1", "__proto__", "é", "");
    const member = fc.tuple(key, fc.jsonValue()).map(([name, value]) => `"${name}" :${JSON.stringify(value)}`);
    const damage = fc.oneof(
      { weight: 4, arbitrary: fc.constant("") },
      { weight: 1, arbitrary: fc.constantFrom(",", "}", '"') },
    );
    fc.assert(
      fc.property(fc.array(member, { maxLength: 6 }), damage, (members, end) => {
        const text = `{${members.join(",")}${end} }`;
        expect(decodeLargeFrame(text)).toEqual(reference(text) as LargeFrame);
      }),
      { numRuns: runs(3000) },
    );
  });

  test("is decoded like a small one", () => {
    const text = `{"type":"publish","channel":"c","requestId":"r","data":{"a":[1, "${filler}"]},"id":"i"}`;
    expect(decodeFrame(text)).toMatchObject({ type: "publish", channel: "c", requestId: "r", fields: { id: "i" } });
    expect(decodeFrame(text)?.data).toBe(`{"a":[1, "${filler}"]}`);
    for (const wrong of [text.slice(0, -1), text.replace('"publish"', "1"), text.replace('"r"', '""'), `${text}x`])
      expect(decodeFrame(wrong)).toBeUndefined();
    expect(decodeFrame(text.replace('"id":"i"', '"data":1'))).toBeUndefined();
  });

  test("of objects is not built: neither its data, nor unknown fields, nor long objects in the place of texts", () => {
    const objects = `[${Array.from({ length: 2000 }, (_, i) => `{"k${i}":{}}`).join()}]`;
    const frame = decodeFrame(`{"type":"publish","recover":[1],"data":${objects},"other":${objects},"id":${objects}}`);
    expect(frame?.data).toBe(objects);
    expect(frame?.fields).toEqual({ type: "publish", recover: [1], data: null, id: null });
  });

  test("of many unknown fields is decoded, and none of them is built", () => {
    const fields = Array.from({ length: 5000 }, (_, i) => `"k${i}":1`).join();
    expect(decodeFrame(`{"type":"publish",${fields},"channel":"c"}`)?.fields).toEqual({
      type: "publish",
      channel: "c",
    });
    expect(decodeFrame(`{"type":"publish",${fields},"k\\u0031":1}`)).toBeUndefined();
  });
});
