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
      const mustAsk = node.mustAsk("app", cap, reported.toSpliced(at, 1));
      const claim = node.open("app", mustAsk);
      const others = all.filter((other) => mustAsk && other !== node);
      const elsewhere = others.reduce((sum, other) => sum + other.taken("app", claim), 0);
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
    expect(claims.mustAsk("app", 1000, known)).toBe(false);
  expect(claims.mustAsk("app", 1000, [0, 0, 500])).toBe(true);
});

test("nodes never exceed a cap, and use all of it, whether they have heard of each other's connections or not", () => {
  for (const nodes of [1, 2, 3, 8])
    for (const cap of [10, 1000, 1001])
      for (const isReported of [false, true]) expect(crowd(nodes, cap, isReported)).toBe(cap);
});

test("a node asks once another has asked, and not any more ten seconds after the last time", () => {
  let now = 0;
  const claims = claimsOf("a", () => now);
  expect(claims.mustAsk("app", 1000, [0])).toBe(false);
  claims.taken("app", claimsOf("b").open("app"));
  expect([claims.mustAsk("app", 1000, [0]), claims.mustAsk("other", 1000, [0])]).toEqual([true, false]);
  now = 10_000;
  claims.sweep();
  expect(claims.mustAsk("app", 1000, [0])).toBe(false);
});

test("claims under way count: those without asking for the claims of all nodes, and towards this node's share", () => {
  const claims = claimsOf("a");
  const under = Array.from({ length: 500 }, () => claims.open("app", false));
  expect(claims.mustAsk("app", 1000, [0])).toBe(true);
  expect(claims.taken("app", claimsOf("b").open("app"))).toBe(500);
  for (const claim of under) claim.end();
  expect(claims.taken("app", claimsOf("b").open("app"))).toBe(0);
});
