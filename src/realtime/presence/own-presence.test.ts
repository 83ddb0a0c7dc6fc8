/** A peer is never shown itself, whatever its other connections do. */
import { describe, expect, test } from "bun:test";
import { graceWorld } from "../testing/grace.ts";
import { type Client, SECRET_KEY, World } from "../testing/kit.ts";
import { LATE_MS, worldOf } from "../testing/watchers.ts";

/** Entries about a peer in all presence frames that a client has got. */
const about = (client: Client, peerId: string): unknown[] =>
  client.received.flatMap(({ joined = [], left = [] }) => [...joined, ...left]).filter((one) => one.peerId === peerId);

/** Presence frames since the last look, in short. */
const presence = (client: Client): string[] => client.newFrames().filter((one) => /^(joined|left|roster):/.test(one));

describe("a second connection of a peer with other metadata", () => {
  for (const [where, node] of [
    ["on the same node", 0],
    ["on another node", 1],
  ] as const)
    test(`${where}: the others are shown it, the peer's own connections are not`, () => {
      const world = worldOf(2);
      const ben = world.join("ben", "c");
      const first = world.join("ann", "c", { metadata: { tab: 1 } });
      world.settle();
      for (const client of [ben, first]) client.take();
      const second = world.join("ann", "c", { metadata: { tab: 2 }, node });
      world.settle();
      expect(presence(ben)).toEqual(['joined: ann{"tab":2}']);
      expect(presence(first)).toEqual([]);
      second.vanish();
      world.settle();
      expect(presence(ben)).toEqual(['joined: ann{"tab":1}']);
      expect([first, second].flatMap((client) => about(client, "ann"))).toEqual([]);
    });

  test("in the same tick as changes of others: they are shown those, in one frame", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const tabs = [1, 2].map((tab) => world.join(`ann${tab}`, "c", { metadata: { n: 1 } }));
    for (const client of [ben, ...tabs]) client.take();
    for (const [i, tab] of tabs.entries()) {
      const peerId = `ann${i + 1}`;
      tab.request({ type: "renew", token: world.keys.token(peerId, { key: SECRET_KEY, metadata: { n: 2 } }) });
    }
    world.connect("cat").subscribe("c");
    world.advance(600);
    const shown = (client: Client): string[] => presence(client);
    expect(shown(ben).join(" ")).toContain('ann1{"n":2} ann2{"n":2}');
    expect(shown(tabs[0] as Client).join(" ")).toContain('ann2{"n":2}');
    expect(shown(tabs[1] as Client).join(" ")).toContain('ann1{"n":2}');
    expect(tabs.flatMap((tab, i) => about(tab, `ann${i + 1}`))).toEqual([]);
  });

  test("among changes that need several frames", () => {
    // A frame takes at most 15/16 of this.
    const world = new World({ maxPendingBytes: 40_000 });
    const filling = "x".repeat(3500);
    const names = Array.from({ length: 20 }, (_, i) => `p${i}`);
    const clients = names.map((name) => world.join(name, "c", { metadata: { n: 1 } }));
    const cat = world.join("cat", "c");
    for (const client of [...clients, cat]) client.take();
    for (const [i, client] of clients.entries())
      client.request({ type: "renew", token: world.keys.token(`p${i}`, { metadata: { n: 2, filling } }) });
    world.advance(600);
    const heard = (client: Client): string[] =>
      client
        .take()
        .flatMap(({ joined = [] }) => joined.map(({ peerId }) => peerId))
        .sort();
    expect(heard(cat)).toEqual(names.toSorted());
    for (const [i, client] of clients.entries())
      expect(heard(client)).toEqual(names.filter((name) => name !== `p${i}`).sort());
  });

  test("that publishes at once: its message comes without its join to the peer's other connection", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const first = world.join("ann", "c", { metadata: { tab: 1 } });
    for (const client of [ben, first]) client.take();
    const second = world.connect("ann", { metadata: { tab: 2 } }).withholdPongs();
    second.subscribe("c");
    second.publish("c", 1);
    world.advance(600);
    expect(ben.newFrames()).toEqual(['joined: ann{"tab":2}', "message ann 1"]);
    expect(first.newFrames()).toEqual(["message ann 1"]);
  });

  test("that sends a direct message to its own peer", () => {
    const world = new World();
    const first = world.join("ann", "c", { metadata: { tab: 1 } });
    first.take();
    const second = world.connect("ann", { metadata: { tab: 2 } }).withholdPongs();
    second.subscribe("c");
    second.send("ann", 1);
    world.advance(600);
    expect(first.newFrames()).toEqual(["direct ann 1"]);
  });

  test("to a connection that was shown a peer ahead of the channel", () => {
    const world = new World();
    const first = world.join("ann", "c", { metadata: { tab: 1 } });
    world.join("ben", "c");
    first.take();
    // A direct message of a newcomer takes its receiver off the topic.
    const eve = world.connect("eve").withholdPongs();
    eve.subscribe("c");
    eve.send("ann", 1);
    world.join("ann", "c", { metadata: { tab: 2 } });
    world.advance(600);
    expect(first.newFrames()).toEqual(["joined: eve", "direct eve 1"]);
  });
});

test("changes of its own metadata by a renewal are not shown to a peer that is alone, and count for no damping", () => {
  const world = new World();
  const ann = world.join("ann", "c", { metadata: { n: 0 } });
  for (let n = 1; n <= 20; n++) {
    ann.request({ type: "renew", token: world.keys.token("ann", { metadata: { n } }) });
    world.advance(50);
  }
  expect(presence(ann)).toEqual([]);
  const ben = world.connect("ben");
  ben.subscribe("c");
  world.advance(600);
  expect(presence(ben)).toEqual(['roster: ann{"n":20}']);
});

test("rosters after a repeated subscribe, and after a return to a grace period, are without oneself", () => {
  const world = graceWorld(2);
  const [one, other] = [0, 1].map((node) => world.join("ann", "calls/1", { node, metadata: { node } })) as [
    Client,
    Client,
  ];
  world.settle();
  one.subscribe("calls/1");
  world.settle();
  other.vanish();
  world.advance(LATE_MS * 10);
  const back = world.join("ann", "calls/1", { node: 1, metadata: { node: 2 } });
  world.settle();
  expect([one, other, back].flatMap((client) => about(client, "ann"))).toEqual([]);
});
