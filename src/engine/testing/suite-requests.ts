/** Part of the engine's suite: requests to all other nodes. */
import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { parseGlob } from "../../protocol/patterns/glob.ts";
import { Scope } from "../../protocol/patterns/scope.ts";
import type { Claim } from "../engine.ts";
import { LATE, type Start } from "./cluster.ts";
import { plain } from "./rosters.ts";
import { APP, type TestNode } from "./test-node.ts";

const OTHER_APP = anAppId("other app");

export function requests(start: Start, size: number): void {
  test("kick closes the peer's connections on the other nodes, and counts them", async () => {
    const { nodes, nodeA } = await start();
    nodes.all.forEach((node, i) => {
      node.setConnections("eve", i + 1);
      node.setConnections("joe", 1);
      node.setConnections("eve", 1, OTHER_APP);
    });
    const expected = nodes.others(nodeA).reduce((sum, node) => sum + node.localConnections(APP) - 1, 0);
    expect(await nodes.answer(nodeA.engine.kick(APP, "eve"))).toBe(expected);
    expect(nodeA.kicks).toEqual([]);
    for (const other of nodes.others(nodeA)) {
      expect(other.kicks).toEqual(["eve"]);
      expect([other.localConnections(APP), other.localConnections(OTHER_APP)]).toEqual([1, 1]);
    }
  });

  test("a block is in force on every other node when it resolves, and closes no connection", async () => {
    const { nodes, nodeA } = await start();
    for (const node of nodes.all) node.setConnections("eve", 1);
    expect(await nodes.answer(Promise.resolve(nodeA.engine.block(APP, "eve", 1_900_000_000_000)))).not.toBe(LATE);
    for (const other of nodes.others(nodeA))
      expect([other.blocks, other.kicks]).toEqual([[["eve", 1_900_000_000_000]], []]);
    expect(nodeA.blocks).toEqual([]);
  });

  test("simultaneous claims on all nodes get exactly the capacity that is left", async () => {
    const { nodes, nodeA } = await start();
    const cap = 7;
    nodeA.setConnections("first", 1);
    await nodes.settle();
    const claimAll = async (): Promise<[TestNode, Claim][]> => {
      const claims = nodes.all.flatMap((node) =>
        Array.from({ length: 8 }, async () => [node, await node.engine.claim(APP, cap)] as const),
      );
      const answers = await nodes.answer(Promise.all(claims));
      if (answers === LATE) throw new Error("not answered");
      return answers.flatMap(([node, claim]) => (claim ? [[node, claim]] : []));
    };
    const granted = await claimAll();
    expect(granted).toHaveLength(cap - 1);
    expect(await claimAll()).toEqual([]);
    granted.forEach(([node, claim], i) => {
      node.setConnections(`p${i}`, 1);
      claim.end();
    });
    expect(await claimAll()).toEqual([]);
    nodeA.setConnections("first", 0);
    const [next, ...more] = await claimAll();
    expect([next !== undefined, more]).toEqual([true, []]);
    // Capacity that was not used is available for the next claim.
    next?.[1].end();
    expect(await claimAll()).toHaveLength(1);
  });

  test("each application has its own capacity", async () => {
    const { nodes, nodeA, nodeB } = await start();
    nodeB.setConnections("eve", 5);
    expect(await nodes.answer(nodeA.engine.claim(APP, 5))).toBeUndefined();
    expect(await nodes.answer(nodeA.engine.claim(OTHER_APP, 5))).toBeDefined();
  });

  test("channels returns those of the other nodes", async () => {
    const { nodes, nodeA, nodeB } = await start();
    nodeA.join("mine", "eve", 1);
    nodeA.join("c", "eve", 1);
    nodeB.join("c", "joe", 1);
    nodeB.join("c", "kim", 1);
    nodeB.join("secret", "joe", 1, undefined, OTHER_APP);
    await nodes.settle();
    const found = await nodes.answer(nodeA.engine.channels(APP));
    // What it took the other nodes is added up.
    expect(found).toEqual({ counts: [{ channel: "c", peerIds: ["joe", "kim"], connections: 2 }], steps: 1 });
  });

  test("channels tells the other nodes which page is asked for", async () => {
    const { nodes, nodeA } = await start();
    const patterns = ["chat/*", "ünï/**", "exact"];
    const scope = new Scope(patterns.map(parseGlob).filter((glob) => typeof glob !== "string"));
    for (const after of [undefined, "chat/9"]) {
      const page = { prefix: "ch", after, limit: 3, scope };
      expect(await nodes.answer(nodeA.engine.channels(APP, page))).toEqual({ counts: [], steps: 0 });
      for (const { askedPages } of nodes.others(nodeA)) {
        const { scope: asked, ...rest } = askedPages.pop() ?? {};
        expect({ ...rest, patterns: asked?.patterns }).toEqual({ prefix: "ch", after, limit: 3, patterns });
        expect([asked?.matches("chat/1"), asked?.matches("chat/1/2")]).toEqual([true, false]);
      }
    }
  });

  test("members returns those on other nodes, also of a channel that is not watched", async () => {
    const { nodes, nodeA, nodeB } = await start();
    nodeA.join("c", "eve", 1);
    nodeB.join("c", "eve", 2, '{"a":1}');
    await nodes.settle();
    const members = await nodes.answer(nodeA.engine.members(APP, "c"));
    if (members === LATE || !members) throw new Error(LATE);
    expect(plain(members)).toEqual({
      [nodeB.id]: [{ peerId: "eve", metadataJson: '{"a":1}', since: 2, node: nodeB.id }],
    });
  });

  test("connections counts those on other nodes", async () => {
    const { nodes, nodeA } = await start();
    for (const node of nodes.all) {
      node.setConnections("eve", 2);
      node.setConnections("joe", 1, OTHER_APP);
    }
    // The count may lag: engines send it periodically.
    const known = await nodes.until(() => nodeA.engine.connections(APP) === 2 * (size - 1));
    expect(known).toBeTrue();
  });

  test("changes of connections that are reported with counted are known soon", async () => {
    const { nodes, nodeA } = await start();
    for (const node of nodes.others(nodeA))
      for (const count of [1, 2, 3]) {
        node.setConnections(`peer ${count}`, 1);
        node.engine.counted(APP, count);
      }
    expect(await nodes.until(() => nodeA.engine.connections(APP) === 3 * (size - 1))).toBeTrue();
  });

  test("an invalidation for an application updates its connections", async () => {
    const { nodes, nodeA } = await start();
    for (const node of nodes.others(nodeA)) node.setConnections("eve", 3);
    await nodes.answer(nodeA.engine.invalidate(APP));
    expect(nodeA.engine.connections(APP)).toBe(3 * (size - 1));
  });

  test("an invalidation carries what was withdrawn to every other node", async () => {
    const { nodes, nodeA } = await start();
    expect(await nodes.answer(nodeA.engine.invalidate(undefined, '{"kind":"key"}'))).toBe("answered");
    for (const node of nodes.others(nodeA)) expect(node.withdrawn).toBe('{"kind":"key"}');
  });

  test("an invalidation reaches every other node and resolves when all of them have finished", async () => {
    const { nodes, nodeA, nodeB } = await start();
    const work = Promise.withResolvers<void>();
    nodeB.invalidationWork = work.promise;
    let isResolved = false;
    const invalidated = nodeA.engine.invalidate().then(() => {
      isResolved = true;
    });
    await nodes.settle();
    expect(nodes.all.map(({ invalidations }) => invalidations)).toEqual(
      nodes.all.map((node) => (node === nodeA ? 0 : 1)),
    );
    expect(isResolved).toBe(false);
    work.resolve();
    await nodes.settle();
    await invalidated;
  });
}
