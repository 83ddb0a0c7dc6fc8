/** Subscriptions that begin with earlier messages: recover and rewind, from the ring and from the store. */
import { describe, expect, test } from "bun:test";
import type { Client } from "../testing/kit.ts";
import { dataOf, numbers, offsetOf, positionOf, ROOM, StreamsWorld, seen } from "./testing/streams-world.ts";

/** Comes back and asks for what it missed. */
async function back(world: StreamsWorld, more: Readonly<Record<string, unknown>>, node = 0): Promise<Client> {
  const client = world.connect("ben", { node });
  client.subscribe(ROOM, more);
  await world.pass(2);
  return client;
}

/** Ann has published this many, and Ben, who is gone, has seen `seenCount` of them. */
async function away(world: StreamsWorld, count: number, seenCount: number): Promise<{ ann: Client; position: string }> {
  const ann = await world.joined("ann");
  const ben = await world.joined("ben");
  await world.publish(ann, 1, seenCount);
  const position = positionOf(ben);
  ben.vanish();
  await world.publish(ann, seenCount + 1, count);
  ann.take();
  return { ann, position };
}

describe("recover", () => {
  test("what was missed follows the ack, marked, then what is new; from the ring, without a read", async () => {
    const world = new StreamsWorld();
    const { ann, position } = await away(world, 7, 3);
    const ben = await back(world, { recover: position });
    const [ack] = ben.received.filter(({ type }) => type === "ack");
    expect([ack?.recovered, ack?.replay, offsetOf(ack?.pos)]).toEqual([true, 4, 7]);
    expect(seen(ben)).toEqual(["ack recovered:true replay:4", "4*", "5*", "6*", "7*"]);
    await world.publish(ann, 8, 8);
    expect(seen(ben)).toEqual(["8"]);
    expect(world.history.calls.read).toBe(0);
  });

  test("nothing was missed", async () => {
    const world = new StreamsWorld();
    const { position } = await away(world, 3, 3);
    expect(seen(await back(world, { recover: position }))).toEqual(["ack recovered:true replay:0"]);
  });

  test("messages of the client's earlier connection are left out", async () => {
    const world = new StreamsWorld();
    const { ann, position } = await away(world, 2, 2);
    const before = await world.joined("ben");
    await world.publish(before, 3, 4);
    await world.publish(ann, 5, 5);
    const { id } = before.connection;
    before.vanish();
    const ben = await back(world, { recover: position, connection: id });
    expect(seen(ben)).toEqual(["ack recovered:true replay:1", "5*"]);
    expect(seen(await back(world, { recover: position }))).toEqual(["ack recovered:true replay:3", "3*", "4*", "5*"]);
  });

  test("metadata is replayed to those who asked for it", async () => {
    const world = new StreamsWorld();
    const ann = await world.joined("ann", { metadata: { n: 1 } });
    await world.publish(ann, 1, 1);
    const [plain, full] = [
      await back(world, { rewind: 1 }),
      await back(world, { rewind: 1, includeSenderMetadata: true }),
    ];
    const metadataOf = (client: Client): unknown =>
      client.received.find(({ type }) => type === "message")?.fromMetadata;
    expect([metadataOf(plain), metadataOf(full)]).toEqual([undefined, { n: 1 }]);
  });

  test.each([
    ["another epoch", (p: string) => p.replace(/^[^.]+/, "abc")],
    ["another check", (p: string) => p.replace(/[^.]+$/, "abc")],
    ["an offset beyond the end", (p: string) => p.replace(/\.\d+\./, ".99.")],
    ["garbage", () => "garbage"],
    ["nothing", () => ""],
    ["an offset that is no number", (p: string) => p.replace(/\.\d+\./, ".x.")],
    ["an offset with more digits than are exact", (p: string) => p.replace(/\.\d+\./, ".9007199254740993.")],
  ])("a position with %s is not recovered, and nothing is replayed", async (_, forge) => {
    const world = new StreamsWorld();
    const { ann, position } = await away(world, 5, 3);
    const ben = await back(world, { recover: forge(position) });
    await world.publish(ann, 6, 6);
    expect(seen(ben)).toEqual(["ack recovered:false replay:0", "6"]);
    // It has changed nothing for the others.
    expect(seen(await back(world, { recover: position }))[0]).toBe("ack recovered:true replay:3");
  });

  test("after the last subscriber has left, one read fills the ring for all who come back", async () => {
    const world = new StreamsWorld();
    const { ann, position } = await away(world, 7, 3);
    ann.vanish();
    await world.pass(1000);
    const clients = Array.from({ length: 20 }, (_, i) => world.connect(`peer${i}`));
    for (const client of clients) client.subscribe(ROOM, { recover: position });
    await world.pass(2);
    for (const client of clients) expect(seen(client)).toEqual(["ack recovered:true replay:4", "4*", "5*", "6*", "7*"]);
    expect(world.history.calls).toMatchObject({ open: 2, read: 1 });
  });

  test("more than 1,000 messages, or more than 960,000 bytes, are not replayed", async () => {
    const world = new StreamsWorld();
    const { ann, position } = await away(world, 1001, 1);
    expect(dataOf((await back(world, { recover: position })).received)).toEqual(numbers(2, 1001));
    await world.publish(ann, 1002, 1002);
    expect(seen(await back(world, { recover: position }))).toEqual(["ack recovered:false replay:0"]);
    const { position: later } = { position: positionOf(ann) };
    for (let i = 0; i < 15; i++) ann.publish(ROOM, "x".repeat(63_000));
    await world.answers();
    expect(seen(await back(world, { recover: later }))[0]).toBe("ack recovered:true replay:15");
    for (let i = 0; i < 2; i++) ann.publish(ROOM, "x".repeat(63_000));
    await world.answers();
    expect(seen(await back(world, { recover: later }))).toEqual(["ack recovered:false replay:0"]);
  });

  test("what the rule no longer keeps is not recovered", async () => {
    const world = new StreamsWorld({ rules: [{ pattern: "**", history: { messages: 3, seconds: 10 }, graceSec: 0 }] });
    const { ann, position } = await away(world, 6, 3);
    expect(seen(await back(world, { recover: position }))[0]).toBe("ack recovered:true replay:3");
    await world.publish(ann, 7, 7);
    expect(seen(await back(world, { recover: position }))).toEqual(["ack recovered:false replay:0"]);
    const later = positionOf(ann);
    await world.publish(ann, 8, 8);
    await world.pass(10_001);
    expect(seen(await back(world, { recover: later }))).toEqual(["ack recovered:false replay:0"]);
  });

  test("a channel without history, and one that is held already, ignore recover and rewind", async () => {
    const world = new StreamsWorld();
    const ann = await world.joined("ann");
    await world.publish(ann, 1, 2);
    ann.take();
    ann.subscribe(ROOM, { recover: "x" });
    ann.subscribe("plain", { rewind: 5 });
    await world.pass(5);
    const acks = ann.take().filter(({ type }) => type === "ack");
    expect(acks.map(({ pos, recovered }) => [pos && offsetOf(pos), recovered])).toEqual([
      [undefined, undefined],
      [2, undefined],
    ]);
  });

  test.each([
    [{ recover: "a.1.b", rewind: 3 }],
    [{ recover: 1 }],
    [{ recover: null }],
    [{ recover: "a.1.b", connection: 5 }],
    [{ rewind: 0 }],
    [{ rewind: 1001 }],
    [{ rewind: 1.5 }],
    [{ rewind: "5" }],
    [{ rewind: "5d" }],
    [{ rewind: "0s" }],
    [{ rewind: true }],
  ])("%p is malformed", async (more) => {
    const world = new StreamsWorld();
    expect(seen(await back(world, more))).toEqual(["error malformed_message"]);
  });

  test("the store is unavailable when the channel opens: the subscribe is refused, and the next one is not", async () => {
    const world = new StreamsWorld();
    world.history.fate = () => "fail";
    const ben = await back(world, {});
    expect(seen(ben)).toEqual(["error backend_error"]);
    world.history.fate = () => "answer";
    ben.subscribe(ROOM);
    await world.pass(2);
    expect(seen(ben)).toEqual(["ack"]);
  });
});

