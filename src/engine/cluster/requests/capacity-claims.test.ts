import { expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import { CapacityClaims } from "./capacity-claims.ts";

const APP = anAppId("app");
const OTHER = anAppId("other");

/** Claims of a node without connections. */
const claimsOf = (node: string, nowMs = (): number => 0): CapacityClaims => new CapacityClaims(node, () => 0, nowMs);

test("of two simultaneous claims exactly one counts the other", () => {
  const [a, b] = [claimsOf("a"), claimsOf("b")];
  for (let i = 0; i < 3; i++) {
    const [ofA, ofB] = [a.open(APP), b.open(APP)];
    expect([a.countOlder(APP, ofB), b.countOlder(APP, ofA)]).toEqual([1, 0]);
    for (const claim of [ofA, ofB]) claim.end();
  }
});

test("a claim that is opened after another was received is younger, whatever the numbers were before", () => {
  const [a, b] = [claimsOf("a"), claimsOf("b")];
  for (let i = 0; i < 5; i++) b.open(OTHER).end();
  const ofB = b.open(APP);
  expect(a.countOlder(APP, ofB)).toBe(0);
  const ofA = a.open(APP);
  expect(ofA.number).toBeGreaterThan(ofB.number);
  expect([b.countOlder(APP, ofA), a.countOlder(APP, ofB)]).toEqual([1, 0]);
});

test("older claims of the node for that application count until they end or ten seconds have passed", () => {
  let now = 0;
  const claims = claimsOf("a", () => now);
  const [first] = [claims.open(APP), claims.open(APP), claims.open(OTHER)];
  const last = claims.open(APP);
  expect(claims.countOlder(APP, last)).toBe(2);
  first?.end();
  expect(claims.countOlder(APP, last)).toBe(1);
  now = 9999;
  claims.sweep();
  expect(claims.countOlder(APP, last)).toBe(1);
  now = 10_000;
  claims.sweep();
  expect(claims.countOlder(APP, last)).toBe(0);
});

/**
 * Nodes, and a client that connects to each of them as often as it is let in. They know nothing of each other's connections, or what the
 * others had a round ago.
 */
function crowd(nodes: number, cap: number, isReported: boolean): number {
  const counts = Array.from({ length: nodes }, () => 0);
  const all = counts.map(
    (_, at) =>
      new CapacityClaims(
        String(at),
        () => counts[at] ?? 0,
        () => 0,
      ),
  );
  for (let round = 0; round < 2 * cap; round++) {
    const reported = isReported ? [...counts] : counts.map(() => 0);
    for (const [at, node] of all.entries()) {
      const mustAsk = node.mustAsk(APP, cap, reported.toSpliced(at, 1));
      const claim = node.open(APP, mustAsk);
      const others = all.filter((other) => mustAsk && other !== node);
      const elsewhere = others.reduce((sum, other) => sum + other.taken(APP, claim), 0);
      if (!node.decide(claim, cap, elsewhere)) continue;
      claim.end();
      counts[at] = (counts[at] ?? 0) + 1;
    }
  }
  return counts.reduce((sum, count) => sum + count, 0);
}

test("a node within its share does not ask, whatever the others have reported of theirs", () => {
  const claims = claimsOf("a");
  for (const known of [
    [0, 0, 0],
    [250, 250, 250],
  ])
    expect(claims.mustAsk(APP, 1000, known)).toBe(false);
  expect(claims.mustAsk(APP, 1000, [0, 0, 500])).toBe(true);
});

test("nodes never exceed a cap, and use all of it, whether they have heard of each other's connections or not", () => {
  for (const nodes of [1, 2, 3, 8])
    for (const cap of [10, 1000, 1001])
      for (const isReported of [false, true]) expect(crowd(nodes, cap, isReported)).toBe(cap);
});

test("a node asks once another has asked, and not any more ten seconds after the last time", () => {
  let now = 0;
  const claims = claimsOf("a", () => now);
  expect(claims.mustAsk(APP, 1000, [0])).toBe(false);
  claims.taken(APP, claimsOf("b").open(APP));
  expect([claims.mustAsk(APP, 1000, [0]), claims.mustAsk(OTHER, 1000, [0])]).toEqual([true, false]);
  now = 10_000;
  claims.sweep();
  expect(claims.mustAsk(APP, 1000, [0])).toBe(false);
});

test("claims under way count: those without asking for the claims of all nodes, and towards this node's share", () => {
  const claims = claimsOf("a");
  const under = Array.from({ length: 500 }, () => claims.open(APP, false));
  expect(claims.mustAsk(APP, 1000, [0])).toBe(true);
  expect(claims.taken(APP, claimsOf("b").open(APP))).toBe(500);
  for (const claim of under) claim.end();
  expect(claims.taken(APP, claimsOf("b").open(APP))).toBe(0);
});
