/** Of the engine's suite: what the others notice of a node that goes. */
import { expect, test } from "bun:test";
import type { Begin } from "./cluster.ts";
import { APP } from "./test-node.ts";

export function goings(begin: Begin): void {
  test("is told once to each of the others, also when it is closed twice", async () => {
    const { nodes, ann, ben } = await begin();
    await nodes.close(ben);
    await nodes.close(ben);
    await nodes.settle();
    for (const other of nodes.open) expect(other.gone).toEqual([ben.id]);
    expect(ben.gone).toEqual([]);
    expect(nodes.open).toContain(ann);
  });

  test("is told to those who watch nothing as well", async () => {
    const { nodes, ann, ben } = await begin();
    await nodes.close(ann);
    await nodes.settle();
    expect(ben.gone).toEqual([ann.id]);
  });

  test("nothing of it comes after that, not even what was under way", async () => {
    const { nodes, ann, ben } = await begin();
    for (const node of nodes.all) {
      node.hold("eve", 1);
      await node.watch("c");
    }
    for (let i = 0; i < 10; i++) {
      ben.say("c");
      ben.join("c", `peer-${i}`, i);
      void ben.tell("eve").reached;
    }
    await nodes.close(ben);
    await nodes.settle();
    // TestNode writes down whatever comes of a node that has gone; here it has not even left a trace.
    nodes.check();
    expect(ann.picture("c")).toEqual({});
  });

  test("what it still tries to give reaches nobody", async () => {
    const { nodes, ann, ben } = await begin();
    ann.hold("eve", 1);
    await ann.watch("c");
    await nodes.close(ben);
    await nodes.settle();
    ben.engine.publish(APP, "c", { from: "x", metadataJson: undefined, dataJson: `{"node":"${ben.id}","n":99}` });
    ben.join("c", "late", 1);
    void ben.tell("eve").reached;
    await nodes.settle();
    expect([ann.heardOn("c"), ann.handedTo("eve"), ann.log]).toEqual([[], [], []]);
  });

  test("counts no more in any answer", async () => {
    const { nodes, ann, ben } = await begin();
    ben.hold("eve", 3);
    ben.join("c", "eve", 1);
    await nodes.settle();
    await nodes.close(ben);
    await nodes.settle();
    await ann.watch("c");
    expect(ann.picture("c")).toEqual({});
    expect(await nodes.answer(ann.tell("eve").reached)).toBe(0);
    expect(await nodes.answer(ann.engine.kick(APP, "eve"))).toBe(0);
    expect(await nodes.answer(ann.engine.channels(APP))).toEqual([]);
    expect(ann.engine.connections(APP)).toBe(0);
  });
}
