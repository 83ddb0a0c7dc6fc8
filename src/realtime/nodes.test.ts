/** Several nodes: nothing of what holds on one changes, however long things take between them. */
import { describe, expect, test } from "bun:test";
import { delayed, shuffled, type Traffic } from "../engine/testing/traffic.ts";
import { APP, type Client, leftovers, turn, World } from "./testing/kit.ts";

const LATE_MS = 4;
const world = (nodes = 3, traffic: Traffic = delayed(LATE_MS)): World => new World({ nodes, traffic });

/** One watcher on each node, who has read everything so far. */
const watchers = (it: World, channel = "c"): Client[] =>
  it.nodes
    .map((_, node) => it.connect(`w${node}`, { node }))
    .map((client, _i, all) => {
      client.subscribe(channel);
      if (client === all.at(-1)) it.settle();
      return client;
    });

function watching(it: World, channel = "c"): { clients: Client[]; news: () => string[][] } {
  const clients = watchers(it, channel);
  for (const client of clients) client.take();
  return { clients, news: () => clients.map((client) => client.news()) };
}

const everywhere = (it: World, ...news: string[]): string[][] => it.nodes.map(() => news);

describe("a peer with connections on several nodes", () => {
  test("is one member: joined with the first anywhere, left after the last anywhere", () => {
    const it = world();
    const { news } = watching(it);
    const here = it.connect("ann", { node: 0 });
    const there = it.connect("ann", { node: 1 });
    here.subscribe("c");
    it.settle();
    expect(news()).toEqual(everywhere(it, "joined: ann"));
    there.subscribe("c");
    it.settle();
    here.vanish();
    it.settle();
    expect(news()).toEqual(everywhere(it));
    there.unsubscribe("c");
    it.settle();
    expect(news()).toEqual(everywhere(it, "left: ann"));
  });

  test("shows the metadata of the newest connection on every node, and the one before when that goes", () => {
    const it = world();
    const { news } = watching(it);
    const join = (node: number, metadata: number): Client => {
      const client = it.connect("ann", { node, metadata });
      client.subscribe("c");
      it.settle();
      return client;
    };
    const [first, second, third] = [join(0, 1), join(1, 2), join(0, 3)];
    expect(news()).toEqual(everywhere(it, "joined: ann1", "joined: ann2", "joined: ann3"));
    second.vanish();
    it.settle();
    expect(news()).toEqual(everywhere(it));
    third.vanish();
    it.settle();
    expect(news()).toEqual(everywhere(it, "joined: ann1"));
    first.vanish();
    it.settle();
    expect(news()).toEqual(everywhere(it, "left: ann1"));
  });

  test("shows an older connection's subscription nowhere while a newer one is there", () => {
    const it = world();
    const { news } = watching(it);
    const older = it.connect("ann", { node: 0, metadata: 1 });
    it.advance(1);
    it.connect("ann", { node: 1, metadata: 2 }).subscribe("c");
    it.settle();
    older.subscribe("c");
    it.settle();
    expect(news()).toEqual(everywhere(it, "joined: ann2"));
  });

  test("shows the same everywhere when two connections were made in one millisecond", () => {
    const it = world();
    const { clients } = watching(it);
    const here = it.connect("ann", { node: 1, metadata: "here" });
    const there = it.connect("ann", { node: 0, metadata: "there" });
    here.subscribe("c");
    there.subscribe("c");
    it.settle();
    for (const client of clients) client.subscribe("c");
    it.settle();
    const shown = clients.map((client) => client.take().findLast((frame) => frame.snapshot)?.joined);
    const ann = shown.map((roster) => roster?.find((entry) => entry.peerId === "ann")?.metadata);
    expect(new Set(ann).size).toBe(1);
  });

  test("that goes from one node to another before its old socket is reaped never flaps", () => {
    const it = world();
    const { news } = watching(it);
    const old = it.connect("ann", { node: 0 });
    old.subscribe("c");
    it.settle();
    news();
    const fresh = it.connect("ann", { node: 1 }).holdPongs();
    fresh.subscribe("c");
    it.advance(50);
    old.vanish();
    it.settle();
    expect(news()).toEqual(everywhere(it));
  });

  test("whose old connection ends between the ack of the new one and its roster never flaps either", () => {
    const it = world();
    const { news } = watching(it);
    const old = it.connect("ann", { node: 0 });
    old.subscribe("c");
    it.settle();
    expect(news()).toEqual(everywhere(it, "joined: ann"));
    const young = it.connect("ann", { node: 1 }).holdPongs();
    young.subscribe("c");
    expect(young.news()).toEqual(["ack r1"]);
    old.vanish();
    it.settle();
    expect(news()).toEqual(everywhere(it));
    it.advance(600);
    expect(news()).toEqual(everywhere(it));
  });

  test("that arrives on one node and speaks on another has joined before its words, on every node, and joins once", () => {
    const it = world();
    const { news } = watching(it);
    const silent = it.connect("ann", { node: 0 }).holdPongs();
    silent.subscribe("c");
    it.advance(LATE_MS + 1);
    expect(news()).toEqual(everywhere(it));
    it.connect("ann", { node: 1 }).publish("c", 1);
    it.advance(2 * LATE_MS);
    expect(news()).toEqual(everywhere(it, "joined: ann", "message ann 1"));
    silent.socket.pong();
    it.settle();
    expect(news()).toEqual(everywhere(it));
    silent.vanish();
    it.settle();
    expect(news()).toEqual(everywhere(it, "left: ann"));
  });

  test("that arrives and goes again before its roster was never there for anybody", () => {
    const it = world();
    const { news } = watching(it);
    const silent = it.connect("ann", { node: 0 }).holdPongs();
    silent.subscribe("c");
    it.advance(LATE_MS + 1);
    silent.vanish();
    it.settle();
    it.advance(600);
    expect(news()).toEqual(everywhere(it));
  });

  test("is found by whoever asks who is in a channel from its ack on, wherever that is", async () => {
    const it = world();
    const ann = it.connect("ann", { node: 1, metadata: 1 }).holdPongs();
    ann.subscribe("c");
    for (const { hub } of it.nodes)
      expect((await hub.occupancy.members(APP, "c"))?.map(({ peerId }) => peerId)).toEqual(["ann"]);
    ann.unsubscribe("c");
    for (const { hub } of it.nodes) expect(await hub.occupancy.members(APP, "c")).toEqual([]);
  });

  test("gets a direct message on all of them, and the sender one ack; nowhere is peer_not_found", async () => {
    const it = world();
    const ann = [0, 1, 1].map((node) => it.connect("ann", { node }));
    const ben = it.connect("ben", { node: 2, metadata: { b: 1 } });
    ben.send("ann", 1);
    ben.send("nobody", 2);
    expect(ben.news()).toEqual([]);
    it.settle();
    await turn();
    expect(ben.news()).toEqual(["ack r1", "error peer_not_found r2"]);
    for (const one of ann)
      expect(one.take()).toEqual([{ type: "direct", from: "ben", fromMetadata: { b: 1 }, data: 1 }]);
  });

  test("is kicked from all of them", async () => {
    const it = world();
    const ann = [0, 1, 1].map((node) => it.connect("ann", { node }));
    expect(await it.nodeAt(0).hub.kicks.kick(APP, "ann")).toBe(3);
    expect(ann.map((one) => one.closeCode)).toEqual([4020, 4020, 4020]);
  });

  test("is counted once as a peer, and each connection as one", async () => {
    const it = world();
    for (const node of [0, 1, 1]) it.connect("ann", { node, metadata: node }).subscribe("c");
    it.connect("ben", { node: 2 }).subscribe("d");
    it.settle();
    for (const { hub } of it.nodes) {
      const channels = await hub.occupancy.channels(APP);
      expect(channels?.sort((a, b) => (a.channel < b.channel ? -1 : 1))).toEqual([
        { channel: "c", peers: 1, connections: 3 },
        { channel: "d", peers: 1, connections: 1 },
      ]);
      expect((await hub.occupancy.members(APP, "c"))?.map((one) => [one.peerId, one.metadataJson])).toEqual([
        ["ann", "1"],
      ]);
      expect(hub.occupancy.connectionsOf(APP)).toBe(4);
    }
  });
});

