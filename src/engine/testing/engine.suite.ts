/**
 * The engine's suite: every MUST of engine.ts, for whatever stands behind `makeCluster`. It waits for answers everywhere and
 * lets the cluster say when everything has arrived, so that an engine with a network behind it can be put here too.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { playAnyOrder } from "./any-order.ts";
import { type Beginning, type MakeCluster, Nodes } from "./cluster.ts";
import { goings } from "./suite-departures.ts";
import { questions } from "./suite-requests.ts";
import { sizes } from "./suite-sizes.ts";
import { APP, plain, type TestNode } from "./test-node.ts";

export function engineContract(name: string, makeCluster: MakeCluster, { runs = 150 } = {}): void {
  describe(`${name}, one node`, () => alone(makeCluster));
  for (const size of [2, 3]) describe(`${name}, ${size} nodes`, () => together(makeCluster, size, runs));
}

function alone(makeCluster: MakeCluster): void {
  test("there is nobody else: calls succeed, reach nobody and show nobody", async () => {
    const nodes = await Nodes.of(makeCluster, 1);
    const [node] = nodes.all as [TestNode];
    node.hold("ann", 2);
    await node.watch("c");
    node.join("c", "ann", 1);
    node.say("c");
    expect(await nodes.answer(node.tell("ann").reached)).toBe(0);
    expect(await nodes.answer(node.engine.kick(APP, "ann"))).toBe(0);
    expect(await nodes.answer(node.engine.channels(APP))).toEqual([]);
    expect(await node.engine.members(APP, "c")).toEqual(new Map());
    expect(node.engine.connections(APP)).toBe(0);
    expect([node.heardOn("c"), node.handedTo("ann"), node.picture("c"), node.kicks]).toEqual([[], [], {}, []]);
    node.unwatch("c");
    nodes.check();
    await nodes.stop();
  });
}

function together(makeCluster: MakeCluster, size: number, runs: number): void {
  let made: Nodes | undefined;
  const begin = async (): Promise<Beginning> => {
    const nodes = await Nodes.of(makeCluster, size);
    made = nodes;
    const [ann, ben] = nodes.all as [TestNode, TestNode, ...TestNode[]];
    return { nodes, ann, ben };
  };
  afterEach(async () => {
    const nodes = made;
    made = undefined;
    nodes?.check();
    await nodes?.stop();
  });

  describe("publish", () => {
    test("reaches every other node that watches the channel, once, with everything in the envelope", async () => {
      const { nodes, ann } = await begin();
      for (const node of nodes.all) await node.watch("c");
      const said = [ann.say("c"), ann.say("c")];
      await nodes.settle();
      for (const other of nodes.others(ann)) {
        expect(other.heardOn("c")).toEqual(said);
        expect(said.map((name) => other.envelopeOf(name)?.metadataJson)).toEqual(['{"of":"somebody"}', undefined]);
      }
      expect(ann.heardOn("c")).toEqual([]);
    });

    test("reaches nobody who watches another channel, or the same of another application", async () => {
      const { nodes, ann, ben } = await begin();
      await ben.watch("c");
      await ben.watch("c", "other app");
      ann.say("c");
      ann.say("d");
      ann.say("c d");
      await nodes.settle();
      expect([ben.heardOn("c").length, ben.heardOn("d"), ben.heardOn("c", "other app")]).toEqual([1, [], []]);
    });

    test("messages of one node on one channel arrive in the order they were given", async () => {
      const { nodes, ann, ben } = await begin();
      await ben.watch("c");
      await ben.watch("d");
      const said = { c: [] as string[], d: [] as string[] };
      for (let i = 0; i < 40; i++) {
        const channel = i % 3 === 0 ? "d" : "c";
        said[channel].push(ann.say(channel));
        if (i % 5 === 0) await nodes.step();
      }
      await nodes.settle();
      expect({ c: ben.heardOn("c"), d: ben.heardOn("d") }).toEqual(said);
    });

    test("a member is announced before what it says: both go the same way", async () => {
      const { nodes, ann, ben } = await begin();
      await ben.watch("c");
      ann.join("c", "eve", 1);
      const first = ann.say("c");
      ann.part("c", "eve");
      const second = ann.say("c");
      await nodes.settle();
      expect(ben.log).toEqual(["eve joins c", `${first} on c`, "eve leaves c", `${second} on c`]);
    });
  });

  describe("send", () => {
    test("is handed to the peer on every other node, and counts connections there", async () => {
      const { nodes, ann } = await begin();
      nodes.all.forEach((node, i) => {
        node.hold("eve", i + 2);
        node.hold("eve", 50, "other app");
      });
      await nodes.settle();
      const { name, reached } = ann.tell("eve");
      const elsewhere = nodes.others(ann).map((node) => node.localConnections(APP));
      const answer = await nodes.answer(reached);
      // At least those of the node that answered first.
      expect(answer).toBeNumber();
      expect(answer).toBeWithin(
        Math.min(...elsewhere),
        elsewhere.reduce((sum, one) => sum + one, 1),
      );
      await nodes.settle();
      for (const other of nodes.others(ann)) expect(other.handedTo("eve")).toEqual([name]);
      expect(ann.handedTo("eve")).toEqual([]);
    });

    test("finds a peer that is held since this very moment", async () => {
      const { nodes, ann, ben } = await begin();
      for (let i = 0; i < 20; i++) {
        ben.hold(`eve${i}`, 1);
        expect(await nodes.answer(ann.tell(`eve${i}`).reached)).toBe(1);
        expect(ben.handedTo(`eve${i}`)).toHaveLength(1);
      }
    });

    test("counts none where the peer is only on one's own node, or nowhere", async () => {
      const { nodes, ann, ben } = await begin();
      ann.hold("eve", 1);
      ben.hold("eve", 1, "other app");
      await nodes.settle();
      expect(await nodes.answer(ann.tell("eve").reached)).toBe(0);
      expect(await nodes.answer(ann.tell("nobody").reached)).toBe(0);
    });

    test("messages of one sender to one peer arrive in the order they were given", async () => {
      const { nodes, ann, ben } = await begin();
      ben.hold("eve", 1);
      ben.hold("joe", 1);
      await nodes.settle();
      const said = { eve: [] as string[], joe: [] as string[] };
      for (let i = 0; i < 40; i++) {
        const to = i % 4 === 0 ? "joe" : "eve";
        said[to].push(ann.tell(to).name);
        if (i % 5 === 0) await nodes.step();
      }
      await nodes.settle();
      expect({ eve: ben.handedTo("eve"), joe: ben.handedTo("joe") }).toEqual(said);
    });

    test("is answered though a node goes while it is under way", async () => {
      const { nodes, ann, ben } = await begin();
      ben.hold("eve", 1);
      await nodes.settle();
      const { reached } = ann.tell("eve");
      await nodes.close(ben);
      expect(await nodes.answer(reached)).toBeOneOf([0, 1]);
    });
  });

  describe("watch", () => {
    test("answers who is there on each other node, and not oneself", async () => {
      const { nodes, ann } = await begin();
      nodes.all.forEach((node, i) => {
        node.join("c", "eve", i, `{"i":${i}}`);
        node.join("c", `only-${node.id}`, 5);
        node.join("d", "elsewhere", 5);
        node.join("c", "stranger", 5, undefined, "other app");
      });
      await nodes.settle();
      await ann.watch("c");
      const expected = nodes.others(ann).map((node) => [node.id, node.localMembers(APP, "c")] as const);
      expect(ann.picture("c")).toEqual(plain(expected));
      expect(Object.keys(ann.picture("c"))).toEqual(nodes.others(ann).map((node) => node.id));
    });

    test("from then on every message and every change of membership comes", async () => {
      const { nodes, ann, ben } = await begin();
      ben.join("c", "before", 1);
      ben.join("c", "leaver", 1);
      await ann.watch("c");
      const said = ben.say("c");
      ben.join("c", "before", 2, '{"new":true}');
      ben.part("c", "leaver");
      ben.join("c", "after", 3);
      await nodes.settle();
      expect(ann.heardOn("c")).toEqual([said]);
      expect(ann.picture("c")).toEqual({
        [ben.id]: [
          { peerId: "after", metadataJson: undefined, since: 3 },
          { peerId: "before", metadataJson: '{"new":true}', since: 2 },
        ],
      });
    });

    test("a member that is not to be shown yet comes as one, in the answer and later", async () => {
      const { nodes, ann, ben } = await begin();
      ben.arrive("c", "eve", 1);
      await ann.watch("c");
      ben.arrive("c", "joe", 2, '{"a":1}');
      await nodes.settle();
      expect(ann.picture("c")).toEqual({
        [ben.id]: [
          { peerId: "eve", metadataJson: undefined, since: 1, isArriving: true },
          { peerId: "joe", metadataJson: '{"a":1}', since: 2, isArriving: true },
        ],
      });
      ben.join("c", "eve", 1);
      await nodes.settle();
      expect(ann.picture("c")[ben.id]?.[0]).toEqual({ peerId: "eve", metadataJson: undefined, since: 1 });
    });

    test("several changes told at once are one change", async () => {
      const { nodes, ann, ben } = await begin();
      ben.join("c", "leaver", 1);
      await ann.watch("c");
      const joined = ["x", "y"].map((peerId) => ({ peerId, metadataJson: undefined, since: 2 }));
      ben.engine.announce(APP, "c", joined, ["leaver"]);
      await nodes.settle();
      expect(ann.log).toEqual(["x joins c", "y joins c", "leaver leaves c"]);
      expect(ann.picture("c")).toEqual({ [ben.id]: joined });
    });

    test("announcements of another channel or application do not come", async () => {
      const { nodes, ann, ben } = await begin();
      await ann.watch("c");
      await ann.watch("c", "other app");
      ben.join("d", "eve", 1);
      ben.join("c", "eve", 1, undefined, "third app");
      await nodes.settle();
      expect(ann.log).toEqual([]);
    });
  });

  describe("unwatch", () => {
    test("stops messages and announcements of that channel, and of no other", async () => {
      const { nodes, ann, ben } = await begin();
      await ann.watch("c");
      await ann.watch("d");
      ann.unwatch("c");
      ben.say("c");
      ben.join("c", "eve", 1);
      const said = ben.say("d");
      await nodes.settle();
      expect([ann.log, ann.heardOn("d")]).toEqual([[`${said} on d`], [said]]);
    });

    test("what was under way to an earlier watch does not come to a later one", async () => {
      const { nodes, ann, ben } = await begin();
      await ann.watch("c");
      ben.join("c", "eve", 1);
      ben.say("c");
      ben.part("c", "eve");
      const arrived = ann.log.length;
      ann.unwatch("c");
      await ann.watch("c");
      const said = ben.say("c");
      await nodes.settle();
      // eve has left before this watch began: no echo of her may be heard in it.
      expect(ann.log.slice(arrived)).toEqual([`${said} on c`]);
    });
  });

  describe("a node that goes", () => goings(begin));
  describe("questions", () => questions(begin, size));
  describe("larger than one payload", () => sizes(begin, size));
  test("whatever is done in whatever order, nothing is lost, doubled, turned round or heard of the gone", () =>
    playAnyOrder(makeCluster, size, runs));
}
