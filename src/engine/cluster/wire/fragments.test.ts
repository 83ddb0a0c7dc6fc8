/** Texts above the payload limit: split, joined, and nothing else accepted. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Fragments, fragmentsOf, INCOMPLETE_MS } from "./fragments.ts";
import { TEXT_MAX_BYTES } from "./payload.ts";

const PAYLOAD_MAX_BYTES = 1024;
const cut = (text: string, sender = "a", number = 1): Uint8Array[] =>
  fragmentsOf(new TextEncoder().encode(text), sender, number, PAYLOAD_MAX_BYTES);
const long = (text: string): string => text.repeat(Math.ceil(4000 / text.length));

describe("a long text", () => {
  test("is complete with its last fragment, also when characters are split between fragments", () => {
    const text = fc.string({ unit: "grapheme", minLength: 1 }).map((some) => `[${long(some)}`);
    fc.assert(
      fc.property(text, fc.integer({ min: PAYLOAD_MAX_BYTES, max: 3000 }), (whole, max) => {
        const parts = fragmentsOf(new TextEncoder().encode(whole), "a", 1, max);
        expect(Math.max(...parts.map((part) => part.length))).toBeLessThanOrEqual(max);
        const fragments = new Fragments();
        const results = parts.map((part) => fragments.take(part));
        expect(results.pop()).toBe(whole.toWellFormed());
        expect(results.every((one) => one === undefined)).toBeTrue();
      }),
    );
  });

  test("of one sender is joined while fragments of others arrive in between", () => {
    const fragments = new Fragments();
    const [a, b] = [cut(`[${long("a")}`, "a"), cut(`[${long("b")}`, "b")];
    const results = a.flatMap((part, at) => [fragments.take(part), fragments.take(b[at] as Uint8Array)]);
    expect(results.filter((one) => one !== undefined)).toEqual([`[${long("a")}`, `[${long("b")}`]);
  });

  test("does not change with the buffer in which its fragments arrived", () => {
    const fragments = new Fragments();
    const whole = `[${long("a")}`;
    const results = cut(whole).map((part) => {
      const text = fragments.take(part);
      part.fill(0);
      return text;
    });
    expect(results.at(-1)).toBe(whole);
  });

  test("without one of its fragments is dropped, and the next one is complete", () => {
    for (let lost = 0; lost < 5; lost++) {
      const fragments = new Fragments();
      const [first, second] = [cut(`[${long("1")}`, "a", 1), cut(`[${long("2")}`, "a", 2)];
      expect(first).toHaveLength(5);
      const results = [...first.toSpliced(lost, 1), ...second].map((part) => fragments.take(part));
      expect(results.filter((one) => one !== undefined)).toEqual([`[${long("2")}`]);
    }
  });
});

test("a short text is returned unchanged", () => {
  expect(new Fragments().take(new TextEncoder().encode("[1]"))).toBe("[1]");
});

describe("a payload that no node sends", () => {
  test.each([
    ["no header", "+"],
    ["a header without an end", `+${"a".repeat(100)}`],
    ["a sender with other characters", "+a/b 1 0 1\nx"],
    ["a part beyond the last", "+a 1 2 2\nx"],
    ["no parts", "+a 1 0 0\nx"],
    ["an empty part", "+a 1 0 2\n"],
    ["an empty text", "+a 1 0 1\n"],
    ["a small part that is not the last", "+a 1 0 2\nx"],
    ["a number in another notation", "+a 1e3 0 1\nx"],
  ])("%s is dropped", (_what, text) => {
    const fragments = new Fragments();
    expect(fragments.take(new TextEncoder().encode(text))).toBeUndefined();
    expect(fragments.size).toBe(0);
  });

  test.each([
    ["of the next text", "+a 1 0 2", "+a 2 1 2"],
    ["of a text with another number of parts", "+a 1 0 3", "+a 1 1 2"],
    ["that has already arrived", "+a 1 0 3", "+a 1 1 3", "+a 1 1 3"],
  ])("a fragment %s does not complete a text, and the incomplete text is dropped", (_what, ...headers) => {
    const fragments = new Fragments();
    const body = "x".repeat(PAYLOAD_MAX_BYTES);
    const results = headers.map((header) => fragments.take(Buffer.from(`${header}\n${body}`)));
    expect([results.filter((one) => one !== undefined), fragments.size]).toEqual([[], 0]);
  });

  test("random bytes never throw", () => {
    const fragments = new Fragments();
    const marked = fc.uint8Array().map((bytes) => Uint8Array.from([0x2b, ...bytes]));
    fc.assert(fc.property(fc.oneof(fc.uint8Array(), marked), (bytes) => void fragments.take(bytes)));
  });

  test("a text above the limit is dropped, and a payload above the limit is an empty text", () => {
    const fragments = new Fragments();
    const parts = fragmentsOf(new Uint8Array(TEXT_MAX_BYTES + 1).fill(0x61), "a", 1, 64 * 1024);
    expect(parts.map((part) => fragments.take(part))).toEqual(parts.map(() => undefined));
    expect(fragments.take(new Uint8Array(TEXT_MAX_BYTES + 1))).toBe("");
  });

  test("a text that announces too many fragments is dropped with the first one", () => {
    const fragments = new Fragments();
    const body = "x".repeat(PAYLOAD_MAX_BYTES);
    const first = (parts: number): string | undefined => fragments.take(Buffer.from(`+s 1 0 ${parts}\n${body}`));
    const second = (parts: number): string | undefined => fragments.take(Buffer.from(`+s 1 1 ${parts}\ny`));
    expect([first(2), second(2)]).toEqual([undefined, `${body}y`]);
    expect(fragments.size).toBe(0);
    first(9_999_999);
    expect(fragments.size).toBe(0);
  });

  test("incomplete texts are bounded", () => {
    const fragments = new Fragments();
    for (let sender = 0; sender < 1000; sender++) fragments.take(cut(long("x"), `s${sender}`)[0] as Uint8Array);
    expect((Reflect.get(fragments, "incomplete") as Map<string, unknown>).size).toBeLessThanOrEqual(64);
  });
});

test("a text whose next fragment does not arrive in time is dropped", () => {
  let now = 0;
  const fragments = new Fragments(() => now);
  const [first] = cut(`[${long("a")}`, "a");
  const [begun, ...rest] = cut(`[${long("b")}`, "b");
  fragments.take(first as Uint8Array);
  now = INCOMPLETE_MS / 2;
  fragments.take(begun as Uint8Array);
  now = INCOMPLETE_MS;
  fragments.sweep();
  expect(fragments.size).toBe(1);
  expect(rest.map((part) => fragments.take(part)).at(-1)).toBe(`[${long("b")}`);
});
