/** Two nodes on a real nats-server, and announcements that are larger than one of its payloads. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { ClusterEngine } from "../../engine/cluster/cluster-engine.ts";
import { type NatsCluster, natsCluster } from "../../engine/testing/nats-cluster.ts";
import { type NatsServer, startNats } from "../../engine/testing/nats-server.ts";
import { APP, type Client, PUBLISHABLE_KEY, SECRET_KEY, World } from "../testing/kit.ts";

const WAIT_MS = 30_000;

const SMALL = ["of 64 KiB", "max_payload: 64KB"];

describe.each(process.env.PARLEY_TEST_FULL ? [["of 1 MiB", ""], SMALL] : [SMALL])(
  "with payloads %s",
  (_size, config) => {
    let server: NatsServer;
    beforeAll(async () => {
      server = await startNats([], undefined, config);
    });
    afterAll(() => server?.stop());

    let cluster: NatsCluster | undefined;
    const faults: unknown[] = [];
    afterEach(async () => {
      await cluster?.stop();
      cluster = undefined;
      expect(faults.splice(0)).toEqual([]);
    });

    async function worldOfTwo(): Promise<World> {
      const made = await natsCluster(server, 2, { fault: (error) => faults.push(error) });
      cluster = made;
      const engines = [...made.engines];
      const world = new World({ nodes: 2, engine: () => engines.shift() as ClusterEngine });
      await until(world, () => made.engines.every(({ others }) => others === 1));
      return world;
    }

    /** The clock of the hubs is advanced by hand, NATS runs in real time. */
    async function until(world: World, isSo: () => boolean): Promise<void> {
      const end = performance.now() + WAIT_MS;
      while (!isSo()) {
        if (performance.now() > end) throw new Error("the condition did not become true in time");
        world.advance(20);
        await cluster?.step();
      }
    }

    /** A subscriber that follows presence: `seen` holds the members shown to it. */
    async function watcher(world: World, node: number): Promise<{ client: Client; seen: Set<string> }> {
      const client = world.connect(`watcher${node}`, { node, key: PUBLISHABLE_KEY });
      const seen = new Set<string>();
      const own = client.socket.send.bind(client.socket);
      client.socket.send = (text) => {
        const { type, joined = [], left = [] } = JSON.parse(text);
        if (type !== "presence") return own(text);
        for (const { peerId } of joined) seen.add(peerId);
        for (const { peerId } of left) seen.delete(peerId);
        return text.length;
      };
      client.subscribe("c");
      await until(world, () => client.newFrames().some((one) => one.startsWith("ack")));
      return { client, seen };
    }

    /** All subscribe within one presence tick of node 0; frames written to them are dropped. */
    function crowd(world: World, peerIds: readonly string[], metadata?: unknown): Client[] {
      const clients = peerIds.map((peerId) => world.connect(peerId, { metadata }));
      for (const client of clients) client.socket.send = (text) => text.length;
      for (const client of clients) client.subscribe("c");
      return clients;
    }

    async function membersOn(world: World, node: number): Promise<number> {
      const { hub } = world.nodeAt(node);
      return (await hub.occupancy.members(APP, "c"))?.length ?? -1;
    }

    test("280 peers with 4 KB of peerMetadata join a channel in one tick", async () => {
      const world = await worldOfTwo();
      const watchers = [await watcher(world, 0), await watcher(world, 1)];
      const peerIds = Array.from({ length: 280 }, (_, at) => `p${at}`);
      const metadata = { text: "x".repeat(4085) };
      expect(JSON.stringify(metadata)).toHaveLength(4096);
      crowd(world, peerIds, metadata);
      const expected = new Set([...peerIds, "watcher0", "watcher1"]);
      for (const { seen } of watchers) {
        await until(world, () => seen.size >= expected.size - 1);
        expect(expected.isSupersetOf(seen)).toBeTrue();
      }
      expect([await membersOn(world, 0), await membersOn(world, 1)]).toEqual([expected.size, expected.size]);
      // A later subscriber on the other node gets all of them in its roster.
      const { seen } = await watcher(world, 1);
      await until(world, () => seen.size >= expected.size - 1);
      expect(watchers.map(({ client }) => client.closeCode)).toEqual([undefined, undefined]);
    });

    test("a key with 1,150 peers is revoked", async () => {
      const world = await worldOfTwo();
      const watchers = [await watcher(world, 0), await watcher(world, 1)];
      const peerIds = Array.from({ length: 1150 }, (_, at) => `${at} `.padEnd(128, "x"));
      const clients = crowd(world, peerIds);
      for (const { seen } of watchers) await until(world, () => seen.size >= peerIds.length + 1);
      world.keys.editKey(SECRET_KEY, { revoked: world.clock.wallMs() });
      expect(new Set(clients.map(({ closeCode }) => closeCode))).toEqual(new Set([4001]));
      for (const { seen } of watchers) {
        await until(world, () => seen.size <= 1);
        expect([...seen]).toHaveLength(1);
      }
      expect([await membersOn(world, 0), await membersOn(world, 1)]).toEqual([2, 2]);
      expect(watchers.map(({ client }) => client.closeCode)).toEqual([undefined, undefined]);
    });
  },
);
