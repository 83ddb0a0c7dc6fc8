import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../testing/runs.ts";
import { Effort, EffortExceeded } from "./containment.ts";
import { type Glob, parseGlob } from "./glob.ts";
import { Scope } from "./scope.ts";

const glob = (source: string): Glob => {
  const parsed = parseGlob(source);
  if (typeof parsed === "string") throw new Error(`${source}: ${parsed}`);
  return parsed;
};
const scope = (...patterns: string[]) => new Scope(patterns.map(glob));

/** The definition of matching, by slow recursion over the text of the pattern. */
function matchesByDefinition(pattern: string, text: string): boolean {
  if (pattern === "") return text === "";
  if (pattern.startsWith("**")) {
    for (let i = 0; i <= text.length; i++) if (matchesByDefinition(pattern.slice(2), text.slice(i))) return true;
    return false;
  }
  if (pattern.startsWith("*")) {
    for (let i = 0; i <= text.length; i++) {
      if (matchesByDefinition(pattern.slice(1), text.slice(i))) return true;
      if (text[i] === "/") return false;
    }
    return false;
  }
  const escaped = pattern.startsWith("\\");
  const literal = escaped ? pattern[1] : pattern[0];
  return text[0] === literal && matchesByDefinition(pattern.slice(escaped ? 2 : 1), text.slice(1));
}

const patternText = fc
  .array(fc.constantFrom("a", "b", "/", "*", "**", "\\*", "\\\\", "ab/"), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.join(""))
  .filter((text) => typeof parseGlob(text) !== "string");
const wildText = patternText.filter((text) => glob(text).exact === undefined);
const nameText = fc.string({ unit: fc.constantFrom("a", "b", "/", "*", "\\", "c"), maxLength: 9 });

/** Every text over a small alphabet up to a length: enough to refute any wrong "covered" of small patterns. */
const allTexts: string[] = [""];
for (let from = 0, length = 1; length <= 6; length++) {
  const to = allTexts.length;
  for (; from < to; from++) for (const unit of "ab/c") allTexts.push(allTexts[from] + unit);
}

/** An estimate of the bytes that a value and everything it refers to take in memory. */
function estimatedBytes(value: unknown, seen = new Set<unknown>()): number {
  if (typeof value === "string") return value.length * 2;
  if (typeof value !== "object" || value === null || seen.has(value)) return 8;
  seen.add(value);
  if (ArrayBuffer.isView(value)) return value.byteLength;
  const parts = value instanceof Map || value instanceof Set ? [...value] : Object.values(value);
  return parts.reduce<number>((sum, part) => sum + estimatedBytes(part, seen), 8);
}

describe("matching", () => {
  test("agrees with the definition", () => {
    fc.assert(
      fc.property(fc.array(patternText, { minLength: 1, maxLength: 4 }), nameText, (patterns, name) => {
        expect(scope(...patterns).matches(name)).toBe(patterns.some((pattern) => matchesByDefinition(pattern, name)));
      }),
      { numRuns: runs(5000) },
    );
  });

  test("'*' stays within a segment, '**' does not, both may be empty", () => {
    expect(scope("chat/*").matches("chat/room")).toBe(true);
    expect(scope("chat/*").matches("chat/")).toBe(true);
    expect(scope("chat/*").matches("chat/a/b")).toBe(false);
    expect(scope("chat/**").matches("chat/a/b")).toBe(true);
    expect(scope("**").matches("anything/at/all")).toBe(true);
  });

  test("no pattern covers reserved names, in upper or lower case", () => {
    for (const name of ["_metered/x", "_Internal/x", "_SYSTEM/", "_parley/a"]) {
      expect(scope("**", name).matches(name)).toBe(false);
      expect(scope("**").covers(glob(name))).toBe(false);
    }
    expect(scope("**").matches("_parleyx")).toBe(true);
    expect(scope("**").covers(glob("_system/*"))).toBe(false);
  });

  test("a malicious pattern costs no more than a plain one of its length", () => {
    const name = `${"a".repeat(255)}b`;
    const malicious = scope(`${"*a".repeat(127)}c`);
    const started = process.cpuUsage();
    for (let i = 0; i < 1000; i++) expect(malicious.matches(name)).toBe(false);
    // A backtracking matcher would need exponential time for the first of these.
    expect(process.cpuUsage(started).user).toBeLessThan(5_000_000);
  });

  test("patterns may have more states than one integer has bits", () => {
    const long = `${"x".repeat(100)}/*/${"y".repeat(100)}`;
    expect(scope("a", long, "b").matches(`${"x".repeat(100)}/mid/${"y".repeat(100)}`)).toBe(true);
    expect(scope("a", long, "b").matches(`${"x".repeat(100)}/m/d/${"y".repeat(100)}`)).toBe(false);
  });
});

