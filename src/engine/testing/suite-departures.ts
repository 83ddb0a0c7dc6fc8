/** Part of the engine's suite: what other nodes notice when a node closes. */
import { expect, test } from "bun:test";
import type { Start } from "./cluster.ts";
import { APP } from "./test-node.ts";

export function departures(start: Start): void {
  test("is reported once to each other node, also when it is closed twice", async () => {
    const { nodes, nodeA, nodeB } = await start();
    await nodes.close(nodeB);
    await nodes.close(nodeB);
    await nodes.settle();
    for (const other of nodes.open) expect(other.gone).toEqual([nodeB.id]);
    expect(nodeB.gone).toEqual([]);
    expect(nodes.open).toContain(nodeA);
  });

  test("is reported to nodes that watch nothing, too", async () => {
    const { nodes, nodeA, nodeB } = await start();
    await nodes.close(nodeA);
    await nodes.settle();
    expect(nodeB.gone).toEqual([nodeA.id]);
  });

  test("is followed by nothing from that node, not even what was in transit", async () => {
    const { nodes, nodeA, nodeB } = await start();
    for (const node of nodes.all) {
      node.setConnections("eve", 1);
      await node.watch("c");
    }
    for (let i = 0; i < 10; i++) {
      nodeB.publish("c");
      nodeB.join("c", `peer-${i}`, i);
      void nodeB.send("eve").count;
    }
    await nodes.close(nodeB);
    await nodes.settle();
    // TestNode records everything that comes from a node after it was reported gone.
    nodes.check();
    expect(nodeA.roster("c")).toEqual({});
  });

  test("makes later calls of its engine have no effect", async () => {
    const { nodes, nodeA, nodeB } = await start();
    nodeA.setConnections("eve", 1);
    await nodeA.watch("c");
    await nodes.close(nodeB);
    await nodes.settle();
    nodeB.engine.publish(APP, "c", { from: "x", metadataJson: undefined, dataJson: `{"node":"${nodeB.id}","n":99}` });
    nodeB.join("c", "late", 1);
    void nodeB.send("eve").count;
    await nodes.settle();
    expect([nodeA.receivedOn("c"), nodeA.deliveredTo("eve"), nodeA.log]).toEqual([[], [], []]);
  });

  test("removes it from all answers", async () => {
    const { nodes, nodeA, nodeB } = await start();
    nodeB.setConnections("eve", 3);
    nodeB.join("c", "eve", 1);
    await nodes.settle();
    await nodes.close(nodeB);
    await nodes.settle();
    await nodeA.watch("c");
    expect(nodeA.roster("c")).toEqual({});
    expect(await nodes.answer(nodeA.send("eve").count)).toBe(0);
    expect(await nodes.answer(nodeA.engine.kick(APP, "eve"))).toBe(0);
    expect(await nodes.answer(nodeA.engine.channels(APP))).toEqual({ counts: [], steps: 0 });
    expect(nodeA.engine.connections(APP)).toBe(0);
  });
}
