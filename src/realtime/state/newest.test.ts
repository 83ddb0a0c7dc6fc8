/** Which of a peer's connections counts is the same on every node, and in everything that shows it. */
import { describe, expect, test } from "bun:test";
import { delayed, shuffled } from "../../engine/testing/traffic.ts";
import { Live } from "../operators/live/live.ts";
import { CALL, graceWorld } from "../testing/grace.ts";
import { APP, type Client, type Received, World } from "../testing/kit.ts";
import { type Aged, isNewer, newestFirst } from "./newest.ts";

const setState = (client: Client, state: unknown, channel = "c"): string =>
  client.request({ type: "state", channel, state });

interface Shown {
  metadata?: unknown;
  state?: unknown;
}

/** What a client knows of a peer from all frames that it has got: rosters, changes and states. */
function knownOf(client: Client, peerId: string): Shown | undefined {
  let known: Shown | undefined;
  type PeerEntry = Shown & { readonly peerId: string };
  for (const { joined = [], left = [], changed, snapshot } of client.received as (Received & {
    changed?: PeerEntry[];
  })[]) {
    if (snapshot) known = undefined;
    for (const { metadata, state, ...one } of joined as PeerEntry[])
      if (one.peerId === peerId) known = { metadata, state: state ?? known?.state };
    for (const one of changed ?? []) if (one.peerId === peerId && known) known.state = one.state ?? undefined;
    if (left.some((one) => one.peerId === peerId)) known = undefined;
  }
  return known;
}

/** What the lists of every node say of a member: REST, then those of operators. */
async function listed(world: World, lives: readonly Live[], peerId: string, channel = "c"): Promise<Shown[]> {
  const found: Shown[] = [];
  const add = (
    all: readonly { peerId: string; metadataJson?: string | undefined; stateJson?: string | undefined }[],
  ) => {
    for (const { metadataJson, stateJson, ...one } of all)
      if (one.peerId === peerId) found.push({ metadata: parsed(metadataJson), state: parsed(stateJson) });
  };
  for (const { hub } of world.nodes) add((await hub.occupancy.members(APP, channel)) ?? []);
  for (const live of lives) add((await live.channels.one({ app: APP, channel, after: undefined, limit: 10 })).members);
  return found;
}

const parsed = (json: string | undefined): unknown => (json === undefined ? undefined : JSON.parse(json));

const livesOf = (world: World): Live[] => world.nodes.map(({ hub, clock }, i) => new Live(hub, clock, `node ${i}`));

describe("two connections of a peer that two nodes have accepted in the same millisecond", () => {
  for (const [name, first, second] of [
    ["with other metadata", { n: 1 }, { n: 2 }],
    ["with the metadata the other way round", { n: 2 }, { n: 1 }],
    ["with the same metadata", { n: 1 }, { n: 1 }],
    ["without metadata", undefined, undefined],
  ] as const)
    test(`${name}: metadata and state agree on every node, in frames and lists`, async () => {
      const world = new World({ nodes: 3 });
      const lives = livesOf(world);
      const watchers = world.nodes.map((_, node) => world.connect(`w${node}`, { node }));
      for (const watcher of watchers) watcher.subscribe("c", { state: true });
      world.settle();
      const tabs = [first, second].map((metadata, node) => world.connect("ann", { node, metadata }));
      expect(tabs[0]?.connection.connectedMs).toBe(tabs[1]?.connection.connectedMs);
      for (const tab of tabs) tab.subscribe("c");
      world.settle();
      for (const [of, tab] of tabs.entries()) setState(tab, { of });
      world.settle();
      const late = world.nodes.map((_, node) => world.connect(`late${node}`, { node }));
      for (const one of late) one.subscribe("c", { state: true });
      world.settle();
      const shown = [...watchers, ...late].map((client) => knownOf(client, "ann") ?? {});
      const all = [...shown, ...(await listed(world, lives, "ann"))];
      expect(all).toHaveLength(12);
      // The names of nodes decide: of n0 and n1 the second.
      for (const one of all) expect(one).toEqual({ metadata: second, state: { of: 1 } });
      const orders = await Promise.all(lives.map((live) => live.peers.one({ app: APP, peerId: "ann" })));
      const nodes = orders.map(({ connections }) => connections.map(({ nodeId }) => nodeId));
      expect(nodes).toEqual(world.nodes.map(() => ["node 1", "node 0"]));
      tabs[1]?.vanish();
      world.settle();
      const after = [...watchers.map((client) => knownOf(client, "ann") ?? {}), ...(await listed(world, lives, "ann"))];
      for (const one of after) expect(one).toEqual({ metadata: first, state: { of: 0 } });
    });

  test("both lost: every node keeps the same of the two, and one that asks later gets that", async () => {
    const world = graceWorld(4);
    const lives = livesOf(world);
    const watchers = [2, 3].map((node) => world.connect(`w${node}`, { node }));
    for (const watcher of watchers) watcher.subscribe(CALL, { state: true });
    world.settle();
    const tabs = [0, 1].map((node) => world.connect("ann", { node, metadata: { node } }));
    for (const tab of tabs) tab.subscribe(CALL);
    world.settle();
    for (const [of, tab] of tabs.entries()) setState(tab, { of }, CALL);
    world.settle();
    for (const tab of tabs) tab.vanish();
    world.settle();
    const known = watchers.map((client) => knownOf(client, "ann"));
    expect(known[0]).toBeDefined();
    expect(new Set(known.map((one) => JSON.stringify(one))).size).toBe(1);
    const lists = await listed(world, lives, "ann", CALL);
    expect(lists).toHaveLength(8);
    for (const one of lists) expect(one).toEqual(known[0] ?? {});
  });
});

