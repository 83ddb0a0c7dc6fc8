/** Direct messages between three nodes, one of which is stopped for a while (SIGSTOP): each arrives at most once, and in order. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { tokenQuery } from "../conformance/raw/support/world.ts";
import type { SecretKey } from "../support/admin.ts";
import { type Placed, type Places, RULES, roundOf, type Stop } from "../support/direct-stops.ts";
import { selfSigned } from "../support/jwt.ts";
import { Cluster, connect } from "./support/cluster.ts";

setDefaultTimeout(180_000);

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";

describe.skipIf(!IS_FULL)("three nodes", () => {
  let cluster: Cluster;
  let key: SecretKey;
  beforeAll(async () => {
    cluster = await Cluster.start({ nodes: 3 });
    const [node] = cluster.pair;
    const app = await node.admin.createApp();
    await node.admin.must("PATCH", `/apps/${app._id}`, RULES);
    key = await node.admin.createKey(app._id);
    places = { url: node.url, credential: key.credential, connect: connectAt };
  });
  afterAll(() => cluster.stop());

  let places: Places;
  const connectAt = async (sub: string, index: number): Promise<Placed> => {
    const at = cluster.nodes[index];
    if (!at) throw new Error("there is no such node");
    const wire = await connect(at, tokenQuery(selfSigned(key.keyId, key.secret, { sub })));
    await wire.frame("welcome");
    return { wire, at };
  };

  let rounds = 0;
  const stops: Stop["of"][] = ["receiver", "sender", "holder"];
  for (const of of stops)
    for (const isHeld of [true, false])
      for (const ms of [400, 900, 1500, 2900, ...(isHeld ? [] : [8000, 30_000])])
        test(`the ${of}'s is stopped for ${ms} ms${isHeld ? ", and the receiver was expected back" : ""}`, async () => {
          const { faults, received } = await roundOf(places, `peer-${++rounds}`, isHeld, { of, ms });
          expect(faults).toEqual([]);
          expect(received).toBeGreaterThan(20);
        });
});
