import { expect, test } from "bun:test";
import { CapacityClaims } from "./capacity-claims.ts";

/** Claims of a node without connections. */
const claimsOf = (node: string, nowMs = (): number => 0): CapacityClaims => new CapacityClaims(node, () => 0, nowMs);

test("of two simultaneous claims exactly one counts the other", () => {
  const [a, b] = [claimsOf("a"), claimsOf("b")];
  for (let i = 0; i < 3; i++) {
    const [ofA, ofB] = [a.open("app"), b.open("app")];
    expect([a.countOlder("app", ofB), b.countOlder("app", ofA)]).toEqual([1, 0]);
    for (const claim of [ofA, ofB]) claim.end();
  }
});

test("a claim that is opened after another was received is younger, whatever the numbers were before", () => {
  const [a, b] = [claimsOf("a"), claimsOf("b")];
  for (let i = 0; i < 5; i++) b.open("other").end();
  const ofB = b.open("app");
  expect(a.countOlder("app", ofB)).toBe(0);
  const ofA = a.open("app");
  expect(ofA.number).toBeGreaterThan(ofB.number);
  expect([b.countOlder("app", ofA), a.countOlder("app", ofB)]).toEqual([1, 0]);
});

test("older claims of the node for that application count until they end or ten seconds have passed", () => {
  let now = 0;
  const claims = claimsOf("a", () => now);
  const [first] = [claims.open("app"), claims.open("app"), claims.open("other")];
  const last = claims.open("app");
  expect(claims.countOlder("app", last)).toBe(2);
  first?.end();
  expect(claims.countOlder("app", last)).toBe(1);
  now = 9999;
  claims.sweep();
  expect(claims.countOlder("app", last)).toBe(1);
  now = 10_000;
  claims.sweep();
  expect(claims.countOlder("app", last)).toBe(0);
});
