import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseGlob, Scope } from "../../../src/protocol/glob.ts";
import { matchesPattern } from "./pattern.ts";

const text = fc.string({ unit: fc.constantFrom("a", "b", "/", "*", "\\"), maxLength: 8 });

test("decides like the service", () => {
  fc.assert(
    fc.property(text, text, (pattern, name) => {
      const glob = parseGlob(pattern);
      if (typeof glob === "string") return;
      expect(matchesPattern(pattern, name)).toBe(new Scope([glob]).matches(name));
    }),
    { seed: 20_261, numRuns: 5000 },
  );
});

test("a pattern of many gaps takes no longer than its length", () => {
  const started = performance.now();
  expect(matchesPattern("**a".repeat(60), "a".repeat(200).concat("b"))).toBe(false);
  expect(performance.now() - started).toBeLessThan(500);
});
