/** What operators see is that of all nodes, and says so if a node does not respond. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { fresh, join, tokenQuery } from "../conformance/raw/support/world.ts";
import type { App, SecretKey } from "../support/admin.ts";
import { selfSigned } from "../support/jwt.ts";
import type { Server } from "../support/parley.ts";
import { type Joined, pairs, SAMPLE, walk } from "../support/presence-scenario.ts";
import { Chance } from "../support/random.ts";
import { SOON_MS, until } from "../support/wait.ts";
import { attempt } from "../support/wire/connect.ts";
import type { Wire } from "../support/wire/wire.ts";
import { Cluster, connect, frozen } from "./support/cluster.ts";

setDefaultTimeout(60_000);

let cluster: Cluster;
let app: App;
let key: SecretKey;
const wires: Wire[] = [];
beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 3 });
  const [first] = cluster.pair;
  app = await first.admin.createApp();
  key = await first.admin.createKey(app._id);
  for (const node of cluster.nodes)
    await until("the node knows all others", async () => (await nodesOf(node)).data.length === 3);
});
afterAll(async () => {
  for (const wire of wires) wire.drop();
  await cluster.stop();
});

interface Page<T = Record<string, unknown>> {
  readonly data: readonly T[];
  readonly next: string | null;
  readonly isComplete: boolean;
}

const nodesOf = (node: Server): Promise<Page> => node.admin.must<Page>("GET", "/nodes");
const live = <T = Page>(node: Server, path: string): Promise<T> => node.admin.must<T>("GET", `/apps/${app._id}${path}`);

async function member(node: Server, peerId: string, channel: string): Promise<Wire> {
  const wire = await connect(node, tokenQuery(selfSigned(key.keyId, key.secret, { sub: peerId })));
  wires.push(wire);
  await wire.frame("welcome");
  await join(wire, channel);
  return wire;
}

const nodeAt = (i: number): Server => {
  const node = cluster.nodes[i];
  if (!node) throw new Error(`there is no node ${i}`);
  return node;
};

test("nodes, channels and peers are those of all nodes, on each of them", async () => {
  const stem = fresh("live");
  await member(nodeAt(0), `${stem}-ann`, `${stem}/a`);
  await member(nodeAt(1), `${stem}-ann`, `${stem}/a`);
  await member(nodeAt(1), `${stem}-ben`, `${stem}/a`);
  await member(nodeAt(2), `${stem}-cat`, `${stem}/b`);
  for (const node of cluster.nodes) {
    const nodes = await nodesOf(node);
    expect([nodes.data.length, nodes.isComplete]).toEqual([3, true]);
    expect(new Set(nodes.data.map(({ nodeId }) => nodeId)).size).toBe(3);
    expect(nodes.data.map(({ nats, store }) => `${nats} ${store}`)).toEqual(["ok ok", "ok ok", "ok ok"]);
    await until("all members are known", async () => {
      const { data, isComplete } = await live(node, `/channels?prefix=${stem}`);
      expect(isComplete).toBeTrue();
      const counts = data.map(({ channel, peers, connections }) => `${channel} ${peers} ${connections}`);
      return Bun.deepEquals(counts, [`${stem}/a 2 3`, `${stem}/b 1 1`]);
    });
    const rated = await live(node, `/channels?prefix=${stem}&sort=rate`);
    expect(rated.data.map(({ channel, connections }) => `${channel} ${connections}`).sort()).toEqual([
      `${stem}/a 3`,
      `${stem}/b 1`,
    ]);
    const { members } = await live<{ members: { peerId: string; connections: number }[] }>(node, `/channels/${stem}/a`);
    expect(members).toEqual([
      { peerId: `${stem}-ann`, connections: 2 },
      { peerId: `${stem}-ben`, connections: 1 },
    ]);
    const peers = await live(node, `/peers?prefix=${stem}&limit=2`);
    expect([peers.data.map(({ peerId, connections }) => `${peerId} ${connections}`), peers.next]).toEqual([
      [`${stem}-ann 2`, `${stem}-ben 1`],
      `${stem}-ben`,
    ]);
    const ann = await live<{ total: number; connections: { nodeId: string }[] }>(node, `/peers/${stem}-ann`);
    expect([ann.total, new Set(ann.connections.map(({ nodeId }) => nodeId)).size]).toEqual([2, 2]);
  }
});

test("what each node has refused is listed on all of them", async () => {
  const publishable = await nodeAt(0).admin.createPublishable(app._id, { allowedOrigins: ["https://shop.example"] });
  for (const node of cluster.nodes) {
    const refuse = async (): Promise<boolean> => {
      const query = `key=${publishable.keyId}`;
      const answer = await attempt(node.url, { query, headers: { Origin: "https://elsewhere.example" } });
      return "status" in answer && answer.status === 401;
    };
    await until("the node refuses it", refuse);
  }
  for (const node of cluster.nodes) {
    const { data, isComplete } = await node.admin.must<Page>("GET", `/refusals?app=${app._id}&code=origin_not_allowed`);
    expect([isComplete, new Set(data.map(({ nodeId }) => nodeId)).size]).toEqual([true, 3]);
  }
});

test("an operator's message and kick reach a peer on another node", async () => {
  const peerId = fresh("far");
  const channel = `${fresh("room")}/1`;
  const wire = await member(nodeAt(2), peerId, channel);
  const { admin } = nodeAt(0);
  await admin.must("POST", `/apps/${app._id}/channels/${channel}/publish`, { data: 1 });
  expect(await wire.until("message")).toMatchObject({ from: "server", data: 1 });
  await admin.must("POST", `/apps/${app._id}/peers/${peerId}/send`, { data: 2 });
  expect(await wire.until("direct")).toMatchObject({ from: "server", data: 2 });
  expect(await admin.must<unknown>("DELETE", `/apps/${app._id}/peers/${peerId}`)).toEqual({ peerId, closed: 1 });
});

test("a node that does not respond makes lists incomplete within about a second, and no error", async () => {
  const stem = fresh("partial");
  await member(nodeAt(0), `${stem}-here`, `${stem}/here`);
  await member(nodeAt(2), `${stem}-there`, `${stem}/there`);
  using _frozen = frozen(nodeAt(2));
  const startedMs = performance.now();
  const [nodes, channels, peers] = await Promise.all([
    nodesOf(nodeAt(0)),
    live(nodeAt(0), `/channels?prefix=${stem}`),
    live(nodeAt(0), `/peers?prefix=${stem}`),
  ]);
  expect(performance.now() - startedMs).toBeLessThan(2 * SOON_MS);
  expect([nodes.data.length, nodes.isComplete]).toEqual([2, false]);
  expect([channels.data.map(({ channel }) => channel), channels.isComplete]).toEqual([[`${stem}/here`], false]);
  expect([peers.data.map(({ peerId }) => peerId), peers.isComplete]).toEqual([[`${stem}-here`], false]);
  const there = await nodeAt(0).admin.must<Record<string, unknown>>("GET", `/apps/${app._id}/peers/${stem}-there`);
  // Once the node counts as gone, it is certain that no node has the peer: isComplete may be either.
  expect(there).toMatchObject({ total: 0, connections: [], isComplete: expect.any(Boolean) });
});

const joined = (): Joined => ({
  urls: cluster.nodes.map(({ url }) => url),
  processesPerUrl: 1,
  admin: nodeAt(0).admin,
  appId: app._id,
  key,
  pids: () => cluster.nodes.map(({ pid }) => pid),
});

test("two connections of a peer at the same moment on two nodes: frames and lists of all nodes show the same", () =>
  pairs(joined(), SAMPLE.rounds));

test("random tabs and states, and a node that stops for a moment: frames and lists of all nodes show the truth", () =>
  walk(joined(), SAMPLE.walk, new Chance(SAMPLE.seed)));
