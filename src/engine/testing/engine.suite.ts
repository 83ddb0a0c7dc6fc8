/**
 * The suite of all engines: every MUST of engine.ts. The cluster under test decides when everything has arrived, so that engines with
 * and without a network behind them pass the same tests.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { DEFERRED } from "../engine.ts";
import { playAnyOrder } from "./any-order.ts";
import { type MakeCluster, type Started, TestCluster } from "./cluster.ts";
import { plain } from "./rosters.ts";
import { departures } from "./suite-departures.ts";
import { requests } from "./suite-requests.ts";
import { sizes } from "./suite-sizes.ts";
import { texts } from "./suite-texts.ts";
import { APP, type TestNode } from "./test-node.ts";

const OTHER_APP = anAppId("other app");

interface SuiteOptions {
  /** Random runs with PARLEY_TEST_FULL; a tenth of them without it. */
  readonly runs?: number;
  /** The payload limit of what the cluster runs on. */
  readonly payloadBytes?: number;
}

export function engineSuite(name: string, makeCluster: MakeCluster, options: SuiteOptions = {}): void {
  describe(`${name}, one node`, () => alone(makeCluster));
  for (const size of [2, 3]) describe(`${name}, ${size} nodes`, () => together(makeCluster, size, options));
}

function alone(makeCluster: MakeCluster): void {
  test("without other nodes calls succeed and find no members and no connections", async () => {
    const nodes = await TestCluster.of(makeCluster, 1);
    const [node] = nodes.all as [TestNode];
    node.setConnections("ann", 2);
    await node.watch("c");
    node.join("c", "ann", 1);
    node.publish("c");
    expect(await nodes.answer(node.send("ann").count)).toBe(0);
    expect(await nodes.answer(node.engine.kick(APP, "ann"))).toBe(0);
    expect(await nodes.answer(node.engine.channels(APP))).toEqual({ counts: [], steps: 0 });
    expect(await node.engine.members(APP, "c")).toEqual(new Map());
    expect(node.engine.connections(APP)).toBe(0);
    expect([node.receivedOn("c"), node.deliveredTo("ann"), node.roster("c"), node.kicks]).toEqual([[], [], {}, []]);
    node.unwatch("c");
    nodes.check();
    await nodes.stop();
  });
}

