import { expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import { SAMPLE_EVERY_MS } from "../../../telemetry/series.ts";
import { APP, type Client, OTHER_KEY, World } from "../../testing/kit.ts";
import { LIVE_CONNECTIONS_MAX } from "./limits.ts";
import { Live } from "./live.ts";

/** Nodes with live lists, as node/parts/realtime.ts builds them. */
function worldOf(nodes = 1): { world: World; live: Live; lives: readonly Live[] } {
  const world = new World({ nodes });
  const lives = world.nodes.map(({ hub, clock }, i) => new Live(hub, clock, `node-${i}`));
  const [live] = lives;
  if (!live) throw new Error("there is no node");
  return { world, live, lives };
}

const page = { app: APP, prefix: "", after: undefined, limit: 100 };

/** Reads page after page. */
async function all<T>(read: (after: string | undefined) => Promise<{ data: readonly T[]; next: string | null }>) {
  const pages: (readonly T[])[] = [];
  for (let after: string | undefined; ; ) {
    const { data, next } = await read(after);
    pages.push(data);
    if (next === null) return pages;
    after = next;
  }
}

test("channels come by name, in pages, filtered by prefix, without those of other applications", async () => {
  const { world, live } = worldOf();
  for (let i = 0; i < 25; i++) world.join(`p${i % 3}`, `c${String((i * 7) % 25).padStart(2, "0")}`);
  world.join("p0", "d/1");
  world.join("stranger", "c00", { key: OTHER_KEY });
  const pages = await all((after) => live.channels.page({ ...page, prefix: "c", after, limit: 10 }));
  expect(pages.map(({ length }) => length)).toEqual([10, 10, 5]);
  expect(pages.flat().map(({ channel }) => channel)).toEqual(
    Array.from({ length: 25 }, (_, i) => `c${String(i).padStart(2, "0")}`),
  );
  expect(pages.flat()[0]).toMatchObject({ channel: "c00", peers: 1, connections: 1 });
  expect((await live.channels.page({ ...page, app: anAppId("unknown") })).data).toEqual([]);
});

test("a page that ends with the last channel has no next", async () => {
  const { world, live } = worldOf();
  for (const name of ["a", "b", "c"]) world.join("p", name);
  expect((await live.channels.page({ ...page, limit: 3 })).next).toBeNull();
  expect((await live.channels.page({ ...page, limit: 2 })).next).toBe("b");
});

test("a channel counts peers once and connections as they are, over all nodes and from any of them", async () => {
  const { world, lives } = worldOf(3);
  world.join("ann", "c", { node: 0 });
  world.join("ann", "c", { node: 0 });
  world.join("ann", "c", { node: 1 });
  world.join("ben", "c", { node: 1 });
  world.join("quiet", "c", { node: 1, actions: ["subscribe"] });
  world.join("cat", "d", { node: 2 });
  for (const live of lives) {
    const { data, isComplete } = await live.channels.page(page);
    expect(isComplete).toBeTrue();
    expect(data).toMatchObject([
      { channel: "c", peers: 2, connections: 5 },
      { channel: "d", peers: 1, connections: 1 },
    ]);
  }
});

test("pages over several nodes hold each channel once, in order", async () => {
  const { world, live } = worldOf(3);
  for (let i = 0; i < 30; i++) world.join("p", `c${String(i).padStart(2, "0")}`, { node: i % 3 });
  for (let i = 0; i < 30; i += 4) world.join("q", `c${String(i).padStart(2, "0")}`, { node: 2 });
  const pages = await all((after) => live.channels.page({ ...page, after, limit: 7 }));
  expect(pages.flat().map(({ channel }) => channel)).toEqual(
    Array.from({ length: 30 }, (_, i) => `c${String(i).padStart(2, "0")}`),
  );
  expect(pages.flat().map(({ connections }) => connections)).toEqual(
    Array.from({ length: 30 }, (_, i) => (i % 4 === 0 ? 2 : 1)),
  );
});

test("one channel has its members by id, in pages, with the newest metadata and all connections", async () => {
  const { world, lives } = worldOf(2);
  for (const [i, peerId] of ["dan", "ann", "cat", "ben"].entries())
    world.join(peerId, "c", { node: i % 2, metadata: { i } });
  world.join("ann", "c", { node: 0, metadata: { i: "newer" } });
  for (const live of lives) {
    const first = await live.channels.one({ app: APP, channel: "c", after: undefined, limit: 2 });
    expect(first).toMatchObject({ peers: 4, connections: 5, next: "ben", isComplete: true });
    expect(first.members.map(({ peerId, metadataJson, connections }) => [peerId, metadataJson, connections])).toEqual([
      ["ann", '{"i":"newer"}', 2],
      ["ben", '{"i":3}', 1],
    ]);
    const rest = await live.channels.one({ app: APP, channel: "c", after: "ben", limit: 2 });
    expect([rest.members.map(({ peerId }) => peerId), rest.next]).toEqual([["cat", "dan"], null]);
  }
});

test("the busiest channels come first, with the rate that a node with subscribers sees and all connections", async () => {
  const { world, lives } = worldOf(2);
  for (const { hub } of world.nodes) hub.sampling.start();
  const ann = world.join("ann", "slow", { node: 0 });
  for (const name of ["fast", "idle-b", "idle-a"]) ann.subscribe(name);
  world.join("ben", "fast", { node: 1 });
  world.join("cat", "far", { node: 1 });
  world.advance(SAMPLE_EVERY_MS * 2);
  for (let i = 0; i < 100; i++) ann.publish("fast", i);
  for (let i = 0; i < 10; i++) ann.publish("slow", i);
  for (let i = 0; i < 50; i++) ann.publish("far", i);
  for (const live of lives) {
    const { data, next } = await live.channels.busiest(page);
    expect(data.map(({ channel, connections }) => `${channel} ${connections}`)).toEqual([
      "fast 2",
      "far 1",
      "slow 1",
      "idle-a 1",
      "idle-b 1",
    ]);
    expect(next).toBeNull();
    const [fast, far, slow, idle] = data.map(({ ratePerSec }) => ratePerSec);
    expect([fast, far, slow, idle]).toEqual([10, 5, 1, 0].map((tenth) => (tenth / 10) * (fast ?? 0)));
    expect(fast).toBeCloseTo((100 * 1000) / SAMPLE_EVERY_MS, 1);
    expect(data[0]?.bytesPerSec).toBeGreaterThan(0);
    // Connections are counted also on nodes where the channel is not among the busiest.
    const top = await live.channels.busiest({ ...page, limit: 1 });
    expect(top.data).toMatchObject([{ channel: "fast", peers: 2, connections: 2 }]);
    const prefixed = await live.channels.busiest({ ...page, prefix: "idle" });
    expect(prefixed.data.map(({ channel }) => channel)).toEqual(["idle-a", "idle-b"]);
  }
  const { connections } = await (lives[1] as Live).peers.one({ app: APP, peerId: "ann" });
  expect(connections[0]?.framesPerSec).toBeCloseTo((160 * 1000) / SAMPLE_EVERY_MS, 1);
});

test("a channel without subscribers is all zeros", async () => {
  const { live } = worldOf();
  expect(await live.channels.one({ app: APP, channel: "none", after: undefined, limit: 2 })).toEqual({
    peers: 0,
    connections: 0,
    ratePerSec: 0,
    bytesPerSec: 0,
    members: [],
    next: null,
    isComplete: true,
  });
});

test("peers come by id, in pages; one on two nodes is one entry", async () => {
  const { world, lives } = worldOf(2);
  const clients: Client[] = [];
  for (let i = 0; i < 9; i++) clients.push(world.connect(`p${i}`, { node: i % 2 }));
  world.connect("other");
  clients[3]?.subscribe("a");
  clients[3]?.subscribe("b");
  world.join("p3", "a", { node: 0 });
  // A member that is known through the other node only is no peer of this one.
  world.join("p4", "a", { node: 0 });
  for (const live of lives) {
    const pages = await all((after) => live.peers.page({ ...page, prefix: "p", after, limit: 4 }));
    expect(pages.map(({ length }) => length)).toEqual([4, 4, 1]);
    const entries = pages.flat();
    expect(entries.map(({ peerId }) => peerId)).toEqual(Array.from({ length: 9 }, (_, i) => `p${i}`));
    expect(entries[3]).toMatchObject({ connections: 2, channels: 3 });
    expect(entries[4]).toMatchObject({ connections: 2, channels: 1 });
    expect(entries[5]).toMatchObject({ connections: 1, channels: 0 });
  }
});

test("one peer has its connections on all nodes, newest first, with their subscriptions", async () => {
  const { world, lives } = worldOf(2);
  world.join("ann", "a", { node: 0 }).subscribe("b");
  world.advance(5000);
  world.join("ann", "c", { node: 1 });
  for (const live of lives) {
    const { total, connections, isComplete } = await live.peers.one({ app: APP, peerId: "ann" });
    expect([total, isComplete]).toEqual([2, true]);
    expect(connections.map(({ nodeId, subscriptions }) => [nodeId, subscriptions])).toEqual([
      ["node-1", ["c"]],
      ["node-0", ["a", "b"]],
    ]);
    expect(connections[0]).toMatchObject({ keyId: "sk_id_1", address: "127.0.0.1" });
  }
  expect(await lives[0]?.peers.one({ app: APP, peerId: "absent" })).toMatchObject({ total: 0, connections: [] });
});

test("what happened to a peer lately comes from all nodes in order, also after its connections have ended", async () => {
  const { world, lives } = worldOf(2);
  const first = world.join("ann", "a", { node: 0 });
  world.advance(1000);
  world.connect("ann", { node: 1 });
  world.advance(1000);
  first.vanish();
  world.advance(1000);
  for (const live of lives) {
    const { total, recent } = await live.peers.one({ app: APP, peerId: "ann" });
    expect(total).toBe(1);
    expect(recent.map(({ kind, channel, code }) => [kind, channel, code].filter(Boolean).join(" "))).toEqual([
      "connect",
      "subscribe a",
      "connect",
      "close 1006",
    ]);
  }
});

test("of a peer with very many connections the newest are shown, and all are counted", async () => {
  const { world, live } = worldOf();
  for (let i = 0; i < LIVE_CONNECTIONS_MAX + 20; i++) {
    world.connect("bot");
    world.advance(1);
  }
  const { total, connections } = await live.peers.one({ app: APP, peerId: "bot" });
  expect([total, connections.length]).toEqual([LIVE_CONNECTIONS_MAX + 20, LIVE_CONNECTIONS_MAX]);
  const times = connections.map(({ sinceMs }) => sinceMs);
  expect(times).toEqual(times.toSorted((a, b) => b - a));
  expect((await live.peers.page(page)).data).toMatchObject([{ peerId: "bot", connections: LIVE_CONNECTIONS_MAX + 20 }]);
});

test("what another node sends in an unexpected form counts as no response", async () => {
  const { world, live } = worldOf(2);
  world.join("ann", "c", { node: 0 });
  const other = world.nodeAt(1).hub.nodeRequests;
  const wrong: readonly unknown[] = [
    null,
    [{ channel: "c", peers: -1, connections: 1, ratePerSec: 0, bytesPerSec: 0 }],
    [{ channel: "x".repeat(300), peers: 1, connections: 1, ratePerSec: 0, bytesPerSec: 0 }],
    Array.from({ length: 2000 }, () => ({ channel: "c", peers: 1, connections: 1, ratePerSec: 0, bytesPerSec: 0 })),
  ];
  for (const answer of wrong) {
    other.onRequest("live channels", () => answer);
    const { data, isComplete } = await live.channels.page(page);
    expect([data.map(({ channel }) => channel), isComplete]).toEqual([["c"], false]);
  }
  const members = { peers: 1, connections: 1, ratePerSec: 0, bytesPerSec: 0 };
  for (const metadataJson of ["{", "[]", '{"a":1},"isComplete":true', ""]) {
    other.onRequest("live channel", () => ({
      ...members,
      members: [{ peerId: "x", since: 1, connections: 1, metadataJson }],
    }));
    const found = await live.channels.one({ app: APP, channel: "c", after: undefined, limit: 2 });
    expect([found.members.map(({ peerId }) => peerId), found.isComplete]).toEqual([["ann"], false]);
  }
});
