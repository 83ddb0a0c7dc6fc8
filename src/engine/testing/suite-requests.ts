/** Of the engine's suite: what a node asks of all the others, and what it gets as an answer. */
import { expect, test } from "bun:test";
import type { Claim } from "../engine.ts";
import { type Begin, LATE } from "./cluster.ts";
import { APP, plain, type TestNode } from "./test-node.ts";

export function questions(begin: Begin, size: number): void {
  test("kick closes the peer's connections on the other nodes, and counts them", async () => {
    const { nodes, ann } = await begin();
    nodes.all.forEach((node, i) => {
      node.hold("eve", i + 1);
      node.hold("joe", 1);
      node.hold("eve", 1, "other app");
    });
    const expected = nodes.others(ann).reduce((sum, node) => sum + node.localConnections(APP) - 1, 0);
    expect(await nodes.answer(ann.engine.kick(APP, "eve"))).toBe(expected);
    expect(ann.kicks).toEqual([]);
    for (const other of nodes.others(ann)) {
      expect(other.kicks).toEqual(["eve"]);
      expect([other.localConnections(APP), other.localConnections("other app")]).toEqual([1, 1]);
    }
  });

  test("a block is known on every other node when it is answered, and closes nothing", async () => {
    const { nodes, ann } = await begin();
    for (const node of nodes.all) node.hold("eve", 1);
    expect(await nodes.answer(Promise.resolve(ann.engine.block(APP, "eve", 1_900_000_000_000)))).not.toBe(LATE);
    for (const other of nodes.others(ann))
      expect([other.blocks, other.kicks]).toEqual([[["eve", 1_900_000_000_000]], []]);
    expect(ann.blocks).toEqual([]);
  });

  test("claims: over all nodes and at one moment no more are given than there is room for, and no fewer", async () => {
    const { nodes, ann } = await begin();
    const cap = 7;
    ann.hold("first", 1);
    await nodes.settle();
    const rush = async (): Promise<[TestNode, Claim][]> => {
      const asked = nodes.all.flatMap((node) =>
        Array.from({ length: 8 }, async () => [node, await node.engine.claim(APP, cap)] as const),
      );
      const answers = await nodes.answer(Promise.all(asked));
      if (answers === LATE) throw new Error("not answered");
      return answers.flatMap(([node, claim]) => (claim ? [[node, claim]] : []));
    };
    const given = await rush();
    expect(given).toHaveLength(cap - 1);
    expect(await rush()).toEqual([]);
    given.forEach(([node, claim], i) => {
      node.hold(`p${i}`, 1);
      claim.end();
    });
    expect(await rush()).toEqual([]);
    ann.hold("first", 0);
    const [again, ...more] = await rush();
    expect([again !== undefined, more]).toEqual([true, []]);
    // Room that is not used is there again.
    again?.[1].end();
    expect(await rush()).toHaveLength(1);
  });

  test("claims are each application's own", async () => {
    const { nodes, ann, ben } = await begin();
    ben.hold("eve", 5);
    expect(await nodes.answer(ann.engine.claim(APP, 5))).toBeUndefined();
    expect(await nodes.answer(ann.engine.claim("other app", 5))).toBeDefined();
  });

  test("channels are those of the other nodes", async () => {
    const { nodes, ann, ben } = await begin();
    ann.join("mine", "eve", 1);
    ann.join("c", "eve", 1);
    ben.join("c", "joe", 1);
    ben.join("c", "kim", 1);
    ben.join("secret", "joe", 1, undefined, "other app");
    await nodes.settle();
    const counts = await nodes.answer(ann.engine.channels(APP));
    expect(counts).toEqual([{ channel: "c", peerIds: ["joe", "kim"], connections: 2 }]);
  });

  test("members are those of the other nodes, also of a channel that is not watched", async () => {
    const { nodes, ann, ben } = await begin();
    ann.join("c", "eve", 1);
    ben.join("c", "eve", 2, '{"a":1}');
    await nodes.settle();
    const members = await nodes.answer(ann.engine.members(APP, "c"));
    if (members === LATE || !members) throw new Error(LATE);
    expect(plain(members)).toEqual({ [ben.id]: [{ peerId: "eve", metadataJson: '{"a":1}', since: 2 }] });
  });

  test("connections are those of the other nodes", async () => {
    const { nodes, ann } = await begin();
    for (const node of nodes.all) {
      node.hold("eve", 2);
      node.hold("joe", 1, "other app");
    }
    // As far as is known: an engine may tell of them now and then.
    const known = await nodes.until(() => ann.engine.connections(APP) === 2 * (size - 1));
    expect(known).toBeTrue();
  });

  test("connections of an application with a cap are told of at once", async () => {
    const { nodes, ann } = await begin();
    for (const node of nodes.others(ann))
      for (const count of [1, 2, 3]) {
        node.hold(`peer ${count}`, 1);
        node.engine.counted(APP, count);
      }
    await nodes.settle();
    expect(ann.engine.connections(APP)).toBe(3 * (size - 1));
  });

  test("a nudge about an application brings its connections", async () => {
    const { nodes, ann } = await begin();
    for (const node of nodes.others(ann)) node.hold("eve", 3);
    await nodes.answer(ann.engine.nudge(APP));
    expect(ann.engine.connections(APP)).toBe(3 * (size - 1));
  });

  test("a nudge reaches every other node, and is over when all of them have seen to it", async () => {
    const { nodes, ann, ben } = await begin();
    const work = Promise.withResolvers<void>();
    ben.seeingTo = work.promise;
    let isOver = false;
    const nudged = ann.engine.nudge().then(() => {
      isOver = true;
    });
    await nodes.settle();
    expect(nodes.all.map(({ nudges }) => nudges)).toEqual(nodes.all.map((node) => (node === ann ? 0 : 1)));
    expect(isOver).toBe(false);
    work.resolve();
    await nodes.settle();
    await nudged;
  });
}
