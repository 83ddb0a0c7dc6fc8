/** Kicks, and what REST shows of channels and members. */
import { describe, expect, test } from "bun:test";
import type { ChannelsPage } from "../../engine/engine.ts";
import { CHANNELS_PER_CONNECTION_MAX } from "../../protocol/limits.ts";
import { ALL_CHANNELS, APP, OTHER_KEY, scopeOf, UNCHARGED, World } from "../testing/kit.ts";
import { worldOf } from "../testing/watchers.ts";

describe("a kick", () => {
  test("closes every connection of the peer with 4020 and counts them; the others see it leave", async () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = [world.join("ben", "c"), world.connect("ben")];
    const stranger = world.connect("ben", { key: OTHER_KEY });
    ann.take();
    expect(await world.node.hub.kicks.kick(APP, "ben")).toBe(2);
    expect(ben.map((one) => one.closeCode)).toEqual([4020, 4020]);
    expect(await world.node.hub.kicks.kick(APP, "ben")).toBe(0);
    world.advance(10);
    expect([ann.newFrames(), stranger.closeCode]).toEqual([["left: ben"], undefined]);
  });
});

describe("pages of channels", () => {
  /** Three nodes; peers with connections on one or several of them, in channels that are on some or all of them. */
  function busyWorld(): World {
    const world = worldOf(3);
    for (let i = 0; i < 24; i++) {
      const client = world.connect(`p${i % 7}`, { node: i % 3 });
      // Not in the order of their names, of different lengths, some only on one node.
      for (const name of [`a/${(i * 7) % 24}`, `a/b/${i % 4}`, `c${i % 2}`]) client.subscribe(name);
    }
    world.connect("stranger", { key: OTHER_KEY }).subscribe("a/0");
    world.settle();
    return world;
  }

  /** All channels of all nodes, from what each of them has. */
  function everyChannel(world: World): Map<string, { peers: Set<string>; connections: number }> {
    const all = new Map<string, { peers: Set<string>; connections: number }>();
    for (const one of world.nodes.flatMap(({ hub }) => hub.occupancy.localChannels(APP).counts)) {
      const known = all.get(one.channel) ?? { peers: new Set(), connections: 0 };
      const connections = known.connections + one.connections;
      all.set(one.channel, { peers: new Set([...known.peers, ...one.peerIds]), connections });
    }
    return all;
  }

  test.each(["**", "a/*", "a/b/** c1", "nothing"])(
    "show each channel once, by name, with the counts of all nodes, within the scope %s",
    async (patterns) => {
      const world = busyWorld();
      const scope = scopeOf(...patterns.split(" "));
      const every = everyChannel(world);
      for (const prefix of ["", "a/1", "z"])
        for (const limit of [1, 5, 100])
          for (const { hub } of world.nodes) {
            const seen: unknown[] = [];
            let after: string | undefined;
            do {
              const page = await hub.occupancy.channels(APP, { prefix, after, limit, scope }, UNCHARGED);
              expect(page?.data.length).toBeLessThanOrEqual(limit);
              seen.push(...(page?.data ?? []));
              after = page?.next ?? undefined;
            } while (after !== undefined);
            const expected = [...every]
              .filter(([name]) => name.startsWith(prefix) && scope.matches(name))
              .sort(([one], [other]) => (one < other ? -1 : 1))
              .map(([channel, { peers, connections }]) => ({ channel, peers: peers.size, connections }));
            expect(seen).toEqual(expected);
          }
    },
  );

  test("each node contributes a page of its own channels, and reads the members of no others", async () => {
    const asked: (number | undefined)[] = [];
    const world = new World({
      nodes: 2,
      engine: (engine) => {
        const { channels } = engine;
        engine.channels = async (spaceId, page) => {
          const found = await channels.call(engine, spaceId, page);
          asked.push(found?.counts.length);
          return found;
        };
        return engine;
      },
    });
    for (const node of [0, 1])
      for (let i = 0; i < 50; i++) world.connect(`p${i}`, { node }).subscribe(`c${String(i).padStart(2, "0")}`);
    world.settle();
    const read: string[] = [];
    for (const { hub } of world.nodes)
      for (const channel of hub.spaces.get(APP)?.channels.values() ?? []) {
        const { members } = channel;
        const { values } = members;
        members.values = () => {
          read.push(channel.name);
          return values.call(members);
        };
      }
    const page = await world.node.hub.occupancy.channels(APP, { ...ALL_CHANNELS, after: "c10", limit: 2 }, UNCHARGED);
    expect(page).toEqual({
      data: ["c11", "c12"].map((channel) => ({ channel, peers: 1, connections: 2 })),
      next: "c12",
    });
    expect(asked).toEqual([3]);
    expect(new Set(read)).toEqual(new Set(["c11", "c12", "c13"]));
  });

  describe("are charged for the channels that are read for them", () => {
    /** What a page costs, in requests beyond the one for it. */
    async function chargedFor(world: World, page: Partial<ChannelsPage>): Promise<number> {
      let charged = 0;
      await world.node.hub.occupancy.channels(APP, { ...ALL_CHANNELS, ...page }, (requests) => {
        charged += requests;
      });
      return charged;
    }

    function withChannels(count: number): World {
      const world = new World();
      for (let nr = 0, client = world.connect("p0"); nr < count; nr++) {
        if (nr % CHANNELS_PER_CONNECTION_MAX === 0) client = world.connect(`p${nr}`);
        client.subscribe(`c/${String(count - nr).padStart(5, "0")}`);
      }
      world.settle();
      return world;
    }

    test("whatever the limit, the prefix and the position", async () => {
      const world = withChannels(4000);
      expect(await chargedFor(world, { limit: 1 })).toBeWithin(4, 10);
      expect(await chargedFor(world, { limit: 1, prefix: "none" })).toBe(4);
      expect(await chargedFor(world, { after: "c/09999" })).toBe(4);
      expect(await chargedFor(world, { limit: 1000 })).toBeWithin(5, 12);
      expect(await chargedFor(withChannels(100), { limit: 1000 })).toBe(0);
    });

    test("on every node", async () => {
      const world = worldOf(2);
      for (let nr = 0; nr < 2000; nr += CHANNELS_PER_CONNECTION_MAX) {
        const far = world.connect(`p${nr}`, { node: 1 });
        for (let at = nr; at < nr + CHANNELS_PER_CONNECTION_MAX; at++) far.subscribe(`c/${at}`);
      }
      world.settle();
      expect(await chargedFor(world, { limit: 1, prefix: "none" })).toBe(2);
    });

    test("more for patterns that take long to compare with each name", async () => {
      const world = withChannels(1000);
      const scope = scopeOf(...Array.from({ length: 100 }, (_, nr) => `**${nr}**${"x".repeat(200)}**`));
      expect(await chargedFor(world, { scope })).toBeGreaterThan(100);
    });
  });

  test("a node of an earlier version answers with all of its channels: the page is the same", async () => {
    const world = new World({
      nodes: 2,
      engine: (engine) => {
        const { channels } = engine;
        engine.channels = (spaceId) => channels.call(engine, spaceId);
        return engine;
      },
    });
    for (const name of ["d", "b", "a", "x/1"]) world.connect("far", { node: 1 }).subscribe(name);
    for (const name of ["c", "b"]) world.connect("near", { node: 0 }).subscribe(name);
    world.settle();
    const page = await world.node.hub.occupancy.channels(
      APP,
      { prefix: "", after: "a", limit: 2, scope: scopeOf("*") },
      UNCHARGED,
    );
    expect(page).toEqual({
      data: [
        { channel: "b", peers: 2, connections: 2 },
        { channel: "c", peers: 1, connections: 1 },
      ],
      next: "c",
    });
  });
});