describe("rewind", () => {
  test("the newest messages, as many as are asked for", async () => {
    const world = new StreamsWorld();
    await away(world, 7, 1);
    expect(seen(await back(world, { rewind: 2 }))).toEqual(["ack recovered:true replay:2", "6*", "7*"]);
    expect(seen(await back(world, { rewind: 1000 }))).toHaveLength(8);
    expect(world.history.calls.read).toBe(0);
  });

  test("from the store, when the channel was not in use here; then from the ring", async () => {
    const world = new StreamsWorld();
    const { ann } = await away(world, 7, 1);
    ann.vanish();
    await world.pass(1000);
    expect(seen(await back(world, { rewind: 2 }))).toEqual(["ack recovered:true replay:2", "6*", "7*"]);
    expect(seen(await back(world, { rewind: 50 }))).toHaveLength(8);
    expect(world.history.calls.read).toBe(1);
  });

  test("the messages of a time", async () => {
    const world = new StreamsWorld();
    const { ann } = await away(world, 2, 1);
    await world.pass(5000);
    await world.publish(ann, 3, 4);
    expect(seen(await back(world, { rewind: "4s" }))).toEqual(["ack recovered:true replay:2", "3*", "4*"]);
    expect(seen(await back(world, { rewind: "1m" }))).toHaveLength(5);
    await world.pass(5000);
    expect(seen(await back(world, { rewind: "1s" }))).toEqual(["ack recovered:true replay:0"]);
  });

  test("of an empty channel", async () => {
    const world = new StreamsWorld();
    expect(seen(await back(world, { rewind: 10 }))).toEqual(["ack recovered:true replay:0"]);
  });

  test("long messages: the newest that fit", async () => {
    const world = new StreamsWorld();
    const ann = await world.joined("ann");
    for (let i = 0; i < 20; i++) ann.publish(ROOM, "x".repeat(63_000));
    await world.answers();
    expect(seen(await back(world, { rewind: 20 }))[0]).toBe("ack recovered:true replay:15");
  });
});

