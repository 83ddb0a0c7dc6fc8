/** The rosters of one connection are written one after the other, as the client reads them. */
import { describe, expect, test } from "bun:test";
import type { Engine, MemberState, RemoteMembers } from "../../engine/engine.ts";
import { type Client, leftovers, type Received, World, type WorldOptions } from "../testing/kit.ts";
import { ROSTER_DRAIN_MAX_MS } from "./limits.ts";

const METADATA = JSON.stringify("x".repeat(4000));
const MEMBERS: readonly MemberState[] = Array.from({ length: 200 }, (_, i) => ({
  peerId: `far${i}`,
  metadataJson: METADATA,
  since: i + 1,
  node: "far",
}));

/** Every channel has 200 members with 4 KB of metadata, on another node. */
const crowded = (options: WorldOptions = {}): World =>
  new World({
    ...options,
    engine: (engine: Engine) =>
      Object.assign(engine, {
        watch: (_app: string, _channel: string, found: (members: RemoteMembers) => void) =>
          found(new Map([["far", MEMBERS]])),
      }),
  });

const rostersOf = (frames: readonly Received[]): string[] =>
  frames.filter((frame) => frame.snapshot).map((frame) => frame.channel ?? "");

/** Subscribes to these channels at once, and reads nothing until the test lets it. */
function stalled(world: World, channels: readonly string[]): Client {
  const ann = world.connect("ann");
  for (const channel of channels) ann.subscribe(channel);
  ann.socket.stalled = true;
  ann.take();
  world.advance(600);
  return ann;
}

describe("rosters of one connection", () => {
  test("are written one after the other, each when the one before has drained", () => {
    const world = crowded();
    const ann = stalled(world, ["c", "d", "e"]);
    for (const channel of ["c", "d", "e"]) {
      expect(rostersOf(ann.take())).toEqual([channel]);
      world.advance(600);
      expect(ann.newFrames()).toEqual([]);
      ann.socket.read();
    }
    expect(ann.newFrames()).toEqual([]);
  });

  test("wait until all of the one before has been read, not only most of it", () => {
    const world = crowded();
    const ann = stalled(world, ["c", "d"]);
    expect(rostersOf(ann.take())).toEqual(["c"]);
    ann.socket.readSome(ann.socket.getBufferedAmount() - 1000);
    world.advance(2000);
    expect([ann.socket.getBufferedAmount(), rostersOf(ann.take())]).toEqual([1000, []]);
    ann.socket.read();
    expect(rostersOf(ann.take())).toEqual(["d"]);
  });

  test("are written together if the client reads them at once", () => {
    const world = crowded();
    const ann = world.connect("ann");
    for (const channel of ["c", "d", "e"]) ann.subscribe(channel);
    world.advance(20);
    expect(rostersOf(ann.take())).toEqual(["c", "d", "e"]);
  });

  test("do not show the newcomer in a channel whose roster still waits", () => {
    const world = crowded();
    const ben = world.connect("ben");
    for (const channel of ["c", "d"]) ben.subscribe(channel);
    world.advance(600);
    ben.take();
    const ann = stalled(world, ["c", "d"]);
    const heard = (): (string | undefined)[] => ben.take().map(({ channel }) => channel);
    expect(heard()).toEqual(["c"]);
    ann.socket.read();
    world.advance(200);
    expect(heard()).toEqual(["d"]);
    const frames = ann.take();
    expect(rostersOf(frames)).toEqual(["c", "d"]);
    expect(frames.at(-1)?.joined?.at(-1)?.peerId).toBe("ben");
  });

  test("come before the changes of their channel, but not before messages and changes of other channels", () => {
    const world = crowded();
    const ben = world.connect("ben");
    for (const channel of ["c", "d"]) ben.subscribe(channel);
    world.advance(600);
    const ann = stalled(world, ["c", "d"]);
    ann.take();
    ben.publish("d", 1);
    for (const channel of ["c", "d"]) ben.unsubscribe(channel);
    world.advance(600);
    expect(ann.take().map(({ type, channel, snapshot }) => [type, channel, snapshot])).toEqual([
      ["message", "d", undefined],
      ["presence", "c", undefined],
    ]);
    ann.socket.read();
    const [roster, ...rest] = ann.take();
    expect([roster?.channel, roster?.snapshot, roster?.joined?.length, rest.length]).toEqual(["d", true, 200, 0]);
  });

  test("are left out after an unsubscribe", () => {
    const world = crowded();
    const ann = stalled(world, ["c", "d", "e"]);
    ann.unsubscribe("d");
    ann.take();
    ann.socket.read();
    expect(rostersOf(ann.take())).toEqual(["e"]);
    ann.socket.read();
    world.advance(600);
    expect(ann.newFrames()).toEqual([]);
  });

  test("come once after a repeated subscribe, behind its own pong", () => {
    const world = crowded();
    const ann = stalled(world, ["c", "d"]);
    ann.withholdPongs().subscribe("d");
    ann.take();
    ann.socket.read();
    expect(ann.newFrames()).toEqual([]);
    ann.socket.stalled = false;
    ann.socket.read();
    ann.socket.pong();
    world.advance(600);
    expect(rostersOf(ann.take())).toEqual(["d"]);
  });

  test("do not wait for a few messages that are still in the buffer", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const ann = world.join("ann", "c");
    ann.socket.stalled = true;
    ben.publish("c", "x".repeat(10_000));
    ann.subscribe("d");
    world.advance(500);
    expect(rostersOf(ann.take())).toEqual(["d"]);
  });

  test("wait when a roster together with the messages in the buffer might exceed the limit", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const ann = world.join("ann", "c");
    ann.socket.stalled = true;
    for (let i = 0; i < 3; i++) ben.publish("c", "x".repeat(50_000));
    ann.subscribe("d");
    world.advance(600);
    expect(rostersOf(ann.take())).toEqual([]);
    ann.socket.read();
    expect(rostersOf(ann.take())).toEqual(["d"]);
  });

  test("come in shorter parts if the limit of pending bytes is lower", () => {
    const maxPendingBytes = 256 * 1024;
    const world = crowded({ maxPendingBytes });
    const ann = stalled(world, ["c", "d"]);
    const frames: Received[] = ann.take();
    for (let i = 0; i < 20; i++) {
      expect(ann.socket.getBufferedAmount()).toBeLessThanOrEqual(maxPendingBytes);
      ann.socket.read();
      frames.push(...ann.take());
    }
    for (const channel of ["c", "d"]) {
      const parts = frames.filter((frame) => frame.channel === channel);
      expect(parts.length).toBe(4);
      expect(parts.every(({ snapshot }) => snapshot)).toBe(true);
      expect(new Set(parts.flatMap(({ joined = [] }) => joined.map(({ peerId }) => peerId))).size).toBe(200);
    }
    expect(rostersOf(frames)).toEqual(["c", "c", "c", "c", "d", "d", "d", "d"]);
  });
});