describe("containment", () => {
  test("is exact: 'covered' has no counter-example, 'not covered' has one", () => {
    fc.assert(
      fc.property(fc.array(patternText, { minLength: 1, maxLength: 4 }), wildText, (patterns, part) => {
        const whole = scope(...patterns);
        const found = whole.containment(glob(part));
        const covered = (text: string) => patterns.some((pattern) => matchesByDefinition(pattern, text));
        if (found.covered === false) {
          const witness = found.example("z");
          expect(matchesByDefinition(part, witness)).toBe(true);
          expect(covered(witness)).toBe(false);
        } else {
          expect(found.covered).toBe(true);
          expect(allTexts.find((text) => matchesByDefinition(part, text) && !covered(text))).toBeUndefined();
        }
        expect(whole.covers(glob(part))).toBe(found.covered);
      }),
      { numRuns: runs(1500) },
    );
  });

  test("is exact where several patterns together cover what a '**' may contain", () => {
    // Each takes a share of what a '**' may contain: a fixed number of slashes, at least a number, or any number.
    const shares = ["*", "*/*", "*/**", "**/*", "*/*/**", "**", "*/**/*", "a*/**", "**a"];
    const share = fc.constantFrom(...shares);
    const cases = fc.constantFrom(1, 2, 3).chain((gaps) =>
      fc.record({
        literals: fc.array(fc.constantFrom("", "a", "b/", "ab"), { minLength: gaps + 1, maxLength: gaps + 1 }),
        choices: fc.array(fc.array(share, { minLength: gaps, maxLength: gaps }), { minLength: 1, maxLength: 9 }),
      }),
    );
    const woven = (literals: string[], gaps: string[]): string =>
      literals.map((literal, i) => literal + (gaps[i] ?? "")).join("");
    fc.assert(
      fc.property(cases, ({ literals, choices }) => {
        const part = woven(
          literals,
          literals.slice(1).map(() => "**"),
        );
        const patterns = choices.map((choice) => woven(literals, choice));
        fc.pre([part, ...patterns].every((pattern) => typeof parseGlob(pattern) !== "string"));
        const found = scope(...patterns).containment(glob(part));
        const covered = (text: string) => patterns.some((pattern) => matchesByDefinition(pattern, text));
        if (found.covered === false) {
          const witness = found.example("z");
          expect(matchesByDefinition(part, witness)).toBe(true);
          expect(covered(witness)).toBe(false);
        } else {
          expect(found.covered).toBe(true);
          expect(scope(...patterns).covers(glob(part))).toBe(true);
          expect(allTexts.find((text) => matchesByDefinition(part, text) && !covered(text))).toBeUndefined();
        }
      }),
      { numRuns: runs(800) },
    );
  });

  test("is decided by the union, not by each pattern alone", () => {
    expect(scope("a/*", "a/**/*").covers(glob("a/**"))).toBe(true);
    expect(scope("x*", "y*").covers(glob("*"))).toBe(false);
    expect(scope("chat/*").covers(glob("chat/**"))).toBe(false);
    expect(scope("chat/**").covers(glob("chat/*/x"))).toBe(true);
  });

  test("a hundred of the longest patterns are decided against a hundred of the longest", () => {
    const hundred = (make: (i: number) => string): string[] => Array.from({ length: 100 }, (_, i) => make(i));
    /** A character that no pattern contains. */
    const other = (i: number): string => String.fromCharCode(0x4e00 + i);
    const cases: [string[], string[], boolean][] = [
      [hundred((i) => `t${i}/**`), hundred((i) => `${`t${i}/`.padEnd(254, "x")}/*`), true],
      [hundred((i) => `${`t${i}/`.padEnd(250, "x")}/*/z`), hundred((i) => `${`t${i}/`.padEnd(250, "x")}/a*/z`), true],
      [hundred((i) => `**${`${i}`.padEnd(240, "a")}*`), hundred((i) => `${other(i)}${"a".repeat(250)}*`), false],
      [hundred((i) => `**${"a*".repeat(i + 20)}`), hundred((i) => `${i}*${"a".repeat(250)}*`), true],
      [hundred((i) => `**${"/*".repeat(124)}${i}*`), hundred((i) => `*${"/".repeat(250)}${other(i)}`), false],
      [hundred((i) => `**${"a**".repeat(80)}${i}**`), hundred((i) => `**${"a**".repeat(80)}${other(i)}`), false],
    ];
    for (const [patterns, parts, covered] of cases) {
      const whole = scope(...patterns);
      const effort = new Effort();
      const started = process.cpuUsage();
      expect(parts.map((part) => whole.covers(glob(part), effort))).toEqual(parts.map(() => covered));
      // 20 million steps at most, about 30 ms; the limit leaves room for a slow machine.
      expect(effort.spent).toBeLessThan(22_000_000);
      expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
    }
  });

  test("costly verdicts are cached, up to a maximum", () => {
    const whole = scope(...Array.from({ length: 20 }, (_, i) => `**${"a*".repeat(i + 60)}`));
    const costOf = (part: string): number => {
      const effort = new Effort();
      whole.covers(glob(part), effort);
      return effort.spent;
    };
    const part = (i: number): string => `${i}*${"a".repeat(200)}*`;
    const first = costOf(part(0));
    expect(first).toBeGreaterThan(1000);
    expect(costOf(part(0))).toBe(0);
    for (let i = 1; i <= 128; i++) expect(costOf(part(i))).toBeGreaterThan(1000);
    expect(costOf(part(0))).toBe(first);
  });

  test("a name without wildcards is charged like a pattern", () => {
    const whole = scope(...Array.from({ length: 20 }, (_, i) => `**${"a*".repeat(i + 60)}`));
    const effort = new Effort();
    expect(whole.covers(glob("a".repeat(250)), effort)).toBe(true);
    expect(effort.spent).toBeGreaterThan(1000);
    expect(() => whole.covers(glob("a".repeat(249)), new Effort(1000))).toThrow(EffortExceeded);
  });

  test("combining the patterns that could cover a part is charged before it is done", () => {
    // All of them begin and end like the part, and the first matches the part's simplest name.
    const patterns = Array.from({ length: 99 }, (_, i) => `a*${`${i}`.padEnd(240, "x")}*b`);
    const whole = scope("a*b", ...patterns);
    expect(() => whole.covers(glob("a**b"), new Effort(100_000))).toThrow(EffortExceeded);
    expect(whole.covers(glob("a**b"))).toBe(false);
  });

  test("the patterns of a token take little memory per connection, whatever characters they contain", () => {
    let next = 0x4e00;
    const pattern = (): string => `**${Array.from({ length: 80 }, () => String.fromCharCode(next++)).join("")}**`;
    const whole = scope(...Array.from({ length: 100 }, pattern));
    expect(whole.matches("x")).toBe(false);
    expect(estimatedBytes(whole)).toBeLessThan(1024 * 1024);
  });

  test("patterns that people write cost almost nothing", () => {
    const effort = new Effort();
    const whole = scope("chat/*", "rooms/*/state", "tenants/acme/**", "news/**");
    for (const part of ["tenants/acme/**", "rooms/7*/state", "chat/a*", "news/*/x", "tenants/acme/x/**/y"])
      expect(whole.covers(glob(part), effort)).toBe(true);
    expect(effort.requests).toBe(0);
  });

  describe("for propositional formulas written as patterns", () => {
    const names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    /** Each variable is a '**' between two letters, true if it contains a slash. Literal n is variable n, -n its negation. */
    const partOf = (variables: number): string => `${[...names.slice(0, variables)].join("**")}**${names[variables]}`;
    const termOf = (variables: number, literals: readonly number[]): string =>
      Array.from({ length: variables }, (_, i) => {
        const gap = literals.includes(i + 1) ? "**/*" : literals.includes(-i - 1) ? "*" : "**";
        return `${names[i]}${gap}`;
      }).join("") + names[variables];

    /** The pigeonhole principle: every arrangement has a pigeon without a hole, or two in one. */
    const pigeons = (holes: number): string[] => {
      const at = (pigeon: number, hole: number): number => pigeon * holes + hole + 1;
      const all = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
      const variables = (holes + 1) * holes;
      const homeless = all(holes + 1).map((pigeon) => all(holes).map((hole) => -at(pigeon, hole)));
      const crowded = all(holes).flatMap((hole) =>
        all(holes + 1).flatMap((one) => all(one).map((other) => [at(one, hole), at(other, hole)])),
      );
      return [...homeless, ...crowded].map((literals) => termOf(variables, literals));
    };

    test("the pigeonhole principle is covered by 81 patterns together, and by no 80 of them", () => {
      const patterns = pigeons(5);
      expect(patterns).toHaveLength(81);
      const part = glob(partOf(30));
      expect(scope(...patterns).covers(part)).toBe(true);
      for (const missing of [0, 40, 80]) expect(scope(...patterns.toSpliced(missing, 1)).covers(part)).toBe(false);
    });

    test("pairs that must be equal are not enumerated one by one", () => {
      const pairs = Array.from({ length: 20 }, (_, i) => i + 1);
      const unequal = pairs.flatMap((i) => [
        [i, -(i + 20)],
        [-i, i + 20],
      ]);
      const patterns = [...unequal, [40], [-40]].map((literals) => termOf(40, literals));
      expect(scope(...patterns).covers(glob(partOf(40)))).toBe(true);
      expect(scope(...patterns.slice(0, -1)).covers(glob(partOf(40)))).toBe(false);
    });

    test("a search that reaches its limit is undecided, not wrong", () => {
      const effort = new Effort();
      effort.searchLeft = 10_000;
      const whole = scope(...pigeons(5));
      expect(whole.covers(glob(partOf(30)), effort)).toBeUndefined();
      // It is not cached as a verdict.
      expect(whole.covers(glob(partOf(30)))).toBe(true);
    });
  });
});

describe("parsing", () => {
  test.each([
    ["", "empty"],
    ["a***b", "***"],
    ["a\\", "followed"],
    ["a\\b", "followed"],
    ["a\u0007", "control"],
    ["a\ud800", "well-formed"],
    ["é".repeat(129), "256 bytes"],
  ])("refuses %j", (source, because) => {
    expect(parseGlob(source)).toContain(because);
  });

  test("allows 256 bytes", () => {
    expect(typeof parseGlob("é".repeat(128))).toBe("object");
  });
});
