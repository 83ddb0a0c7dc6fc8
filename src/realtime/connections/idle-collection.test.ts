import { describe, expect, test } from "bun:test";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import {
  COLLECT_AFTER,
  COLLECT_AT_MORE,
  COLLECT_CONNECTIONS_MAX,
  COLLECT_EVERY_MS,
  COLLECT_HEAP_MAX_BYTES,
  IdleCollection,
  LOOK_EVERY_MS,
} from "./idle-collection.ts";

function watched() {
  const clock = new FakeClock();
  const seen = { cpuMs: 0, connections: 0, heapBytes: 0, collections: 0 };
  const idle = new IdleCollection({
    clock,
    cpuMs: () => seen.cpuMs,
    connections: () => seen.connections,
    heapBytes: () => seen.heapBytes,
    collect: () => seen.collections++,
  });
  const change = (count: number): void => {
    for (let i = 0; i < count; i++) i % 2 ? idle.connected() : idle.disconnected();
  };
  /** Lets seconds pass in which the process uses this share of a core. */
  const pass = (seconds: number, share: number): void => {
    for (let i = 0; i < seconds; i++) {
      seen.cpuMs += LOOK_EVERY_MS * share;
      clock.advance(LOOK_EVERY_MS);
    }
  };
  return { clock, seen, change, pass };
}

describe("garbage", () => {
  test("is collected once when many connections have come or gone and the process is idle", () => {
    const { seen, change, pass, clock } = watched();
    change(COLLECT_AFTER);
    pass(1, 0.01);
    expect(seen.collections).toBe(1);
    pass(5, 0);
    expect([seen.collections, clock.waiting]).toEqual([1, 0]);
  });

  test("of connections that come and go all the time is collected rarely", () => {
    const { seen, change, pass, clock } = watched();
    const minutes = (count: number): void => {
      for (let i = 0; i < 60 * count; i++) {
        change(400);
        pass(1, 0.1);
      }
    };
    minutes(9);
    expect([seen.collections, clock.waiting]).toEqual([1, 0]);
    minutes(2);
    expect(seen.collections).toBe(2);
  });

  test("is collected sooner if there are many more connections than at any collection before", () => {
    const { seen, change, pass } = watched();
    const have = (connections: number): void => {
      change(Math.abs(connections - seen.connections));
      seen.connections = connections;
      change(2);
      pass(1, 0.01);
    };
    have(COLLECT_AFTER);
    have(COLLECT_AFTER + COLLECT_AT_MORE - 10);
    expect(seen.collections).toBe(1);
    have(COLLECT_AFTER + COLLECT_AT_MORE);
    expect(seen.collections).toBe(2);
    // The same number of connections again: the garbage has room that they had taken before.
    have(0);
    have(COLLECT_AFTER + COLLECT_AT_MORE);
    expect(seen.collections).toBe(2);
  });

  test("waits while the process is busy", () => {
    const { seen, change, pass } = watched();
    change(COLLECT_AFTER * 5);
    pass(10, 0.9);
    expect(seen.collections).toBe(0);
    pass(1, 0.05);
    expect(seen.collections).toBe(1);
  });

  test("waits until the last of many connections have come", () => {
    const { seen, change, pass } = watched();
    change(COLLECT_AFTER);
    for (let i = 0; i < 5; i++) {
      change(COLLECT_AFTER / 5);
      pass(1, 0);
    }
    expect(seen.collections).toBe(0);
    pass(1, 0);
    expect(seen.collections).toBe(1);
  });

  test("is left to the runtime while a collection would take long", () => {
    const { seen, change, pass, clock } = watched();
    seen.connections = COLLECT_CONNECTIONS_MAX + 1;
    change(COLLECT_AFTER);
    pass(5, 0);
    expect(seen.collections).toBe(0);
    seen.connections--;
    seen.heapBytes = COLLECT_HEAP_MAX_BYTES + 1;
    clock.advance(COLLECT_EVERY_MS);
    change(COLLECT_AFTER);
    pass(1, 0);
    expect(seen.collections).toBe(0);
    seen.heapBytes--;
    clock.advance(COLLECT_EVERY_MS);
    change(COLLECT_AFTER);
    pass(1, 0);
    expect(seen.collections).toBe(1);
  });

  test("of few connections is left to the runtime, without a timer", () => {
    const { seen, change, pass, clock } = watched();
    change(COLLECT_AFTER - 1);
    expect(clock.waiting).toBe(0);
    pass(5, 0);
    expect(seen.collections).toBe(0);
  });
});