describe("a client that reads nothing", () => {
  test("while rosters wait for it is cut after 30 s, and nothing is left in memory", () => {
    const world = crowded();
    const ann = stalled(world, ["c", "d"]);
    const live = (ms: number): void => {
      for (let i = 0; i < ms; i += 5000) {
        world.advance(5000);
        ann.request({ type: "ping" });
      }
    };
    live(ROSTER_DRAIN_MAX_MS - 5000);
    expect(ann.closeCode).toBeUndefined();
    live(10_000);
    expect(ann.closeCode).toBe(1006);
    expect(world.node.metrics.slowCuts.value).toBe(1);
    expect(leftovers(world)).toEqual({});
  });

  test("at once but some bytes every few seconds is not cut until it stops", () => {
    const world = crowded();
    const ann = stalled(world, ["c", "d"]);
    const live = (ms: number, bytes: number): void => {
      for (let i = 0; i < ms; i += 5000) {
        ann.socket.readSome(bytes);
        world.advance(5000);
        ann.request({ type: "ping" });
      }
    };
    live(3 * ROSTER_DRAIN_MAX_MS, 10_000);
    expect(ann.socket.getBufferedAmount()).toBeGreaterThan(0);
    expect([ann.closeCode, rostersOf(ann.take())]).toEqual([undefined, ["c"]]);
    live(ROSTER_DRAIN_MAX_MS + 5000, 0);
    expect(ann.closeCode).toBe(1006);
  });

  test("is not cut for a roster that it reads slowly", () => {
    const world = crowded();
    const ann = stalled(world, ["c", "d", "e"]);
    for (let i = 0; i < 3; i++) {
      world.advance(ROSTER_DRAIN_MAX_MS - 5000);
      ann.request({ type: "ping" });
      ann.socket.read();
    }
    world.advance(ROSTER_DRAIN_MAX_MS);
    expect([ann.closeCode, rostersOf(ann.take())]).toEqual([undefined, ["c", "d", "e"]]);
  });

  test("is not cut while the runtime reports that it reads, even if new frames keep its buffer full", () => {
    const world = crowded();
    const ann = stalled(world, ["c", "d"]);
    for (let i = 0; i < 2 * ROSTER_DRAIN_MAX_MS; i += 5000) {
      ann.socket.readSome(1000);
      world.node.hub.presence.onDrained(ann.connection);
      ann.socket.send(JSON.stringify({ type: "x".repeat(1000) }));
      world.advance(5000);
      ann.request({ type: "ping" });
    }
    expect([ann.closeCode, rostersOf(ann.take())]).toEqual([undefined, ["c"]]);
  });

  test("is not cut for a roster that it no longer wants", () => {
    const world = crowded();
    const ann = stalled(world, ["c", "d"]);
    ann.unsubscribe("d");
    for (let i = 0; i < ROSTER_DRAIN_MAX_MS + 5000; i += 5000) {
      world.advance(5000);
      ann.request({ type: "ping" });
    }
    expect([ann.closeCode, rostersOf(ann.take())]).toEqual([undefined, ["c"]]);
  });

  test("is cut even if the check of another connection before it causes a fault", () => {
    const faults: unknown[] = [];
    const world = crowded({ faults: { caught: (_where, error) => void faults.push(error) } });
    const ann = stalled(world, ["c", "d"]);
    const ben = world.connect("ben");
    for (const channel of ["c", "d"]) ben.subscribe(channel);
    ben.socket.stalled = true;
    world.advance(600);
    ann.socket.getBufferedAmount = () => {
      throw new Error("planted");
    };
    for (let i = 0; i < ROSTER_DRAIN_MAX_MS + 5000; i += 5000) {
      world.advance(5000);
      ben.request({ type: "ping" });
    }
    expect([ann.closeCode, ben.closeCode, faults.length]).toEqual([1011, 1006, 1]);
  });
});
