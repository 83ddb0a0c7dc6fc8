/** Errors thrown in callbacks and timers of the engine: each is reported, and affects only the channel it concerns. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { type EngineCallbacks, OVERTAKEN } from "../engine.ts";
import { TestCluster } from "../testing/cluster.ts";
import { natsCluster } from "../testing/nats-cluster.ts";
import { type NatsServer, startNats } from "../testing/nats-server.ts";
import { APP, type TestNode } from "../testing/test-node.ts";
import type { FaultContext } from "../transport/transport.ts";

const HEARTBEAT_MS = 250;

let server: NatsServer;
beforeAll(async () => {
  server = await startNats();
});
afterAll(() => server?.stop());

let open: TestCluster | undefined;
afterEach(async () => {
  await open?.stop();
  open = undefined;
});

interface Reported extends FaultContext {
  readonly message: string;
}

async function pair(): Promise<{ nodes: TestCluster; nodeA: TestNode; nodeB: TestNode; faults: Reported[] }> {
  const faults: Reported[] = [];
  const fault = (error: unknown, context: FaultContext): void => {
    faults.push({ message: (error as Error).message, ...context });
  };
  const nodes = await TestCluster.of((size) => natsCluster(server, size, { fault, heartbeatMs: HEARTBEAT_MS }), 2);
  open = nodes;
  const [nodeA, nodeB] = nodes.all as [TestNode, TestNode];
  return { nodes, nodeA, nodeB, faults };
}

/** Makes the next call of a method throw. */
function failOnce(node: TestNode, method: Exclude<keyof EngineCallbacks, "id">): void {
  const original = node[method];
  Reflect.set(node, method, () => {
    Reflect.set(node, method, original);
    throw new Error(`thrown in ${method}`);
  });
}

describe("an error in a callback of a channel", () => {
  test("deliver: the channel is reported lost, and later messages arrive", async () => {
    const { nodes, nodeA, nodeB, faults } = await pair();
    for (const channel of ["c", "d"]) await nodeB.watch(channel);
    failOnce(nodeB, "deliver");
    nodeA.publish("c");
    const after = [nodeA.publish("c"), nodeA.publish("d")];
    await nodes.settle();
    expect(faults).toEqual([{ message: "thrown in deliver", in: "deliver", app: APP, channel: "c" }]);
    expect(nodeB.lostChannels).toEqual(["c"]);
    expect([...nodeB.receivedOn("c"), ...nodeB.receivedOn("d")]).toEqual(after);
  });

  test("membersChanged: the channel is reported lost, and its members are requested", async () => {
    const { nodes, nodeA, nodeB, faults } = await pair();
    await nodeB.watch("c");
    failOnce(nodeB, "membersChanged");
    nodeA.join("c", "eve", 1);
    nodeA.join("c", "joe", 2);
    expect(await nodes.until(() => nodeB.roster("c")[nodeA.id]?.length === 2)).toBeTrue();
    expect(faults).toMatchObject([{ message: "thrown in membersChanged", node: nodeA.id, app: APP, channel: "c" }]);
    expect(nodeB.lostChannels).toEqual(["c"]);
  });

  test("the callback of watch: the channel is reported lost, and its members are requested", async () => {
    const { nodes, nodeA, nodeB, faults } = await pair();
    nodeA.join("c", "eve", 1);
    await nodes.settle();
    void nodeB.watch("c");
    const called = Promise.withResolvers<void>();
    nodeB.engine.watch(APP, "c", () => {
      called.resolve();
      throw new Error("thrown in found");
    });
    await called.promise;
    const requested: string[] = [];
    const { membersAre } = nodeB;
    nodeB.membersAre = (node, spaceId, channel, members) => {
      requested.push(`${node} ${channel} ${members.length}`);
      membersAre.call(nodeB, node, spaceId, channel, members);
    };
    expect(await nodes.until(() => requested.length > 0)).toBeTrue();
    expect(requested[0]).toBe(`${nodeA.id} c 1`);
    expect(faults).toMatchObject([{ message: "thrown in found", app: APP, channel: "c" }]);
    expect(nodeB.lostChannels).toEqual(["c"]);
  });

  test("repeated errors: the state is requested once per heartbeat, not at the speed of the network", async () => {
    const { nodes, nodeA, nodeB, faults } = await pair();
    await nodeB.watch("c");
    const failing = (): never => {
      throw new Error("thrown");
    };
    [nodeB.membersChanged, nodeB.membersAre, nodeB.lost] = [failing, failing, failing];
    nodeA.join("c", "eve", 1);
    const startedMs = performance.now();
    const requests = (): number => faults.filter((one) => one.in === "membersAre").length;
    expect(await nodes.until(() => requests() >= 2)).toBeTrue();
    expect(requests()).toBeLessThanOrEqual((performance.now() - startedMs) / HEARTBEAT_MS + 1);
    expect((await nodes.answer(nodeA.engine.channels(APP))) ?? "no answer").toEqual({ counts: [], steps: 0 });
  });
});

