import { expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import type { Claim } from "../../engine.ts";
import type { Nodes } from "../nodes/nodes.ts";
import { CapacityClaims } from "./capacity-claims.ts";
import { claimCapacity } from "./capacity-requests.ts";
import type { Requests } from "./requests.ts";

const APP = anAppId("app");

/** A node with this many connections, beside one that has reported `reported` and does not respond. */
async function claimBesideSilent(cap: number, own: number, reported: number): Promise<Claim | undefined> {
  const parts = {
    claims: new CapacityClaims(
      "a",
      () => own,
      () => 0,
    ),
    requests: { toAll: (_request, settle) => settle(new Map()) } as Pick<Requests, "toAll"> as Requests,
    nodes: { all: [{ name: "b", connections: new Map([[APP, reported]]) }] } as unknown as Nodes,
  };
  return claimCapacity(parts, APP, cap, true);
}

test("a node that does not respond counts with its share of a large cap, or with what it has reported of more", async () => {
  expect(await claimBesideSilent(1000, 499, 300)).toBeDefined();
  expect(await claimBesideSilent(1000, 500, 300)).toBeUndefined();
  expect(await claimBesideSilent(1000, 399, 600)).toBeDefined();
  expect(await claimBesideSilent(1000, 400, 600)).toBeUndefined();
});

test("of a small cap it takes nothing without asking: what it has reported counts", async () => {
  expect(await claimBesideSilent(10, 6, 3)).toBeDefined();
  expect(await claimBesideSilent(10, 7, 3)).toBeUndefined();
});
