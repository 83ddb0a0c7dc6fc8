import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../testing/runs.ts";
import { decodeFrame } from "./frames.ts";
import { isObject } from "./json.ts";
import { decodeLargeFrame, FRAME_FIELDS, type LargeFrame } from "./large-frames.ts";
import { FRAME_FIELDS_MAX } from "./limits.ts";
import { LARGE_TEXT_CHARS, outermostOf } from "./outermost.ts";
import { rawValue, scanObject } from "./scan.ts";

/** Nothing reads what is in objects and arrays. */
function emptied(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  return isObject(value) ? {} : value;
}

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
    fields: Object.fromEntries(known.map(([key, value]) => [key, key === "data" ? null : emptied(value)])),
    data: rawValue(text, "data"),
  };
}

describe("a large frame", () => {
  const filler = "x".repeat(LARGE_TEXT_CHARS);

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

  test("of objects is not built: neither its data, nor unknown fields, nor objects in the place of texts", () => {
    const objects = `[${Array.from({ length: 2000 }, (_, i) => `{"k${i}":{}}`).join()}]`;
    const frame = decodeFrame(`{"type":"publish","recover":[1],"data":${objects},"other":${objects},"id":{"a":1}}`);
    expect(frame?.data).toBe(objects);
    expect(frame?.fields).toEqual({ type: "publish", recover: [], data: null, id: {} });
  });

  test("has its names decoded, but no string that is longer than any name", () => {
    const escaped = "\\u0061".repeat(256);
    const { fields } = decodeFrame(
      `{"type":"send","channel":"${escaped}","to":"${escaped}\\n","token":"${filler}","id":"${filler}\\n","x":1}`,
    ) as { fields: object };
    expect(fields).toEqual({
      type: "send",
      channel: "a".repeat(256),
      to: `${escaped}\\n`,
      token: filler,
      id: `${filler}\\n`,
    });
  });
});

describe("a frame of very many fields is refused, before the rest of it is read", () => {
  const fields = (count: number, value: string): string =>
    Array.from({ length: count }, (_, i) => `,"k${i}":${value}`).join("");

  test.each(["1", '"a"', '"\\n"', `"${"x".repeat(100)}"`])("each of them %s", (value) => {
    expect(decodeFrame(`{"type":"publish"${fields(63, value)}}`)?.type).toBe("publish");
    expect(decodeFrame(`{"type":"publish"${fields(64, value)}}`)).toBeUndefined();
  });

  test("whatever follows", () => {
    const found = outermostOf(`{"type":"publish"${fields(5000, "1")},`, FRAME_FIELDS, FRAME_FIELDS_MAX);
    expect(found).toBe("it has more than 64 fields");
  });
});

describe("a key twice is refused in a large frame", () => {
  const long = "x".repeat(3000);

  test.each([
    ['"type":"a"', '"type":"b"'],
    ['"data":1', '"d\\u0061ta":2'],
    ['"other":1', '"oth\\u0065r":2'],
    [`"${long}":1`, `"${long}":2`],
    [`"${long}\\n":1`, `"${long}\\n":2`],
  ])("%#", (one, two) => {
    expect(decodeFrame(`{"type":"publish",${one.replace("type", "requestId")},"filler":"${long}"}`)).toBeDefined();
    expect(decodeFrame(`{"requestId":"publish",${one},${two},"filler":"${long}"}`)).toBeUndefined();
  });

  test("but long keys are compared as they are written, because decoding them would take long", () => {
    expect(decodeFrame(`{"type":"publish","${long}\\n":1,"${long}\\u000a":2}`)?.type).toBe("publish");
    expect(outermostOf(`{"${long}\\n":1}`, FRAME_FIELDS, 1)).toMatchObject({ unknown: [`${long}\\n`] });
  });
});

describe("JSON.parse gets little of a frame that was made to take long", () => {
  const bytes = 65_000;
  const filled = (before: string, one: string, after: string, separator = ","): string => {
    const count = Math.floor((bytes - before.length - after.length) / (one.length + separator.length));
    return before + Array(count).fill(one).join(separator) + after;
  };
  const fieldsOf = (names: readonly string[], each: string): string =>
    `{${names.map((name) => `"${name}":${each}`).join()}}`;
  const publish = '{"type":"publish","channel":"c","data":';
  const known = [...FRAME_FIELDS];

  test.each([
    ["escaped strings", filled(`${publish}[`, '"\\n"', "]}")],
    ["escaped keys", filled(`${publish}{`, '"\\n":0', "}}")],
    ["small objects", filled(`${publish}[`, "{}", "]}")],
    ["one escaped string", filled(`${publish}"`, "\\n", '"}', "")],
    ["one escaped key", filled('{"type":"publish","', "\\n", '":1}', "")],
    [
      "known fields of objects",
      fieldsOf(
        known,
        filled("[", "{}", "]")
          .slice(0, 3600)
          .replace(/,?\{?$/, "]"),
      ),
    ],
    ["known fields of escapes", fieldsOf(known, `"${"\\n".repeat(1800)}"`)],
    ["unknown fields", filled('{"type":"publish",', '"\\n":{}', "}")],
  ])("%s", (_, text) => {
    const parse = JSON.parse;
    let parsed = 0;
    JSON.parse = (json: string): unknown => {
      parsed += json.length;
      return parse(json);
    };
    try {
      decodeFrame(text);
    } finally {
      JSON.parse = parse;
    }
    expect(text.length).toBeGreaterThan(50_000);
    expect(parsed).toBeLessThan(200);
  });
});
