import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../testing/runs.ts";
import { valueEndIn } from "./value-end.ts";

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
  '{"\\n":1,"\\u12":2}',
  '{"\\n":1,"\\u12aF":2}',
  "[1.5,-0,1e5,0.1E-3]",
  "[1.,2]",
  '{"a":1e}',
  ...[126, 127, 128, 129, 130].flatMap((count) => {
    // A block of the scan ends near what matters.
    const many = "x".repeat(count);
    return [`"${many}"`, `"${many}\\n"`, `"${many}\n"`, `"${many}\\`, `{"${many}\\u0041":"${many}é"}`, `["${many}",1`];
  }),
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
    expect(valueEndIn("[".repeat(65_536) + "]".repeat(65_536), 0)).toBe(131_072);
    expect(valueEndIn("[".repeat(65_537) + "]".repeat(65_537), 0)).toBe(-1);
  });
});
