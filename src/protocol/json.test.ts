import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../testing/runs.ts";
import { parseStrict } from "./json.ts";

test("strict parsing agrees with JSON.parse on everything JSON.stringify writes", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const isCanonical = text.length <= 400 && JSON.stringify(JSON.parse(text)) === text;
      expect(parseStrict(text)).toEqual({ ok: true, value: JSON.parse(text), isCanonical });
    }),
    { numRuns: runs(2000) },
  );
});

test.each([
  '{"a":1,"a":2}',
  '{"a":1,"\\u0061":2}',
  '[{"x":{"a":1 , "b":[], "a"\n:2}}]',
  '{"__proto__":1,"__proto__":2}',
])("a key twice in one object is refused: %s", (text) => {
  expect(parseStrict(text)).toMatchObject({ ok: false, problem: expect.stringContaining("twice") });
});

test("no key is decoded to find one that occurs twice", () => {
  const parse = JSON.parse;
  let calls = 0;
  JSON.parse = (json: string): unknown => {
    calls++;
    return parse(json);
  };
  try {
    const keys = Array.from({ length: 1000 }, (_, i) => `"\\n${i}":{}`).join();
    expect(parseStrict(`{${keys}}`).ok).toBe(true);
    expect(parseStrict(`{${keys},"\\u000a7":1}`).ok).toBe(false);
  } finally {
    JSON.parse = parse;
  }
  expect(calls).toBe(2);
});

test("equal keys in different objects, and values that look like keys, are fine", () => {
  for (const text of [
    '{"a":{"a":1},"b":[{"a":1},{"a":2}]}',
    '{"a":"a","b":"a"}',
    '["a","a"]',
    '{"a":"{\\"a\\":1,\\"a\\":2}"}',
  ])
    expect(parseStrict(text).ok).toBe(true);
});

test("invalid JSON and too deep nesting are refused", () => {
  for (const text of ["", "{", "undefined", "NaN", "{'a':1}", '{"a":01}']) expect(parseStrict(text).ok).toBe(false);
  expect(parseStrict("[".repeat(200) + "]".repeat(200)).ok).toBe(true);
  expect(parseStrict("[".repeat(201) + "]".repeat(201)).ok).toBe(false);
  expect(parseStrict("[".repeat(60_000) + "]".repeat(60_000)).ok).toBe(false);
});

test("a text that is canonical is so in each of its parts, and only such a text is called so", () => {
  const parsed = (text: string, outermostOnly = false) => parseStrict(text, outermostOnly) as { isCanonical: boolean };
  expect(parsed('{"a":{"b":[1,"x"]}}').isCanonical).toBe(true);
  for (const text of [
    '{"a": 1}',
    '{"a":1.0}',
    '{"a":1e2}',
    '{"a":12345678901234567890}',
    '{"b":1,"1":2}',
    '{"a":"\\u0041"}',
  ])
    expect(parsed(text).isCanonical).toBe(false);
  expect(parsed('{"a":1}', true).isCanonical).toBe(false);
});