describe("occupancy, for REST", () => {
  test("has members with their newest metadata, also those that wait for their roster, but none without presence", async () => {
    const world = new World();
    world.join("ann", "c", { metadata: 1 });
    world.join("ann", "c", { metadata: 2 });
    world.connect("ben").withholdPongs().subscribe("c");
    world.join("shy", "c", { actions: ["subscribe"] });
    const members = await world.node.hub.occupancy.members(APP, "c");
    expect(members?.map((one) => [one.peerId, one.metadataJson])).toEqual([
      ["ann", "2"],
      ["ben", undefined],
    ]);
    expect(await world.node.hub.occupancy.members(APP, "none")).toEqual([]);
  });

  test("has channels in use, with peers and connections", async () => {
    const world = new World();
    const ann = world.join("ann", "c");
    world.join("ann", "c");
    world.join("ben", "d");
    world.join("shy", "d", { actions: ["subscribe"] });
    world.join("ann", "secret", { key: OTHER_KEY });
    const { occupancy } = world.node.hub;
    const names = async (): Promise<string[] | undefined> =>
      (await occupancy.channels(APP, ALL_CHANNELS, UNCHARGED))?.data.map((one) => one.channel);
    expect(await occupancy.channels(APP, ALL_CHANNELS, UNCHARGED)).toEqual({
      data: [
        { channel: "c", peers: 1, connections: 2 },
        { channel: "d", peers: 1, connections: 2 },
      ],
      next: null,
    });
    ann.unsubscribe("c");
    ann.subscribe("e");
    expect(await names()).toEqual(["c", "d", "e"]);
    world.advance(600);
    ann.unsubscribe("e");
    expect(await names()).toEqual(["c", "d"]);
  });
});
