/** Errors thrown in callbacks and timers of the engine: each is reported, and costs only the channel it concerns. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { type NodeEnd, UNAVAILABLE } from "../engine.ts";
import { Nodes } from "../testing/cluster.ts";
import { natsCluster } from "../testing/nats-cluster.ts";
import { type NatsServer, startNats } from "../testing/nats-server.ts";
import { APP, type TestNode } from "../testing/test-node.ts";
import type { FaultContext } from "./failure-boundary.ts";

const BEAT_MS = 250;

let server: NatsServer;
beforeAll(async () => {
  server = await startNats();
});
afterAll(() => server?.stop());

let open: Nodes | undefined;
afterEach(async () => {
  await open?.stop();
  open = undefined;
});

interface Reported extends FaultContext {
  readonly message: string;
}

async function pair(): Promise<{ nodes: Nodes; ann: TestNode; ben: TestNode; faults: Reported[] }> {
  const faults: Reported[] = [];
  const fault = (error: unknown, context: FaultContext): void => {
    faults.push({ message: (error as Error).message, ...context });
  };
  const nodes = await Nodes.of((size) => natsCluster(server, size, { fault, beatMs: BEAT_MS }), 2);
  open = nodes;
  const [ann, ben] = nodes.all as [TestNode, TestNode];
  return { nodes, ann, ben, faults };
}

/** The next call of it throws. */
function plant(node: TestNode, method: Exclude<keyof NodeEnd, "id">): void {
  const own = node[method];
  Reflect.set(node, method, () => {
    Reflect.set(node, method, own);
    throw new Error(`planted in ${method}`);
  });
}

describe("thrown while something of a channel arrives", () => {
  test("by a message: the channel is lost, and the next messages come", async () => {
    const { nodes, ann, ben, faults } = await pair();
    for (const channel of ["c", "d"]) await ben.watch(channel);
    plant(ben, "deliver");
    ann.say("c");
    const after = [ann.say("c"), ann.say("d")];
    await nodes.settle();
    expect(faults).toEqual([{ message: "planted in deliver", in: "deliver", app: APP, channel: "c" }]);
    expect(ben.losses).toEqual(["c"]);
    expect([...ben.heardOn("c"), ...ben.heardOn("d")]).toEqual(after);
  });

  test("by a change of members: the channel is lost, and its members are asked for again", async () => {
    const { nodes, ann, ben, faults } = await pair();
    await ben.watch("c");
    plant(ben, "membersChanged");
    ann.join("c", "eve", 1);
    ann.join("c", "joe", 2);
    expect(await nodes.until(() => ben.picture("c")[ann.id]?.length === 2)).toBeTrue();
    expect(faults).toMatchObject([{ message: "planted in membersChanged", node: ann.id, app: APP, channel: "c" }]);
    expect(ben.losses).toEqual(["c"]);
  });

  test("by the answer to a watch: the channel is lost, and its members are asked for again", async () => {
    const { nodes, ann, ben, faults } = await pair();
    ann.join("c", "eve", 1);
    await nodes.settle();
    void ben.watch("c");
    const came = Promise.withResolvers<void>();
    ben.engine.watch(APP, "c", () => {
      came.resolve();
      throw new Error("planted in found");
    });
    await came.promise;
    const asked: string[] = [];
    const { membersAre } = ben;
    ben.membersAre = (node, app, channel, members) => {
      asked.push(`${node} ${channel} ${members.length}`);
      membersAre.call(ben, node, app, channel, members);
    };
    expect(await nodes.until(() => asked.length > 0)).toBeTrue();
    expect(asked[0]).toBe(`${ann.id} c 1`);
    expect(faults).toMatchObject([{ message: "planted in found", app: APP, channel: "c" }]);
    expect(ben.losses).toEqual(["c"]);
  });

  test("again and again: it is asked for once a beat, not at the speed of the network", async () => {
    const { nodes, ann, ben, faults } = await pair();
    await ben.watch("c");
    const planted = (): never => {
      throw new Error("planted");
    };
    [ben.membersChanged, ben.membersAre, ben.lost] = [planted, planted, planted];
    ann.join("c", "eve", 1);
    const began = performance.now();
    const askings = (): number => faults.filter((one) => one.in === "membersAre").length;
    expect(await nodes.until(() => askings() >= 2)).toBeTrue();
    expect(askings()).toBeLessThanOrEqual((performance.now() - began) / BEAT_MS + 1);
    expect((await nodes.answer(ann.engine.channels(APP))) ?? "no answer").toEqual([]);
  });
});

describe("thrown where no channel is known", () => {
  test("by a direct message: its sender gets UNAVAILABLE", async () => {
    const { nodes, ann, ben, faults } = await pair();
    ben.hold("eve", 1);
    await nodes.settle();
    plant(ben, "deliverTo");
    expect(await ann.tell("eve").reached).toBe(UNAVAILABLE);
    expect(await nodes.answer(ann.tell("eve").reached)).toBe(1);
    expect(faults).toMatchObject([{ message: "planted in deliverTo" }]);
  });

  test.each(["localMembers", "localChannels", "nudged"] as const)(
    "by a question, in %s: it has no answer, and the state of the node that asked is asked for again",
    async (method) => {
      const { nodes, ann, ben, faults } = await pair();
      await ben.watch("c");
      ann.join("c", "eve", 1);
      await nodes.settle();
      const asked: string[] = [];
      const { membersAre } = ben;
      ben.membersAre = (node, ...rest) => {
        asked.push(node);
        membersAre.call(ben, node, ...rest);
      };
      plant(ben, method);
      if (method === "localMembers") void ann.watch("d");
      else if (method === "localChannels") expect(await ann.engine.channels(APP)).toBeUndefined();
      else await ann.engine.nudge();
      expect(await nodes.until(() => asked.length > 0)).toBeTrue();
      expect(asked[0]).toBe(ann.id);
      expect(faults).toMatchObject([{ message: `planted in ${method}`, in: "question", node: ann.id }]);
    },
  );

  test("by nodeGone: it is called again", async () => {
    const { nodes, ann, ben, faults } = await pair();
    plant(ann, "nodeGone");
    await nodes.close(ben);
    expect(await nodes.until(() => ann.gone.length > 0)).toBeTrue();
    expect([ann.gone, faults.map(({ message }) => message)]).toEqual([[ben.id], ["planted in nodeGone"]]);
  });
});

describe("thrown in a timer", () => {
  test("by a count of connections: the node goes on beating, and the others keep it", async () => {
    const { nodes, ann, ben, faults } = await pair();
    ben.localCounts = () => {
      throw new Error("planted");
    };
    // Long enough for a silent node to be taken for gone.
    expect(await nodes.until(() => faults.length >= 6)).toBeTrue();
    expect([ann.gone, ann.engine.connections(APP)]).toEqual([[], 0]);
  });

  test("by one step: the other steps still run", async () => {
    const { nodes, ann, ben, faults } = await pair();
    await ben.watch("c");
    const questions = Reflect.get(ann.engine, "questions") as { sweep: () => void };
    questions.sweep = () => {
      throw new Error("planted");
    };
    expect(await nodes.until(() => faults.length >= 40)).toBeTrue();
    expect(faults[0]).toEqual({ message: "planted", in: "timer", step: "questions" });
    expect([ann.gone, ben.gone]).toEqual([[], []]);
  });
});
