/** Channel rules on three nodes: a change on one of them switches history on and off on all. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { fresh, tokenQuery } from "../conformance/raw/support/world.ts";
import type { App, SecretKey } from "../support/admin.ts";
import type { Json } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import type { Server } from "../support/parley.ts";
import { SOON_MS, until } from "../support/wait.ts";
import { Cluster, connect } from "./support/cluster.ts";

setDefaultTimeout(60_000);

let cluster: Cluster;
let app: App;
let key: SecretKey;
beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 3 });
  const [first] = cluster.pair;
  app = await first.admin.createApp();
  key = await first.admin.createKey(app._id);
});
afterAll(() => cluster.stop());

const nodeAt = (i: number): Server => {
  const node = cluster.nodes[i];
  if (!node) throw new Error(`there is no node ${i}`);
  return node;
};

const rules = (node: Server, ...channelRules: Json[]): Promise<unknown> =>
  node.admin.must("PATCH", `/apps/${app._id}`, { channelRules });

/** Where a message is stored; `undefined` without history. */
async function publish(node: Server, channel: string, data: unknown): Promise<unknown> {
  const wire = await connect(node, tokenQuery(selfSigned(key.keyId, key.secret, { sub: fresh("sender") })));
  await wire.frame("welcome");
  wire.send({ type: "publish", channel, data, requestId: "1" });
  const ack = await wire.frame("ack");
  wire.close();
  return (ack as unknown as Json).pos;
}

const stored = (node: Server, channel: string, query = "") =>
  node.admin.call<{ messages: Json[] }>("GET", `/apps/${app._id}/channels/${channel}/history${query}`);

const KEEPS = { pattern: "chat/*", history: { messages: 100, seconds: 3600 } };

test("history is switched on, off and on again on all nodes, and begins anew", async () => {
  await rules(nodeAt(0), KEEPS);
  await until(
    "every node stores",
    async () => {
      const places = await Promise.all(cluster.nodes.map((node) => publish(node, "chat/probe", 0)));
      return places.every((place) => place !== undefined);
    },
    SOON_MS,
  );
  const places: unknown[] = [];
  for (const [at, node] of cluster.nodes.entries()) places.push(await publish(node, "chat/1", at));
  await nodeAt(0).admin.must("PATCH", `/apps/${app._id}`, { consolePayloads: true });
  for (const node of cluster.nodes)
    await until("every node shows the same", async () => {
      const { messages } = (await stored(node, "chat/1")).body;
      return Bun.deepEquals(
        messages.map(({ data }) => data),
        [2, 1, 0],
      );
    });

  await rules(nodeAt(1));
  await until(
    "no node stores",
    async () => {
      const now = await Promise.all(cluster.nodes.map((node) => publish(node, "chat/probe", 0)));
      return now.every((place) => place === undefined);
    },
    SOON_MS,
  );
  for (const node of cluster.nodes) expect((await stored(node, "chat/1")).status).toBe(404);

  // Published while no node keeps it: a client that could recover from before would not notice that it has missed it.
  expect(await publish(nodeAt(2), "chat/1", "unseen")).toBeUndefined();
  await rules(nodeAt(2), KEEPS);
  await until(
    "every node stores",
    async () => {
      const now = await Promise.all(cluster.nodes.map((node) => publish(node, "chat/probe", 0)));
      return now.every((place) => place !== undefined);
    },
    SOON_MS,
  );
  expect(await publish(nodeAt(0), "chat/1", "new")).toBeDefined();
  for (const node of cluster.nodes) {
    expect((await stored(node, "chat/1")).body.messages.map(({ data }) => data)).toEqual(["new"]);
    for (const place of places) expect((await stored(node, "chat/1", `?after=${place}`)).status).toBe(400);
  }
});

test("the messages of an application that is deleted are removed", async () => {
  await publish(nodeAt(0), "chat/last", 1);
  const rows = async (): Promise<number> => {
    const sql = new Bun.SQL(cluster.env.PARLEY_DATABASE_URL ?? "");
    try {
      const [row] = await sql`SELECT count(*) AS count FROM history_streams WHERE app = ${app._id}`;
      return Number(row.count);
    } finally {
      await sql.close();
    }
  };
  expect(await rows()).toBeGreaterThan(0);
  await nodeAt(1).admin.must("DELETE", `/apps/${app._id}`);
  await until("they are gone", async () => (await rows()) === 0);
});