describe("an error that concerns no channel", () => {
  test("deliverTo: the sender learns that it may have been delivered", async () => {
    const { nodes, nodeA, nodeB, faults } = await pair();
    nodeB.setConnections("eve", 1);
    await nodes.settle();
    failOnce(nodeB, "deliverTo");
    expect(await nodeA.send("eve").count).toBe(OVERTAKEN);
    expect(await nodes.answer(nodeA.send("eve").count)).toBe(1);
    expect(faults).toMatchObject([{ message: "thrown in deliverTo" }]);
  });

  test.each(["localMembers", "localChannels", "invalidated"] as const)(
    "%s during a request: no response is sent, and the state of the requesting node is requested",
    async (method) => {
      const { nodes, nodeA, nodeB, faults } = await pair();
      await nodeB.watch("c");
      nodeA.join("c", "eve", 1);
      await nodes.settle();
      const requested: string[] = [];
      const { membersAre } = nodeB;
      nodeB.membersAre = (node, ...rest) => {
        requested.push(node);
        membersAre.call(nodeB, node, ...rest);
      };
      failOnce(nodeB, method);
      if (method === "localMembers") void nodeA.watch("d");
      else if (method === "localChannels") expect(await nodeA.engine.channels(APP)).toBeUndefined();
      else await nodeA.engine.invalidate();
      expect(await nodes.until(() => requested.length > 0)).toBeTrue();
      expect(requested[0]).toBe(nodeA.id);
      expect(faults).toMatchObject([{ message: `thrown in ${method}`, in: "request", node: nodeA.id }]);
    },
  );

  test("nodeGone: it is retried", async () => {
    const { nodes, nodeA, nodeB, faults } = await pair();
    failOnce(nodeA, "nodeGone");
    await nodes.close(nodeB);
    expect(await nodes.until(() => nodeA.gone.length > 0)).toBeTrue();
    expect([nodeA.gone, faults.map(({ message }) => message)]).toEqual([[nodeB.id], ["thrown in nodeGone"]]);
  });
});

describe("an error in a timer", () => {
  test("localCounts: heartbeats are still sent, and other nodes do not consider the node gone", async () => {
    const { nodes, nodeA, nodeB, faults } = await pair();
    nodeB.localCounts = () => {
      throw new Error("thrown");
    };
    // Long enough for a silent node to be considered gone.
    expect(await nodes.until(() => faults.length >= 6)).toBeTrue();
    expect([nodeA.gone, nodeA.engine.connections(APP)]).toEqual([[], 0]);
  });

  test("one step: the other steps still run", async () => {
    const { nodes, nodeA, nodeB, faults } = await pair();
    await nodeB.watch("c");
    const pending = Reflect.get(nodeA.engine, "pendingRequests") as { sweep: () => void };
    pending.sweep = () => {
      throw new Error("thrown");
    };
    expect(await nodes.until(() => faults.length >= 40)).toBeTrue();
    expect(faults[0]).toEqual({ message: "thrown", in: "timer", step: "requests" });
    expect([nodeA.gone, nodeB.gone]).toEqual([[], []]);
  });
});