function together(makeCluster: MakeCluster, size: number, { runs = 150, payloadBytes = 0 }: SuiteOptions): void {
  let made: TestCluster | undefined;
  const start = async (): Promise<Started> => {
    const nodes = await TestCluster.of(makeCluster, size);
    made = nodes;
    const [nodeA, nodeB] = nodes.all as [TestNode, TestNode, ...TestNode[]];
    return { nodes, nodeA, nodeB };
  };
  afterEach(async () => {
    const nodes = made;
    made = undefined;
    nodes?.check();
    await nodes?.stop();
  });

  describe("publish", () => {
    test("reaches every other node that watches the channel once, with the whole envelope", async () => {
      const { nodes, nodeA } = await start();
      for (const node of nodes.all) await node.watch("c");
      const published = [nodeA.publish("c"), nodeA.publish("c")];
      await nodes.settle();
      for (const other of nodes.others(nodeA)) {
        expect(other.receivedOn("c")).toEqual(published);
        expect(published.map((name) => other.envelopeOf(name)?.metadataJson)).toEqual(['{"of":"sender"}', undefined]);
      }
      expect(nodeA.receivedOn("c")).toEqual([]);
    });

    test("does not reach nodes that watch another channel, or that channel of another application", async () => {
      const { nodes, nodeA, nodeB } = await start();
      await nodeB.watch("c");
      await nodeB.watch("c", OTHER_APP);
      nodeA.publish("c");
      nodeA.publish("d");
      nodeA.publish("c d");
      await nodes.settle();
      expect([nodeB.receivedOn("c").length, nodeB.receivedOn("d"), nodeB.receivedOn("c", OTHER_APP)]).toEqual([
        1,
        [],
        [],
      ]);
    });

    test("messages of one node on one channel arrive in the order they were published", async () => {
      const { nodes, nodeA, nodeB } = await start();
      await nodeB.watch("c");
      await nodeB.watch("d");
      const published = { c: [] as string[], d: [] as string[] };
      for (let i = 0; i < 40; i++) {
        const channel = i % 3 === 0 ? "d" : "c";
        published[channel].push(nodeA.publish(channel));
        if (i % 5 === 0) await nodes.step();
      }
      await nodes.settle();
      expect({ c: nodeB.receivedOn("c"), d: nodeB.receivedOn("d") }).toEqual(published);
    });

    test("messages and member changes of one channel arrive in one order", async () => {
      const { nodes, nodeA, nodeB } = await start();
      await nodeB.watch("c");
      nodeA.join("c", "eve", 1);
      const first = nodeA.publish("c");
      nodeA.leave("c", "eve");
      const second = nodeA.publish("c");
      await nodes.settle();
      expect(nodeB.log).toEqual(["eve joins c", `${first} on c`, "eve leaves c", `${second} on c`]);
    });
  });

  describe("send", () => {
    test("reaches the peer on every other node and counts its connections there", async () => {
      const { nodes, nodeA } = await start();
      nodes.all.forEach((node, i) => {
        node.setConnections("eve", i + 2);
        node.setConnections("eve", 50, OTHER_APP);
      });
      await nodes.settle();
      const { name, count } = nodeA.send("eve");
      const elsewhere = nodes.others(nodeA).map((node) => node.localConnections(APP));
      const answer = await nodes.answer(count);
      // An engine may count only the node that responded first.
      expect(answer).toBeNumber();
      expect(answer).toBeWithin(
        Math.min(...elsewhere),
        elsewhere.reduce((sum, one) => sum + one, 1),
      );
      await nodes.settle();
      for (const other of nodes.others(nodeA)) expect(other.deliveredTo("eve")).toEqual([name]);
      expect(nodeA.deliveredTo("eve")).toEqual([]);
    });

    test("reaches a peer that connected a moment ago", async () => {
      const { nodes, nodeA, nodeB } = await start();
      for (let i = 0; i < 20; i++) {
        nodeB.setConnections(`eve${i}`, 1);
        expect(await nodes.answer(nodeA.send(`eve${i}`).count)).toBe(1);
        expect(nodeB.deliveredTo(`eve${i}`)).toHaveLength(1);
      }
    });

    test("counts 0 when the peer is only on the sending node, or nowhere", async () => {
      const { nodes, nodeA, nodeB } = await start();
      nodeA.setConnections("eve", 1);
      nodeB.setConnections("eve", 1, OTHER_APP);
      await nodes.settle();
      expect(await nodes.answer(nodeA.send("eve").count)).toBe(0);
      expect(await nodes.answer(nodeA.send("absent").count)).toBe(0);
    });

    test("says that a node expects the peer back, unless another node has delivered", async () => {
      const { nodes, nodeA, nodeB } = await start();
      nodeB.holdPeer("eve");
      nodeB.holdPeer("joe");
      nodes.all.at(-1)?.setConnections("joe", 1);
      await nodes.settle();
      const counts = ["eve", "joe", "absent"].map((to) => nodeA.send(to).count);
      await nodes.settle();
      // An engine may wait a moment for the receipt of a node that has delivered.
      expect(await Promise.all(counts)).toEqual([DEFERRED, 1, 0]);
      expect(nodeB.deliveredTo("eve")).toEqual([]);
    });

    test("a node that expects a peer back learns that it has connected to another one", async () => {
      const { nodes, nodeA, nodeB } = await start();
      for (const peerId of ["eve", "joe", "released"]) nodeB.holdPeer(peerId);
      nodeB.engine.release(APP, "released");
      await nodes.settle();
      nodeA.setConnections("eve", 1);
      nodeA.setConnections("released", 1);
      await nodes.settle();
      // An engine may say more than it must: realtime knows whom it expects.
      expect(nodeB.returns.filter((peerId) => peerId !== "released")).toEqual(["eve"]);
    });

    test("messages of one sender to one peer arrive in the order they were sent", async () => {
      const { nodes, nodeA, nodeB } = await start();
      nodeB.setConnections("eve", 1);
      nodeB.setConnections("joe", 1);
      await nodes.settle();
      const published = { eve: [] as string[], joe: [] as string[] };
      for (let i = 0; i < 40; i++) {
        const to = i % 4 === 0 ? "joe" : "eve";
        published[to].push(nodeA.send(to).name);
        if (i % 5 === 0) await nodes.step();
      }
      await nodes.settle();
      expect({ eve: nodeB.deliveredTo("eve"), joe: nodeB.deliveredTo("joe") }).toEqual(published);
    });

    test("resolves when a node closes while the message is in transit", async () => {
      const { nodes, nodeA, nodeB } = await start();
      nodeB.setConnections("eve", 1);
      await nodes.settle();
      const { count } = nodeA.send("eve");
      await nodes.close(nodeB);
      expect(await nodes.answer(count)).toBeOneOf([0, 1]);
    });
  });

  describe("watch", () => {
    test("returns the members on each other node, without the node's own", async () => {
      const { nodes, nodeA } = await start();
      nodes.all.forEach((node, i) => {
        node.join("c", "eve", i, `{"i":${i}}`);
        node.join("c", `only-${node.id}`, 5);
        node.join("d", "elsewhere", 5);
        node.join("c", "other", 5, undefined, OTHER_APP);
      });
      await nodes.settle();
      await nodeA.watch("c");
      const expected = nodes.others(nodeA).map((node) => [node.id, node.localMembers(APP, "c")] as const);
      expect(nodeA.roster("c")).toEqual(plain(expected));
      expect(Object.keys(nodeA.roster("c"))).toEqual(nodes.others(nodeA).map((node) => node.id));
    });

    test("is followed by every message and every member change", async () => {
      const { nodes, nodeA, nodeB } = await start();
      nodeB.join("c", "before", 1);
      nodeB.join("c", "leaver", 1);
      await nodeA.watch("c");
      const published = nodeB.publish("c");
      nodeB.join("c", "before", 2, '{"new":true}');
      nodeB.leave("c", "leaver");
      nodeB.join("c", "after", 3);
      await nodes.settle();
      expect(nodeA.receivedOn("c")).toEqual([published]);
      expect(nodeA.roster("c")).toEqual({
        [nodeB.id]: [
          { peerId: "after", metadataJson: undefined, since: 3, node: nodeB.id },
          { peerId: "before", metadataJson: '{"new":true}', since: 2, node: nodeB.id },
        ],
      });
    });

    test("marks members that must not be shown yet, in the answer and later", async () => {
      const { nodes, nodeA, nodeB } = await start();
      nodeB.arrive("c", "eve", 1);
      await nodeA.watch("c");
      nodeB.arrive("c", "joe", 2, '{"a":1}');
      await nodes.settle();
      expect(nodeA.roster("c")).toEqual({
        [nodeB.id]: [
          { peerId: "eve", metadataJson: undefined, since: 1, node: nodeB.id, isArriving: true },
          { peerId: "joe", metadataJson: '{"a":1}', since: 2, node: nodeB.id, isArriving: true },
        ],
      });
      nodeB.join("c", "eve", 1);
      await nodes.settle();
      expect(nodeA.roster("c")[nodeB.id]?.[0]).toEqual({
        peerId: "eve",
        metadataJson: undefined,
        since: 1,
        node: nodeB.id,
      });
    });

    test("several changes in one announcement arrive together", async () => {
      const { nodes, nodeA, nodeB } = await start();
      nodeB.join("c", "leaver", 1);
      await nodeA.watch("c");
      const joined = ["x", "y"].map((peerId) => ({ peerId, metadataJson: undefined, since: 2, node: nodeB.id }));
      nodeB.engine.announce(APP, "c", joined, ["leaver"]);
      await nodes.settle();
      expect(nodeA.log).toEqual(["x joins c", "y joins c", "leaver leaves c"]);
      expect(nodeA.roster("c")).toEqual({ [nodeB.id]: joined });
    });

    test("announcements of another channel or application do not arrive", async () => {
      const { nodes, nodeA, nodeB } = await start();
      await nodeA.watch("c");
      await nodeA.watch("c", OTHER_APP);
      nodeB.join("d", "eve", 1);
      nodeB.join("c", "eve", 1, undefined, anAppId("third app"));
      await nodes.settle();
      expect(nodeA.log).toEqual([]);
    });
  });

  describe("unwatch", () => {
    test("stops messages and announcements of that channel only", async () => {
      const { nodes, nodeA, nodeB } = await start();
      await nodeA.watch("c");
      await nodeA.watch("d");
      nodeA.unwatch("c");
      nodeB.publish("c");
      nodeB.join("c", "eve", 1);
      const published = nodeB.publish("d");
      await nodes.settle();
      expect([nodeA.log, nodeA.receivedOn("d")]).toEqual([[`${published} on d`], [published]]);
    });

    test("what was in transit to an earlier watch does not arrive in a later one", async () => {
      const { nodes, nodeA, nodeB } = await start();
      await nodeA.watch("c");
      nodeB.join("c", "eve", 1);
      nodeB.publish("c");
      nodeB.leave("c", "eve");
      const arrived = nodeA.log.length;
      nodeA.unwatch("c");
      await nodeA.watch("c");
      const published = nodeB.publish("c");
      await nodes.settle();
      // eve left before the second watch: nothing about her may arrive in it.
      expect(nodeA.log.slice(arrived)).toEqual([`${published} on c`]);
    });
  });

  describe("closing a node", () => departures(start));
  describe("requests", () => requests(start, size));
  describe("texts between parts of the nodes", () => texts(start));
  describe("above the payload limit", () => sizes(start, size, payloadBytes));
  test("random actions in random order lose, duplicate and reorder nothing", () =>
    playAnyOrder(makeCluster, size, process.env.PARLEY_TEST_FULL ? runs : Math.ceil(runs / 10)));
}
