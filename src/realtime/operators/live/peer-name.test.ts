import { expect, test } from "bun:test";
import { APP, turn, World } from "../../testing/kit.ts";
import { PEER_NAME_MAX_CHARS } from "./limits.ts";
import { Live } from "./live.ts";

/** Nodes with live lists, as node/parts/realtime.ts builds them. */
function worldOf(nodes = 1): { world: World; lives: readonly Live[]; live: Live } {
  const world = new World({ nodes });
  const lives = world.nodes.map(({ hub, clock }, i) => new Live(hub, clock, `node-${i}`));
  const [live] = lives;
  if (!live) throw new Error("there is no node");
  return { world, lives, live };
}

const page = { app: APP, prefix: "", after: undefined, limit: 100 };

test("a peer has the name of its metadata, else of what it says about itself", async () => {
  const { world, lives } = worldOf(2);
  const state = (peerId: string, said: object, metadata?: object): void => {
    const client = world.join(peerId, "c", { metadata });
    client.request({ type: "state", channel: "c", state: said });
  };
  world.connect("a", { metadata: { name: "Ann Lee", username: "ann1" } });
  world.connect("b", { metadata: { username: "Ben\n  Ray" }, node: 1 });
  state("c", { name: "Cat", hand: "up" });
  state("d", { name: "Dora" }, { name: "Dan" });
  world.connect("e", { metadata: { name: 7, username: "  " } });
  world.connect("f", { metadata: { of: { name: "nested" } } });
  world.connect("g", { metadata: { name: "x".repeat(PEER_NAME_MAX_CHARS + 1) } });
  world.connect("h");
  world.settle();
  for (const live of lives) {
    const { data } = await live.peers.page(page);
    expect(data.map(({ peerId, name }) => [peerId, name])).toEqual([
      ["a", "Ann Lee"],
      ["b", "Ben Ray"],
      ["c", "Cat"],
      ["d", "Dan"],
      ["e", undefined],
      ["f", undefined],
      ["g", "x".repeat(PEER_NAME_MAX_CHARS)],
      ["h", undefined],
    ]);
    expect((await live.peers.one({ app: APP, peerId: "b" })).name).toBe("Ben Ray");
  }
});

test("a name that would be cut within a character stays well-formed", async () => {
  const { world, live } = worldOf();
  world.connect("a", { metadata: { name: `${"x".repeat(PEER_NAME_MAX_CHARS - 1)}😀` } });
  const { name = "" } = await live.peers.one({ app: APP, peerId: "a" });
  expect([name.length, name.isWellFormed()]).toEqual([PEER_NAME_MAX_CHARS, true]);
});

test("of the connections of a peer, the newest names it", async () => {
  const { world, live } = worldOf();
  for (const name of ["old", "new"]) {
    world.connect("a", { metadata: { name } });
    world.advance(1000);
  }
  expect((await live.peers.one({ app: APP, peerId: "a" })).name).toBe("new");
});

test("peers are found by a part of their name, over all nodes, and not by what else their metadata says", async () => {
  const { world, lives } = worldOf(2);
  world.connect("p1", { metadata: { name: "Ann Lee" } });
  world.connect("p2", { metadata: { username: "Leeds" }, node: 1 });
  world.connect("p3", { metadata: { name: "Ben", team: "Lee" } });
  world.connect("Lee", { node: 1 });
  const quoted = 'O"Brien';
  world.connect("p4", { metadata: { name: quoted } });
  for (const live of lives) {
    const found = async (contains: string, after?: string): Promise<string[]> =>
      (await live.peers.page({ ...page, contains, after })).data.map(({ peerId }) => peerId);
    expect(await found("Lee")).toEqual(["Lee", "p1", "p2"]);
    expect(await found("Lee", "p1")).toEqual(["p2"]);
    expect(await found("lEE")).toEqual(["Lee", "p1", "p2"]);
    expect([await found('o"b'), await found("name"), await found("L.e")]).toEqual([["p4"], [], []]);
  }
});

test("the last message of a peer is the last that any of its open connections has published or sent", async () => {
  const { world, lives, live } = worldOf(2);
  const first = world.join("ann", "c", { node: 0 });
  const second = world.join("ann", "c", { node: 1 });
  world.join("ben", "c");
  const lastOf = async (peerId: string): Promise<(number | undefined)[]> => {
    const details = await Promise.all(lives.map((one) => one.peers.one({ app: APP, peerId })));
    const lines = await Promise.all(lives.map((one) => one.peers.page({ ...page, prefix: peerId })));
    const all = [...details, ...lines.flatMap(({ data }) => data)];
    return all.map(({ lastMessageMs }) => lastMessageMs);
  };
  const never = Array.from({ length: 4 }, () => undefined);
  expect(await lastOf("ann")).toEqual(never);
  const at = (): number[] => Array.from({ length: 4 }, () => world.clock.wallMs());
  first.publish("c", 1);
  const published = at();
  world.advance(60_000);
  expect(await lastOf("ann")).toEqual(published);
  second.send("ben", 1);
  const sent = at();
  // The other node answers.
  await turn();
  world.advance(1000);
  // Neither of these is a message.
  first.unsubscribe("c");
  second.subscribe("d");
  expect([await lastOf("ann"), await lastOf("ben")]).toEqual([sent, never]);
  expect((await live.peers.one({ app: APP, peerId: "absent" })).lastMessageMs).toBeUndefined();
});

test("a peer without a connection has the time at which its last one ended, long after its events", async () => {
  const { world, lives } = worldOf(2);
  const clients = [world.connect("ann", { node: 0 }), world.connect("ann", { node: 1 })];
  const closedOf = async (peerId: string): Promise<(number | undefined)[]> =>
    (await Promise.all(lives.map((live) => live.peers.one({ app: APP, peerId })))).map(({ closedMs }) => closedMs);
  clients[0]?.vanish();
  expect(await closedOf("ann")).toEqual([undefined, undefined]);
  world.advance(1000);
  clients[1]?.vanish();
  const now = world.clock.wallMs();
  world.advance(5 * 60_000);
  expect(await closedOf("ann")).toEqual([now, now]);
  expect((await lives[0]?.peers.one({ app: APP, peerId: "ann" }))?.recent).toEqual([]);
  expect(await closedOf("absent")).toEqual([undefined, undefined]);
});
