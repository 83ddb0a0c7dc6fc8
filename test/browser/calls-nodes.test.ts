/** The cases of calls.test.ts on three nodes, with the two pages on different ones, and a rolling restart. Only with --full. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { Cluster } from "../nodes/support/cluster.ts";
import type { Server } from "../support/parley.ts";
import { CallCases, IS_FULL, met, metTwice } from "./support/call-cases.ts";

setDefaultTimeout(120_000);

const portOf = ({ url }: Server): number => Number(new URL(url).port);

class ThreeNodes {
  private constructor(
    readonly cluster: Cluster,
    readonly secretKey: string,
  ) {}

  static start = async (): Promise<ThreeNodes> => {
    const cluster = await Cluster.start({ nodes: 3, env: { PARLEY_DEMO: "off" } });
    const [{ admin }] = cluster.pair;
    await admin.createApp("demo");
    return new ThreeNodes(cluster, (await admin.createKey("demo")).credential);
  };

  node(at: number): Server {
    const found = this.cluster.nodes[at];
    if (!found) throw new Error(`there is no node ${at}`);
    return found;
  }

  port = (at: number): number => portOf(this.node(at));

  get url() {
    return this.node(2).url;
  }

  get admin() {
    return this.node(2).admin;
  }

  get ports() {
    return { alice: this.port(0), bob: this.port(1) };
  }

  stop = (): Promise<void> => this.cluster.stop();
}

describe.skipIf(!IS_FULL)("on three nodes", () => {
  const cases = new CallCases(ThreeNodes.start);
  cases.oneReturns("bob");
  cases.oneReturns("alice");

  test("the node of both stops, and they move to different ones", async () => {
    const { ground } = cases;
    const [common] = await ground.cluster.add(1);
    if (!common) throw new Error("no node was added");
    const port = portOf(common);
    const call = await cases.begin({ ports: { alice: port, bob: port } });
    call.lines.alice.lead(ground.port(0));
    call.lines.bob.lead(ground.port(1));
    await common.kill("SIGTERM");
    await Promise.all([call.alice.reconnecting(), call.bob.reconnecting()]);
    await call.goesOn();
    const { alice = [], bob = [] } = await call.comings();
    // A drain closes connections one after the other: the first may be back before the last has lost its own, and is shown its return.
    expect([met("bob"), metTwice("bob")]).toContainEqual(alice);
    expect([met("alice"), metTwice("alice")]).toContainEqual(bob);
  });

  test("the nodes of both restart, one after the other, and each page moves to another node", async () => {
    const call = await cases.begin();
    const { ground } = cases;
    for (const [at, who] of (["alice", "bob"] as const).entries()) {
      call.lines[who].lead(ground.port(2));
      await ground.node(at).kill("SIGTERM");
      await call[who].reconnecting();
      await call.goesOn();
    }
    const { alice = [], bob = [] } = await call.comings();
    expect([...new Set(alice)]).toEqual(["peer-joined bob", "peer-left bob"]);
    expect([...new Set(bob)]).toEqual(["peer-joined alice", "peer-left alice"]);
  });
});
