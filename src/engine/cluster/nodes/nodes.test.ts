import { describe, expect, test } from "bun:test";
import type { AppId } from "../../../base/ids.ts";
import { anAppId } from "../../../base/testing/ids.ts";
import { APPS_PER_NODE_MAX, FAREWELLS_MAX, INCARNATIONS_MAX, NODES_MAX, Nodes } from "./nodes.ts";

const APP0 = anAppId("app0");

const HEARTBEAT_MS = 1000;

function made() {
  let now = 0;
  const log: string[] = [];
  const nodes = new Nodes({
    self: "me",
    heartbeatMs: HEARTBEAT_MS,
    nowMs: () => now,
    appeared: ({ id }) => log.push(`${id} appeared`),
    gone: ({ id }) => log.push(`${id} gone`),
  });
  /** Time passes in quarters of a heartbeat. */
  const pass = (heartbeats: number, alive: readonly string[] = []): void => {
    for (let i = 0; i < heartbeats * 4; i++) {
      now += HEARTBEAT_MS / 4;
      if (i % 4 === 0) for (const name of alive) nodes.seen(name);
      nodes.removeSilent();
    }
  };
  return { nodes, log, pass, suspend: (ms: number) => (now += ms) };
}

describe("nodes", () => {
  test("a node that is silent for four heartbeats is considered gone", () => {
    const { nodes, log, pass } = made();
    for (const name of ["a", "b"]) nodes.seen(name);
    pass(10, ["a", "b"]);
    pass(4, ["a"]);
    expect(log).toEqual(["a appeared", "b appeared", "b gone"]);
  });

  test("a node that returns after it was considered gone has another id", () => {
    const { nodes, log, pass } = made();
    nodes.seen("a");
    pass(5);
    nodes.seen("a");
    expect(log).toEqual(["a appeared", "a gone", "a~2 appeared"]);
    expect(nodes.known("a")?.id).toBe("a~2");
  });

  test("a node is gone with its farewell, and messages in transit do not revive it", () => {
    const { nodes, log, pass } = made();
    nodes.seen("a");
    nodes.farewell("a");
    nodes.farewell("a");
    const heartbeat = { connections: new Map<AppId, number>(), part: 0, parts: 1 };
    expect(nodes.seen("a", heartbeat)).toBeUndefined();
    pass(10);
    expect(nodes.seen("a")).toBeUndefined();
    expect(log).toEqual(["a appeared", "a gone"]);
  });

  test("a node whose farewell was forged returns with its later heartbeats, under another id", () => {
    const { nodes, log, pass } = made();
    const heartbeat = { connections: new Map<AppId, number>(), part: 0, parts: 1 };
    nodes.seen("a");
    nodes.farewell("a");
    pass(2);
    nodes.farewell("a");
    expect(nodes.seen("a", heartbeat)).toBeUndefined();
    pass(1);
    expect(nodes.seen("a", heartbeat)?.id).toBe("a~2");
    expect(log).toEqual(["a appeared", "a gone", "a~2 appeared"]);
  });

  test("after a suspension no node is considered gone for three heartbeats", () => {
    const { nodes, log, pass, suspend } = made();
    nodes.seen("a");
    suspend(10 * HEARTBEAT_MS);
    pass(2.5);
    expect(log).toEqual(["a appeared"]);
    pass(4, ["a"]);
    expect(log).toEqual(["a appeared"]);
    pass(6);
    expect(log).toEqual(["a appeared", "a gone"]);
  });

  test("after an outage no node is considered gone for three heartbeats", () => {
    const { nodes, log, pass } = made();
    nodes.seen("a");
    pass(3);
    nodes.startGrace();
    pass(2.5);
    expect(log).toEqual(["a appeared"]);
    pass(2);
    expect(log).toEqual(["a appeared", "a gone"]);
  });

  test("forged names above the bound are ignored, and known nodes stay", () => {
    const { nodes, log } = made();
    for (let i = 0; i < NODES_MAX + 100; i++) nodes.seen(`n${i}`);
    expect([nodes.all.length, log.length]).toEqual([NODES_MAX, NODES_MAX]);
    expect(nodes.seen("n0")?.id).toBe("n0");
  });

  test("the names whose incarnations are remembered are bounded, and those that appeared last are kept", () => {
    const { nodes, pass } = made();
    let names = 0;
    const appearAndGo = (count: number): void => {
      for (let left = count; left > 0; left -= NODES_MAX / 2) {
        for (let i = 0; i < NODES_MAX / 2; i++) nodes.seen(`n${names++}`);
        pass(5);
      }
    };
    for (const name of ["once", "twice"]) nodes.seen(name);
    pass(5);
    appearAndGo(INCARNATIONS_MAX / 2);
    expect(nodes.seen("twice")?.id).toBe("twice~2");
    appearAndGo(INCARNATIONS_MAX / 2);
    expect([nodes.seen("once")?.id, nodes.seen("twice")?.id]).toEqual(["once", "twice~3"]);
  });

  test("remembered farewells are bounded, and the newest are kept", () => {
    const { nodes } = made();
    for (let i = 0; i <= FAREWELLS_MAX; i++) nodes.farewell(`n${i}`);
    expect([nodes.seen("n0")?.id, nodes.seen(`n${FAREWELLS_MAX}`)]).toEqual(["n0", undefined]);
  });

  test("the node's own name is not another node", () => {
    const { nodes, log } = made();
    expect(nodes.seen("me")).toBeUndefined();
    expect(log).toEqual([]);
  });

  test("counts in several parts take effect with the last one, and a lost part leaves the earlier counts", () => {
    const { nodes } = made();
    const heartbeat = (part: number, parts: number, ...counts: [string, number][]): void => {
      const connections = new Map(counts.map(([app, count]) => [anAppId(app), count]));
      nodes.seen("a", { connections, part, parts });
    };
    const known = (): Record<string, number> => Object.fromEntries(nodes.known("a")?.connections ?? []);
    heartbeat(0, 1, ["old", 1]);
    heartbeat(0, 3, ["x", 1]);
    heartbeat(1, 3, ["y", 2]);
    expect(known()).toEqual({ old: 1 });
    heartbeat(2, 3, ["z", 3]);
    expect(known()).toEqual({ x: 1, y: 2, z: 3 });
    for (const lost of [0, 1, 2]) {
      for (const part of [0, 1, 2]) if (part !== lost) heartbeat(part, 3, ["w", part]);
      expect(known()).toEqual({ x: 1, y: 2, z: 3 });
    }
    heartbeat(0, 1, ["new", 4]);
    expect(known()).toEqual({ new: 4 });
  });

  test("forged applications above the bound are ignored, and known ones are still counted", () => {
    const { nodes } = made();
    const node = nodes.seen("a");
    if (!node) throw new Error("the node is unknown");
    for (let i = 0; i < APPS_PER_NODE_MAX + 10; i++) nodes.setConnections(node, anAppId(`app${i}`), 1);
    nodes.setConnections(node, APP0, 7);
    expect([node.connections.size, node.connections.get(APP0)]).toEqual([APPS_PER_NODE_MAX, 7]);
    nodes.setConnections(node, APP0, 0);
    expect(node.connections.size).toBe(APPS_PER_NODE_MAX - 1);
  });
});
