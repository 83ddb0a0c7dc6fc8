/** A restart of one node and a rolling restart of three, with real processes: their members are not seen to leave or join. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join, tokenQuery } from "../conformance/raw/support/world.ts";
import { Admin, type SecretKey } from "../support/admin.ts";
import { call } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import { launchParley, type Server } from "../support/parley.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import type { Wire } from "../support/wire/wire.ts";
import { Cluster, connect } from "./support/cluster.ts";

setDefaultTimeout(120_000);

async function enter(node: Server, key: SecretKey, sub: string): Promise<{ wire: Wire; roster: string[] }> {
  const wire = await connect(node, tokenQuery(selfSigned(key.keyId, key.secret, { sub, peerMetadata: { name: sub } })));
  const { joined } = await join(wire, "c");
  return { wire, roster: joined.map(({ peerId }) => peerId).sort() };
}

const presenceOf = (wire: Wire): unknown[] =>
  wire.frames.filter((frame) => frame.type === "presence" && !("snapshot" in frame));

describe("one node", () => {
  test("that is stopped and started anew shows its members in their rosters, and sends wait for them", async () => {
    const data = tempFolder();
    const env = { PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}` };
    const start = async (): Promise<Server> => {
      const server = launchParley({ data, env });
      server.url = String((await server.logged(({ msg }) => msg === "parley is ready")).url);
      server.admin = new Admin(server.url, server.setToken);
      return server;
    };
    let server = await start();
    try {
      const key = await server.admin.createKey((await server.admin.createApp())._id);
      const before = [await enter(server, key, "ann"), await enter(server, key, "ben")];
      expect(await server.kill("SIGTERM")).toBe(0);
      for (const { wire } of before) expect((await wire.closed()).code).toBe(1001);
      server = await start();
      const ann = await enter(server, key, "ann");
      expect(ann.roster).toEqual(["ben"]);
      const sent = call(`${server.url}/v1/peers/ben/send`, { bearer: key.credential, body: { data: "hello" } });
      const ben = await enter(server, key, "ben");
      expect(ben.roster).toEqual(["ann"]);
      expect((await sent).body).toEqual({ peerId: "ben", delivered: true });
      expect(await ben.wire.frame("direct")).toMatchObject({ data: "hello" });
      await ann.wire.sync();
      expect(presenceOf(ann.wire)).toEqual([]);
      ben.wire.close(1000);
      expect((await ann.wire.frame("presence")).left.map(({ peerId }) => peerId)).toEqual(["ben"]);
    } finally {
      await server.kill("SIGTERM");
      removeFolder(data);
    }
  });
});

describe("three nodes", () => {
  test("that are stopped one after the other keep their members, also of channels that only one of them watched", async () => {
    const cluster = await Cluster.start({ nodes: 1 });
    try {
      const [third] = cluster.nodes as [Server];
      // They stop before their next tick, as nodes with large channels do.
      const [first, second] = (await cluster.add(2, { PARLEY_PRESENCE_TICK_MS: "1000" })) as [Server, Server];
      const key = await first.admin.createKey((await first.admin.createApp())._id);
      const watcher = await enter(third, key, "watcher");
      const before = [await enter(first, key, "ann"), await enter(second, key, "ben")];
      await watcher.wire.until("presence", ({ joined }) => joined.some(({ peerId }) => peerId === "ben"));
      const seen = presenceOf(watcher.wire).length;
      expect(await first.kill("SIGTERM")).toBe(0);
      expect((await before[0]?.wire.closed())?.code).toBe(1001);
      const ann = await enter(second, key, "ann");
      expect(ann.roster).toEqual(["ben", "watcher"]);
      // Both are on the second node now; it goes too, and the third knows them.
      expect(await second.kill("SIGTERM")).toBe(0);
      await ann.wire.closed();
      const sent = call(`${third.url}/v1/peers/ben/send`, { bearer: key.credential, body: { data: "hello" } });
      const back = [await enter(third, key, "ann"), await enter(third, key, "ben")];
      expect(back.map(({ roster }) => roster)).toEqual([
        ["ben", "watcher"],
        ["ann", "watcher"],
      ]);
      expect((await sent).body).toEqual({ peerId: "ben", delivered: true });
      await watcher.wire.sync();
      expect(presenceOf(watcher.wire)).toHaveLength(seen);
    } finally {
      await cluster.stop();
    }
  });
});