describe("between nodes", () => {
  test("the first subscriber of a node finds those of the others in its roster", () => {
    const it = world();
    for (const node of [0, 1]) it.connect(`p${node}`, { node, metadata: node }).subscribe("c");
    it.settle();
    const ann = it.connect("ann", { node: 2 });
    ann.subscribe("c");
    it.settle();
    expect(ann.news()).toEqual(["ack r1", "roster: p00 p11"]);
  });

  test("a message reaches every node's subscribers once, in order, and its own connection never", () => {
    const it = world();
    const { clients } = watching(it);
    const [sender] = clients as [Client];
    const [again] = watchers(it) as [Client];
    for (const client of [...clients, again]) client.take();
    for (let i = 0; i < 20; i++) {
      sender.publish("c", i);
      if (i % 3 === 0) it.advance(1);
    }
    it.settle();
    const heard = (client: Client): unknown[] =>
      client
        .take()
        .filter((frame) => frame.type === "message")
        .map((frame) => frame.data);
    const all = Array.from({ length: 20 }, (_, i) => i);
    expect([...clients, again].map(heard)).toEqual([[], all, all, all]);
  });

  for (const [name, traffic] of [
    ["late", () => delayed(LATE_MS)],
    ["at random", () => shuffled(5)],
  ] as const) {
    test(`a member is known before its message is seen, when things come ${name}`, () => {
      const it = world(3, traffic());
      const { news } = watching(it);
      const ann = it.connect("ann", { node: 0 }).holdPongs();
      ann.subscribe("c");
      ann.publish("c", 1);
      ann.unsubscribe("c");
      ann.publish("c", 2);
      it.settle();
      expect(news()).toEqual(everywhere(it, "joined: ann", "message ann 1", "left: ann", "message ann 2"));
    });
  }

  test("and before its direct message, though its node's tick has not come", () => {
    const it = world(2);
    const { clients } = watching(it);
    const ann = it.connect("ann", { node: 0 }).holdPongs();
    ann.subscribe("c");
    ann.send("w1", 1);
    it.advance(LATE_MS + 1);
    expect(clients[1]?.news()).toEqual(["joined: ann", "direct ann 1"]);
  });

  test("a leave elsewhere is told before the peer's words, though its connection here has ended", () => {
    const it = world(2);
    const here = it.connect("ann", { node: 0 });
    const there = it.connect("ann", { node: 1 });
    there.subscribe("c");
    const { clients } = watching(it);
    here.vanish();
    it.settle();
    there.unsubscribe("c");
    there.publish("c", 1);
    it.settle();
    expect(clients[0]?.news()).toEqual(["left: ann", "message ann 1"]);
  });

  test("one who leaves and comes back within a tick and speaks, alone on its node, stays known elsewhere", () => {
    const it = world(2);
    const ann = it.connect("ann", { node: 0 });
    ann.subscribe("c");
    const far = it.connect("far", { node: 1 });
    far.subscribe("c");
    it.settle();
    far.take();
    ann.unsubscribe("c");
    ann.subscribe("c");
    ann.publish("c", 1);
    it.settle();
    expect(far.news()).toEqual(["message ann 1"]);
    far.subscribe("c");
    it.settle();
    expect(far.news()).toEqual(["ack r2", "roster: ann"]);
  });

  test("a node counts its own connections only, the others' come from them", () => {
    const it = world(2);
    for (const node of [0, 1]) it.connect(`p${node}`, { node }).subscribe("c");
    it.settle();
    expect(it.nodes.map(({ hub }) => hub.occupancy.localChannels(APP))).toEqual([
      [{ channel: "c", peerIds: ["p0"], connections: 1 }],
      [{ channel: "c", peerIds: ["p1"], connections: 1 }],
    ]);
  });

  test("a node that dies takes its members with it: one frame a channel, and others' connections stay", () => {
    const it = world();
    const { clients } = watching(it);
    for (const client of clients) client.subscribe("d");
    for (const name of ["p", "q", "r"]) {
      const client = it.connect(name, { node: 2 });
      for (const channel of ["c", "d"]) client.subscribe(channel);
    }
    it.connect("p", { node: 1 }).subscribe("d");
    it.settle();
    for (const client of clients) client.take();
    it.kill(2);
    it.settle();
    for (const client of clients.slice(0, 2))
      expect(
        client.take().map((frame) => [frame.channel, frame.joined?.length, frame.left?.map((one) => one.peerId)]),
      ).toEqual([
        ["c", 0, ["w2", "p", "q", "r"]],
        ["d", 0, ["w2", "q", "r"]],
      ]);
  });

  test("a node that dies while somebody speaks on it leaves no ghost", () => {
    for (let seed = 0; seed < 20; seed++) {
      const it = world(2, shuffled(seed));
      const [ann] = watchers(it) as [Client];
      for (let i = 0; i < 5; i++) {
        const eve = it.connect(`eve${i}`, { node: 1, pongAfterMs: 0 });
        eve.subscribe("c");
        it.advance(11);
        eve.publish("c", i);
      }
      it.kill(1);
      it.settle();
      ann.take();
      ann.subscribe("c");
      it.settle();
      expect(ann.news()).toEqual(["ack r2", "roster:"]);
    }
  });

  test("nothing is left behind when everybody has gone from every node", () => {
    const it = world();
    const people = Array.from({ length: 12 }, (_, i) => it.connect(`p${i % 5}`, { node: i % 3, metadata: i }));
    for (const [i, one] of people.entries()) for (const channel of ["c", "d"].slice(i % 2)) one.subscribe(channel);
    it.advance(7);
    for (const one of people.slice(6)) one.vanish();
    it.settle();
    for (const one of people) one.vanish();
    it.settle();
    expect(leftovers(it)).toEqual({});
  });
});
