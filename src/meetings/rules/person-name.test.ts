import { expect, spyOn, test } from "bun:test";
import { DEFAULT_NAME, typedName, vouchedName } from "./person-name.ts";

test("control, bidi and other characters that are not seen are taken out of a name", () => {
  expect(typedName("  Ada\u0000\u202e\u2066 \t\nLove\u200blace\u2069\ufeff ")).toBe("Ada Lovelace");
  expect(typedName("A\ud800da")).toBe("Ada");
  expect(typedName("a\u2028b")).toBe("ab");
});

test("letters of any script and emoji stay as they are", () => {
  for (const name of ["Łukasz", "雅子", "محمد", "नीतू", "👩‍💻 Ada"]) expect(typedName(name)).toBe(name);
});

test("a name of which nothing is left becomes the default", () => {
  for (const name of [
    undefined,
    "",
    "   ",
    "\u202e\u200b",
    "\u200d",
    "\n\t",
    "\u3164\u3164",
    "\u115f",
    "\u2800",
    "\ufe0f",
  ])
    expect(typedName(name)).toBe(DEFAULT_NAME);
  for (const name of [undefined, 5, "", "\u202e"]) expect(vouchedName(name)).toBeUndefined();
});

test("64 characters fit, however they are encoded; a longer name is refused", () => {
  expect(typedName("😀".repeat(64))).toBe("😀".repeat(64));
  expect(() => typedName("x".repeat(65))).toThrow(expect.objectContaining({ code: "invalid_request" }));
});

test("a letter has a few marks at most: a pile of them would cover the names around it", () => {
  expect(typedName(`Z${"\u0335\u0336".repeat(20)}algo`)).toBe("Z\u0335\u0336\u0335\u0336algo");
  expect(typedName("Ngu\u0302\u0303yn")).toBe("Ngu\u0302\u0303yn".normalize("NFC"));
});

test("a longer name of an access token is cut", () => {
  expect(vouchedName(`${"x".repeat(63)} yz`)).toBe("x".repeat(63));
});

/** The longest text that is normalised meanwhile, and its longest pile of marks. */
function normalised(work: () => unknown): { readonly chars: number; readonly marks: number } {
  const spy = spyOn(String.prototype, "normalize");
  try {
    work();
  } catch {
    // A refusal.
  }
  const texts = spy.mock.contexts.map(String);
  spy.mockRestore();
  const piles = texts.flatMap((text) => text.match(/\p{M}+/gu) ?? []);
  const longest = (all: readonly string[]): number => Math.max(0, ...all.map((one) => one.length));
  return { chars: longest(texts), marks: longest(piles) };
}

test("neither a long text nor a pile of marks is normalised: that would take seconds", () => {
  const pile = `a${"\u0301".repeat(2000)}${"\u0316".repeat(2000)}`;
  for (const text of [pile, `x${pile}`.repeat(4), "a\u0301\u0316".repeat(2000), "\u202e\u0316\u0301".repeat(2000)])
    for (const name of [typedName, vouchedName]) {
      const { chars, marks } = normalised(() => name(text));
      expect(chars).toBeLessThanOrEqual(256);
      expect(marks).toBeLessThanOrEqual(16);
    }
});

test("a name of 64 characters fits, however many parts each of them is sent in", () => {
  for (const name of ["\u1f82", "\u1ec7", "\ud55c", "\u00e9"]) {
    const parts = name.normalize("NFD").repeat(64);
    expect(typedName(parts)).toBe(name.repeat(64));
    expect(vouchedName(parts.repeat(3))).toBe(name.repeat(64));
  }
  expect(typedName(`${" ".repeat(5000)}Ada\u200b${" ".repeat(5000)}Lovelace`)).toBe("Ada Lovelace");
});
