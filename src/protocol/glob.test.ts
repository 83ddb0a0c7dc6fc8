import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Glob, parseGlob, Scope } from "./glob.ts";

const glob = (source: string): Glob => {
  const parsed = parseGlob(source);
  if (typeof parsed === "string") throw new Error(`${source}: ${parsed}`);
  return parsed;
};
const scope = (...patterns: string[]) => new Scope(patterns.map(glob));

/** The slow, obvious meaning of a pattern, by recursion over its text. */
function obvious(pattern: string, text: string): boolean {
  if (pattern === "") return text === "";
  if (pattern.startsWith("**")) {
    for (let i = 0; i <= text.length; i++) if (obvious(pattern.slice(2), text.slice(i))) return true;
    return false;
  }
  if (pattern.startsWith("*")) {
    for (let i = 0; i <= text.length; i++) {
      if (obvious(pattern.slice(1), text.slice(i))) return true;
      if (text[i] === "/") return false;
    }
    return false;
  }
  const escaped = pattern.startsWith("\\");
  const literal = escaped ? pattern[1] : pattern[0];
  return text[0] === literal && obvious(pattern.slice(escaped ? 2 : 1), text.slice(1));
}

const patternText = fc
  .array(fc.constantFrom("a", "b", "/", "*", "**", "\\*", "\\\\", "ab/"), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.join(""))
  .filter((text) => typeof parseGlob(text) !== "string");
const nameText = fc.string({ unit: fc.constantFrom("a", "b", "/", "*", "\\", "c"), maxLength: 9 });

/** Every text over a small alphabet up to a length: enough to contradict any wrong "covered" of small patterns. */
const allTexts: string[] = [""];
for (let from = 0, length = 1; length <= 6; length++) {
  const to = allTexts.length;
  for (; from < to; from++) for (const unit of "ab/c") allTexts.push(allTexts[from] + unit);
}

describe("matching", () => {
  test("agrees with the obvious definition", () => {
    fc.assert(
      fc.property(fc.array(patternText, { minLength: 1, maxLength: 4 }), nameText, (patterns, name) => {
        expect(scope(...patterns).matches(name)).toBe(patterns.some((pattern) => obvious(pattern, name)));
      }),
      { numRuns: 5000 },
    );
  });

  test("'*' stays within a segment, '**' does not, both may be empty", () => {
    expect(scope("chat/*").matches("chat/room")).toBe(true);
    expect(scope("chat/*").matches("chat/")).toBe(true);
    expect(scope("chat/*").matches("chat/a/b")).toBe(false);
    expect(scope("chat/**").matches("chat/a/b")).toBe(true);
    expect(scope("**").matches("anything/at/all")).toBe(true);
  });

  test("reserved names are covered by nothing, in any case of letters", () => {
    for (const name of ["_metered/x", "_Internal/x", "_SYSTEM/", "_parley/a"]) {
      expect(scope("**", name).matches(name)).toBe(false);
      expect(scope("**").covers(glob(name))).toBe(false);
    }
    expect(scope("**").matches("_parleyx")).toBe(true);
    expect(scope("**").covers(glob("_system/*"))).toBe(false);
  });

  test("a hostile pattern costs no more than a plain one of its length", () => {
    const name = `${"a".repeat(255)}b`;
    const hostile = scope(`${"*a".repeat(127)}c`);
    const started = process.cpuUsage();
    for (let i = 0; i < 1000; i++) expect(hostile.matches(name)).toBe(false);
    // A backtracking matcher needs longer than the universe has for the first of these.
    expect(process.cpuUsage(started).user).toBeLessThan(5_000_000);
  });

  test("more states than one word", () => {
    const long = `${"x".repeat(100)}/*/${"y".repeat(100)}`;
    expect(scope("a", long, "b").matches(`${"x".repeat(100)}/mid/${"y".repeat(100)}`)).toBe(true);
    expect(scope("a", long, "b").matches(`${"x".repeat(100)}/m/d/${"y".repeat(100)}`)).toBe(false);
  });
});

describe("containment", () => {
  test("is exact: 'covered' has no counter-example, 'not covered' comes with one", () => {
    fc.assert(
      fc.property(fc.array(patternText, { minLength: 1, maxLength: 4 }), patternText, (patterns, part) => {
        const whole = scope(...patterns);
        const witness = whole.uncovered(glob(part));
        const covered = (text: string) => patterns.some((pattern) => obvious(pattern, text));
        if (witness === undefined) {
          expect(allTexts.find((text) => obvious(part, text) && !covered(text))).toBeUndefined();
        } else {
          expect(obvious(part, witness)).toBe(true);
          expect(covered(witness)).toBe(false);
        }
      }),
      { numRuns: 1500 },
    );
  });

  test("decided by the union, not by each pattern alone", () => {
    expect(scope("a/*", "a/**/*").covers(glob("a/**"))).toBe(true);
    expect(scope("x*", "y*").covers(glob("*"))).toBe(false);
    expect(scope("chat/*").covers(glob("chat/**"))).toBe(false);
    expect(scope("chat/**").covers(glob("chat/*/x"))).toBe(true);
  });

  test("what cannot be shown in bounded work is refused, soon", () => {
    const hostile = scope(...Array.from({ length: 100 }, (_, i) => `**a${"*".repeat(1)}b${"a*".repeat(i % 60)}`));
    const started = process.cpuUsage();
    expect(hostile.covers(glob(`**${"b**".repeat(80)}`))).toBe(false);
    expect(process.cpuUsage(started).user).toBeLessThan(2_000_000);
  });
});

describe("refused where they are given", () => {
  test.each([
    ["", "empty"],
    ["a***b", "***"],
    ["a\\", "followed"],
    ["a\\b", "followed"],
    ["a\u0007", "control"],
    ["a\ud800", "well-formed"],
    ["é".repeat(129), "256 bytes"],
  ])("%j", (source, because) => {
    expect(parseGlob(source)).toContain(because);
  });

  test("256 bytes are allowed", () => {
    expect(typeof parseGlob("é".repeat(128))).toBe("object");
  });
});
