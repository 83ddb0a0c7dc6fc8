/** The flight recorder: what can be read of a connection afterwards, and how much memory that takes. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { anAppId } from "../../base/testing/ids.ts";
import { APP, SECOND_KEY, SECRET_KEY, World } from "../testing/kit.ts";
import { EventRing, RING_ENTRIES_MAX } from "./event-ring.ts";
import { MEMORY_MAX_BYTES, type RecordedEvent } from "./recorder.ts";

const MB = 1_000_000;

const short = ({ kind, channel, code, count }: RecordedEvent): string =>
  [kind, channel, code, count].filter((part) => part !== undefined).join(" ");

const recorded = (world: World, peerId: string): string[] => world.node.hub.recorder.ofPeer(APP, peerId).map(short);

describe("the events of a peer", () => {
  test("are in order, with messages as counts", () => {
    const world = new World();
    const ann = world.connect("ann");
    ann.subscribe("c");
    ann.publish("c", 1);
    ann.publish("c", 2);
    ann.unsubscribe("c");
    ann.send("ann", 1);
    ann.publish("c", 3);
    expect(recorded(world, "ann")).toEqual([
      "connect",
      "subscribe c",
      "publish 2",
      "unsubscribe c",
      "error peer_not_found",
      "publish 1",
    ]);
    const [first] = world.node.hub.recorder.ofPeer(APP, "ann");
    expect(first).toEqual({
      at: world.clock.wallMs(),
      kind: "connect",
      connectionId: ann.connection.id,
      keyId: SECRET_KEY,
    });
    expect(recorded(world, "ben")).toEqual([]);
    expect(world.node.hub.recorder.ofPeer(anAppId("other"), "ann")).toEqual([]);
  });

  test("an error that is repeated is one event with its count", () => {
    const world = new World();
    const ann = world.connect("ann");
    for (let i = 0; i < 5; i++) ann.text("{");
    ann.request({ type: "publish", channel: "c" });
    ann.request({ type: "publish", channel: "d" });
    expect(recorded(world, "ann")).toEqual([
      "connect",
      "error malformed_message 5",
      "error c missing_data",
      "error d missing_data",
    ]);
  });

  test("renewals with the same key are one event with its count, and events are shown with the key of their time", () => {
    const world = new World();
    const ann = world.connect("ann");
    for (const key of [SECRET_KEY, SECRET_KEY, SECOND_KEY, SECOND_KEY])
      ann.request({ type: "renew", token: world.keys.token("ann", { key }) });
    ann.subscribe("c");
    expect(recorded(world, "ann")).toEqual(["connect", "renew 2", "renew", "renew", "subscribe c"]);
    const keys = world.node.hub.recorder.ofPeer(APP, "ann").map(({ keyId }) => keyId);
    expect(keys).toEqual([SECRET_KEY, SECRET_KEY, SECOND_KEY, SECOND_KEY, SECOND_KEY]);
  });

  test("are the last 32 per connection", () => {
    const world = new World();
    const ann = world.connect("ann");
    for (let i = 0; i < 50; i++) ann.subscribe(`c${i}`);
    expect(recorded(world, "ann")).toEqual(Array.from({ length: 32 }, (_, i) => `subscribe c${i + 18}`));
  });

  test("include those of connections that ended within the last minute, with the close code", () => {
    const world = new World();
    const ann = world.connect("ann");
    world.advance(10);
    world.connect("ann");
    world.advance(10);
    ann.vanish();
    expect(recorded(world, "ann")).toEqual(["connect", "connect", "close 1006"]);
    world.advance(59_000);
    expect(recorded(world, "ann")).toHaveLength(3);
    world.advance(2000);
    expect(recorded(world, "ann")).toEqual(["connect"]);
  });

  test("include refused connects of a peer that proved who it is", () => {
    const world = new World();
    const { emitter } = world.node.hub;
    emitter.refused("token_expired", { app: APP, keyId: SECRET_KEY, peerId: "ann" }, [127, 0, 0, 1]);
    emitter.refused("invalid_token", { app: APP, keyId: SECRET_KEY }, [127, 0, 0, 1]);
    emitter.refused("over_concurrent", { app: APP, keyId: SECRET_KEY, peerId: "ann" }, [127, 0, 0, 1]);
    expect(recorded(world, "ann")).toEqual(["refuse token_expired", "refuse over_concurrent"]);
    const ids = world.node.hub.recorder.ofPeer(APP, "ann").map(({ connectionId }) => connectionId);
    expect(new Set(ids).size).toBe(2);
  });

  test("are bounded for a peer with many connections", () => {
    const world = new World();
    for (let i = 0; i < 100; i++) {
      const client = world.connect("ann");
      for (let j = 0; j < 20; j++) client.subscribe(`c${j}`);
    }
    expect(recorded(world, "ann")).toHaveLength(256);
  });
});

describe("the ring", () => {
  test("forgets the oldest entries when it is full, and a chain ends there", () => {
    const ring = new EventRing();
    const first = ring.add(0, 1, 0, 0);
    const second = ring.add(2, 2, first, 0, 0, "c");
    expect(ring.read(second)).toMatchObject({ at: 2, kind: 2, name: "c", previous: first });
    let last = second;
    for (let i = 0; i < RING_ENTRIES_MAX - 1; i++) last = ring.add(4, 3, 0, 0);
    expect(ring.read(first)).toBeUndefined();
    expect(ring.read(second)).toMatchObject({ name: "c" });
    last = ring.add(5, 4, second, 0);
    expect(ring.read(second)).toBeUndefined();
    expect(ring.read(last)).toMatchObject({ kind: 5, previous: 0 });
    expect(ring.repeat(second, 2, 9, 0, "c")).toBe(false);
    expect(ring.read(last + 1)).toBeUndefined();
  });
});

test("takes at most 32 MB, counted and measured, with the longest names and peer ids", () => {
  expect(MEMORY_MAX_BYTES).toBeLessThanOrEqual(32 * MB);
  // In a process of its own: the memory of other tests would be measured too.
  const script = join(import.meta.dir, "../testing/recorder-memory.ts");
  const { stdout } = Bun.spawnSync([process.execPath, "--no-env-file", script]);
  const { counted, taken } = JSON.parse(stdout.toString()) as { counted: number; taken: number };
  expect(counted).toBeLessThanOrEqual(MEMORY_MAX_BYTES);
  expect(counted).toBeGreaterThan(20 * MB);
  expect(taken).toBeLessThan(counted);
  expect(taken).toBeGreaterThan(10 * MB);
});