describe("pacing", () => {
  test("a client that does not read gets half of what may wait; what is new follows behind, and nothing is missing", async () => {
    const world = new StreamsWorld({ maxPendingBytes: 100_000 });
    const { ann, position } = await away(world, 1, 1);
    for (let i = 2; i <= 101; i++) ann.publish(ROOM, `${i} ${"x".repeat(2000)}`);
    await world.answers();
    const ben = world.connect("ben");
    ben.socket.stalled = true;
    ben.subscribe(ROOM, { recover: position });
    await world.pass(2);
    expect(ben.socket.getBufferedAmount()).toBeLessThanOrEqual(50_000);
    ann.publish(ROOM, "102 live");
    await world.answers();
    for (let i = 0; i < 10; i++) {
      ben.socket.read();
      await world.pass(1);
      expect(ben.socket.getBufferedAmount()).toBeLessThanOrEqual(50_000);
    }
    const messages = ben.received.filter(({ type }) => type === "message");
    expect(messages.map(({ data }) => Number.parseInt(String(data), 10))).toEqual(numbers(2, 102));
    expect(messages.filter(({ replay }) => replay)).toHaveLength(100);
    ann.publish(ROOM, 103);
    await world.answers();
    expect(dataOf(ben.received).at(-1)).toBe(103);
  });

  test("a client that never reads is cut after 30 s", async () => {
    const world = new StreamsWorld({ maxPendingBytes: 100_000 });
    const { ann, position } = await away(world, 1, 1);
    for (let i = 2; i <= 101; i++) ann.publish(ROOM, "x".repeat(2000));
    await world.answers();
    const ben = world.connect("ben");
    ben.socket.stalled = true;
    ben.subscribe(ROOM, { recover: position });
    await world.pass(29_000);
    expect(ben.closeCode).toBeUndefined();
    await world.pass(1500);
    expect(ben.closeCode).toBe(1001);
    expect(world.node.hub.replays.count).toBe(0);
  });

  test("nothing is read from the store for a client that does not read", async () => {
    const world = new StreamsWorld({ maxPendingBytes: 100_000 });
    const { ann, position } = await away(world, 1, 1);
    for (let i = 2; i <= 101; i++) ann.publish(ROOM, "x".repeat(2000));
    await world.answers();
    const ben = world.connect("ben");
    ben.socket.stalled = true;
    ben.subscribe(ROOM, { recover: position });
    await world.pass(2);
    // Other channels have used all that rings may hold.
    for (const { ring } of world.node.hub.streams.all) ring.clear();
    const { read } = world.history.calls;
    await world.pass(5000);
    expect(world.history.calls.read).toBe(read);
    ben.socket.stalled = false;
    ben.socket.read();
    await world.pass(5);
    expect(world.history.calls.read).toBeGreaterThan(read);
    expect(dataOf(ben.received)).toHaveLength(100);
  });

  test("the ack of the client's own message waits for the replay", async () => {
    const world = new StreamsWorld({ maxPendingBytes: 100_000 });
    const { ann, position } = await away(world, 1, 1);
    for (let i = 2; i <= 51; i++) ann.publish(ROOM, `${i} ${"x".repeat(2000)}`);
    await world.answers();
    const ben = world.connect("ben");
    ben.socket.stalled = true;
    ben.subscribe(ROOM, { recover: position });
    await world.pass(2);
    const requestId = ben.publish(ROOM, "own");
    await world.answers();
    const acked = (): number => ben.received.findIndex((frame) => frame.requestId === requestId);
    expect(acked()).toBe(-1);
    ben.socket.stalled = false;
    ben.socket.read();
    await world.pass(1);
    expect(acked()).toBe(ben.received.length - 1);
    expect(dataOf(ben.received)).toHaveLength(50);
  });
});
