import { expect, test } from "bun:test";
import { Claims } from "./capacity-claims.ts";

/** Of a node that nobody is connected to. */
const claimsOf = (node: string, nowMs = (): number => 0): Claims => new Claims(node, () => 0, nowMs);

test("of two claims at one moment exactly one counts the other", () => {
  const [a, b] = [claimsOf("a"), claimsOf("b")];
  for (let i = 0; i < 3; i++) {
    const [ofA, ofB] = [a.take("app"), b.take("app")];
    expect([a.olderThan("app", ofB), b.olderThan("app", ofA)]).toEqual([1, 0]);
    for (const claim of [ofA, ofB]) claim.end();
  }
});

test("a claim that is made after another was heard of is younger, whatever was counted before", () => {
  const [a, b] = [claimsOf("a"), claimsOf("b")];
  for (let i = 0; i < 5; i++) b.take("other").end();
  const ofB = b.take("app");
  expect(a.olderThan("app", ofB)).toBe(0);
  const ofA = a.take("app");
  expect(ofA.n).toBeGreaterThan(ofB.n);
  expect([b.olderThan("app", ofA), a.olderThan("app", ofB)]).toEqual([1, 0]);
});

test("own claims that are older count, of that application, until they end or nobody has come for ten seconds", () => {
  let now = 0;
  const claims = claimsOf("a", () => now);
  const [first] = [claims.take("app"), claims.take("app"), claims.take("other")];
  const last = claims.take("app");
  expect(claims.olderThan("app", last)).toBe(2);
  first?.end();
  expect(claims.olderThan("app", last)).toBe(1);
  now = 9999;
  claims.sweep();
  expect(claims.olderThan("app", last)).toBe(1);
  now = 10_000;
  claims.sweep();
  expect(claims.olderThan("app", last)).toBe(0);
});
