import { expect, test } from "bun:test";
import { linesOf, payloadOf } from "./payload.ts";

const asSent = (text: string, isText = false): string => JSON.stringify({ data: payloadOf(text, isText) });

test.each([
  ["hello", '{"data":"hello"}'],
  ['"hello"', '{"data":"hello"}'],
  ["42", '{"data":42}'],
  ["null", '{"data":null}'],
  [' {"a": [1, true]}', '{"data":{"a":[1,true]}}'],
  ["12345678901234567890", '{"data":12345678901234567890}'],
  ['{"n":[1.50,-0,1e3,1E400]}', '{"data":{"n":[1.50,-0,1e3,1E400]}}'],
  ['say "hi"', '{"data":"say \\"hi\\""}'],
])("%s is sent as %s", (text, sent) => {
  expect(asSent(text)).toBe(sent);
});

test("--text sends JSON as text", () => {
  expect(asSent('{"a":1}', true)).toBe('{"data":"{\\"a\\":1}"}');
});

test("what begins like JSON and is not is refused, shortened", () => {
  expect(() => payloadOf("[1,", false)).toThrow('"[1," looks like JSON but is not');
  expect(() => payloadOf(`{${"x".repeat(500)}`, false)).toThrow(/^"\{x{59}…" looks like/);
});

test("a message of 64 KiB is sent, one byte more is refused", () => {
  expect(payloadOf("é".repeat(32_767), false)).toHaveLength(32_767);
  expect(() => payloadOf("é".repeat(32_768), false)).toThrow("longer than 65536 bytes");
});

test("lines are split wherever the pieces of a stream end", async () => {
  const bytes = new TextEncoder().encode("ä\r\n\nb c\n\n  \nlast €");
  async function* pieces(size: number): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
  }
  for (const size of [1, 2, 3, 100])
    expect(await Array.fromAsync(linesOf(pieces(size)))).toEqual([
      { text: "ä", at: 1 },
      { text: "b c", at: 3 },
      { text: "  ", at: 5 },
      { text: "last €", at: 6 },
    ]);
});

test("a line without an end is refused before it fills the memory", async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode("first\n");
    for (;;) yield new Uint8Array(65_536).fill(120);
  }
  await expect(Array.fromAsync(linesOf(endless()))).rejects.toThrow("line 2 is longer than 65536 bytes");
});