test("the nodes of both connections die: whichever is noticed first, the others keep the newest", () => {
  const shown = new Set<string>();
  for (let seed = 1; seed <= 12; seed++) {
    const world = graceWorld(4, shuffled(seed));
    const watchers = [2, 3].map((node) => world.connect(`w${node}`, { node }));
    for (const watcher of watchers) watcher.subscribe(CALL, { state: true });
    world.settle();
    for (const node of [0, 1]) world.connect("ann", { node, metadata: { node } }).subscribe(CALL);
    world.settle();
    for (const node of [0, 1]) world.kill(node);
    world.settle();
    for (const watcher of watchers) shown.add(JSON.stringify(knownOf(watcher, "ann")?.metadata));
  }
  expect([...shown]).toEqual(['{"node":1}']);
});

test("a live connection counts before a newer one that was lost, in every list", async () => {
  const world = graceWorld(2);
  const lives = livesOf(world);
  world.join("cat", CALL, { node: 0 });
  world.join("ann", CALL, { node: 0, metadata: { tab: "old" } });
  const lost = world.join("ann", CALL, { node: 1, metadata: { tab: "lost" } });
  world.settle();
  lost.vanish();
  world.settle();
  const lists = await listed(world, lives, "ann", CALL);
  expect(lists).toHaveLength(4);
  for (const { metadata } of lists) expect(metadata).toEqual({ tab: "old" });
  const [one] = (await lives[0]?.channels.one({ app: APP, channel: CALL, after: undefined, limit: 10 }))?.members ?? [];
  expect(one).not.toHaveProperty("isLost");
});

test("the order is total: of two, exactly one is newer, and sorting gives the same whatever comes first", () => {
  const all: Aged[] = [];
  const lingering = [undefined, {}, { hadOther: true }] as const;
  for (const since of [1, 2])
    for (const node of ["a", "b"]) for (const lingers of lingering) all.push({ since, node, lingers });
  for (const one of all)
    for (const other of all)
      expect(Number(isNewer(one, other)) + Number(isNewer(other, one))).toBe(one === other ? 0 : 1);
  const sorted = all.toSorted(newestFirst);
  expect(all.toReversed().toSorted(newestFirst)).toEqual(sorted);
  expect(sorted.map(({ lingers }) => lingers)).toEqual(lingering.flatMap((one) => [one, one, one, one]));
  expect(sorted[0]).toEqual({ since: 2, node: "b", lingers: undefined });
});

describe("a member whose connections end on two nodes, one after the other, lingering as its last one", () => {
  for (const [name, end] of [
    ["held", (client: Client) => client.node.hub.connections.expire(client.connection)],
    ["lost", (client: Client) => client.vanish()],
  ] as const)
    test(`${name}: the one that ended before it is shown to no one, however new it was`, async () => {
      const world = graceWorld(3);
      const lives = livesOf(world);
      const watchers = [0, 1, 2].map((node) => world.connect(`w${node}`, { node }));
      for (const watcher of watchers) watcher.subscribe(CALL, { state: true });
      const [older, newer] = [0, 1].map((node) => {
        const client = world.connect("ann", { node, metadata: { node } });
        client.subscribe(CALL);
        world.settle();
        setState(client, { of: node }, CALL);
        return client;
      }) as [Client, Client];
      world.settle();
      end(newer);
      world.settle();
      for (const watcher of watchers) watcher.take();
      end(older);
      world.settle();
      const isPresence = ({ type }: Received): boolean => type === "presence";
      expect(watchers.flatMap((watcher) => watcher.take().filter(isPresence))).toEqual([]);
      const last = { metadata: { node: 0 }, state: { of: 0 } };
      for (const watcher of watchers) expect(knownOf(watcher, "ann")).toEqual(last);
      expect(await listed(world, lives, "ann", CALL)).toEqual(new Array(6).fill(last));
    });

  for (const [name, delayMs, betweenMs] of [
    ["and their nodes do not know of each other's end", 20, 0],
    ["and their nodes are a moment apart", 0, 100],
  ] as const)
    test(`together, ${name}: the newest counts, on every node`, () => {
      const world = graceWorld(3, delayed(delayMs));
      const watchers = [0, 1, 2].map((node) => world.connect(`w${node}`, { node }));
      for (const watcher of watchers) watcher.subscribe(CALL);
      world.settle();
      const tabs = [0, 1].map((node) => world.connect("ann", { node, metadata: { node } }));
      for (const tab of tabs) {
        tab.subscribe(CALL);
        world.settle();
      }
      for (const tab of tabs.toReversed()) {
        tab.vanish();
        world.advance(betweenMs);
      }
      world.settle();
      for (const watcher of watchers) expect(knownOf(watcher, "ann")?.metadata).toEqual({ node: 1 });
    });
});

test("a connection on another node replaces one that was made after a wrong clock was set back", async () => {
  const world = new World({ nodes: 2 });
  const cat = world.join("cat", "c", { node: 1 });
  world.node.clock.skewMs = 3_600_000;
  world.join("eve", "c");
  world.node.clock.skewMs = 0;
  world.join("ann", "c", { metadata: { n: 1 } });
  world.settle();
  world.join("ann", "c", { node: 1, metadata: { n: 2 } });
  world.settle();
  expect(knownOf(cat, "ann")).toMatchObject({ metadata: { n: 2 } });
  expect(await listed(world, livesOf(world), "ann")).toMatchObject(Array(4).fill({ metadata: { n: 2 } }));
});
