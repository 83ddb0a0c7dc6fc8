import { describe, expect, test } from "bun:test";
import { APPS_PER_NODE_MAX, NODES_MAX, Nodes } from "./nodes.ts";

const BEAT_MS = 1000;

function made() {
  let now = 0;
  const log: string[] = [];
  const nodes = new Nodes({
    self: "me",
    beatMs: BEAT_MS,
    nowMs: () => now,
    came: ({ id }) => log.push(`${id} came`),
    gone: ({ id }) => log.push(`${id} went`),
  });
  /** Time passes, looked at as often as in life. */
  const pass = (beats: number, beating: readonly string[] = []): void => {
    for (let i = 0; i < beats * 4; i++) {
      now += BEAT_MS / 4;
      if (i % 4 === 0) for (const name of beating) nodes.seen(name);
      nodes.look();
    }
  };
  return { nodes, log, pass, sleep: (ms: number) => (now += ms) };
}

describe("nodes", () => {
  test("one that beats stays, one that falls silent goes within four beats", () => {
    const { nodes, log, pass } = made();
    for (const name of ["a", "b"]) nodes.seen(name);
    pass(10, ["a", "b"]);
    pass(4, ["a"]);
    expect(log).toEqual(["a came", "b came", "b went"]);
  });

  test("one that was taken for gone comes back as another", () => {
    const { nodes, log, pass } = made();
    nodes.seen("a");
    pass(5);
    nodes.seen("a");
    expect(log).toEqual(["a came", "a went", "a~2 came"]);
    expect(nodes.known("a")?.id).toBe("a~2");
  });

  test("one that said farewell is gone at once, whatever was still under way of it", () => {
    const { nodes, log, pass } = made();
    nodes.seen("a");
    nodes.farewell("a");
    nodes.farewell("a");
    const beat = { connections: new Map<string, number>(), part: 0, parts: 1 };
    expect(nodes.seen("a", beat)).toBeUndefined();
    pass(10);
    expect(nodes.seen("a")).toBeUndefined();
    expect(log).toEqual(["a came", "a went"]);
  });

  test("one whose farewell somebody else has sent comes back with its later heartbeats, as another", () => {
    const { nodes, log, pass } = made();
    const beat = { connections: new Map<string, number>(), part: 0, parts: 1 };
    nodes.seen("a");
    nodes.farewell("a");
    pass(2);
    nodes.farewell("a");
    expect(nodes.seen("a", beat)).toBeUndefined();
    pass(1);
    expect(nodes.seen("a", beat)?.id).toBe("a~2");
    expect(log).toEqual(["a came", "a went", "a~2 came"]);
  });

  test("a node that slept itself judges nobody for three beats", () => {
    const { nodes, log, pass, sleep } = made();
    nodes.seen("a");
    sleep(10 * BEAT_MS);
    pass(2.5);
    expect(log).toEqual(["a came"]);
    pass(4, ["a"]);
    expect(log).toEqual(["a came"]);
    pass(6);
    expect(log).toEqual(["a came", "a went"]);
  });

  test("the same for one that was cut off", () => {
    const { nodes, log, pass } = made();
    nodes.seen("a");
    pass(3);
    nodes.wasDeaf();
    pass(2.5);
    expect(log).toEqual(["a came"]);
    pass(2);
    expect(log).toEqual(["a came", "a went"]);
  });

  test("made-up names beyond the bound are ignored, and those that are there stay", () => {
    const { nodes, log } = made();
    for (let i = 0; i < NODES_MAX + 100; i++) nodes.seen(`n${i}`);
    expect([nodes.all.length, log.length]).toEqual([NODES_MAX, NODES_MAX]);
    expect(nodes.seen("n0")?.id).toBe("n0");
  });

  test("oneself is nobody else", () => {
    const { nodes, log } = made();
    expect(nodes.seen("me")).toBeUndefined();
    expect(log).toEqual([]);
  });

  test("counts in several parts take effect with the last one; after a lost part the earlier counts stay", () => {
    const { nodes } = made();
    const beat = (part: number, parts: number, ...counts: [string, number][]): void =>
      void nodes.seen("a", { connections: new Map(counts), part, parts });
    const known = (): Record<string, number> => Object.fromEntries(nodes.known("a")?.connections ?? []);
    beat(0, 1, ["old", 1]);
    beat(0, 3, ["x", 1]);
    beat(1, 3, ["y", 2]);
    expect(known()).toEqual({ old: 1 });
    beat(2, 3, ["z", 3]);
    expect(known()).toEqual({ x: 1, y: 2, z: 3 });
    for (const lost of [0, 1, 2]) {
      for (const part of [0, 1, 2]) if (part !== lost) beat(part, 3, ["w", part]);
      expect(known()).toEqual({ x: 1, y: 2, z: 3 });
    }
    beat(0, 1, ["new", 4]);
    expect(known()).toEqual({ new: 4 });
  });

  test("made-up applications of a node beyond the bound are ignored, and known ones go on being counted", () => {
    const { nodes } = made();
    const node = nodes.seen("a");
    if (!node) throw new Error("it is not there");
    for (let i = 0; i < APPS_PER_NODE_MAX + 10; i++) nodes.counted(node, `app${i}`, 1);
    nodes.counted(node, "app0", 7);
    expect([node.connections.size, node.connections.get("app0")]).toEqual([APPS_PER_NODE_MAX, 7]);
    nodes.counted(node, "app0", 0);
    expect(node.connections.size).toBe(APPS_PER_NODE_MAX - 1);
  });
});
