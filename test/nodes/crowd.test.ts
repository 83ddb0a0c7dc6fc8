/** Announcements larger than one NATS payload, on two real nodes: both keep running, and both have the right members. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { tokenQuery } from "../conformance/raw/support/world.ts";
import type { SecretKey } from "../support/admin.ts";
import { call } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import type { Server } from "../support/parley.ts";
import { until } from "../support/wait.ts";
import { connect } from "../support/wire/connect.ts";
import type { Wire } from "../support/wire/wire.ts";
import { Cluster } from "./support/cluster.ts";

setDefaultTimeout(180_000);

/** 280 rosters of more than 1 MB each take half a minute; src/realtime/presence/crowd.test.ts is the quick variant. */
const IS_FULL = process.env.PARLEY_TEST_FULL === "1";

/** Subscribes; server frames are read and discarded. */
async function open(node: Server, query: string): Promise<Wire> {
  const wire = await connect(node.url, { query });
  wire.stopLooking();
  wire.send({ type: "subscribe", channel: "c" });
  return wire;
}

async function crowd(
  node: Server,
  key: SecretKey,
  peerIds: readonly string[],
  peerMetadata?: unknown,
): Promise<Wire[]> {
  const tokens = peerIds.map((sub) => selfSigned(key.keyId, key.secret, { sub, peerMetadata }));
  return Promise.all(tokens.map((token) => open(node, tokenQuery(token))));
}

async function peersOn(node: Server, key: SecretKey): Promise<number> {
  const { body } = await call<{ peers?: unknown[] }>(`${node.url}/v1/channels/c/peers`, { bearer: key.credential });
  return body.peers?.length ?? -1;
}

test.skipIf(!IS_FULL).each([
  ["1 MiB", ""],
  ["64 KiB", "max_payload: 64KB"],
])("a channel with many large members, with payloads of %s", async (_size, nats) => {
  const cluster = await Cluster.start({ nats, env: { PARLEY_MAX_PENDING_BYTES: String(64 * 1024 * 1024) } });
  try {
    const [one, other] = cluster.pair;
    const app = await one.admin.createApp();
    const [key, reader] = [await one.admin.createKey(app._id), await one.admin.createKey(app._id)];
    const listener = await open(other, tokenQuery(selfSigned(reader.keyId, reader.secret, { sub: "listener" })));
    await until("the listener is there", async () => (await peersOn(one, reader)) === 1);

    const people = Array.from({ length: 280 }, (_, at) => `p${at}`);
    const first = await crowd(one, key, people, { text: "x".repeat(4085) });
    for (const node of [one, other])
      await until("all 280 are there", async () => (await peersOn(node, reader)) === 281, 60_000);
    for (const wire of first) wire.close();
    await until("they have left", async () => (await peersOn(other, reader)) === 1, 60_000);

    const names = Array.from({ length: 1150 }, (_, at) => `${at} `.padEnd(128, "x"));
    await crowd(one, key, names);
    for (const node of [one, other])
      await until("all 1,150 are there", async () => (await peersOn(node, reader)) === 1151, 60_000);
    await one.admin.revoke(key.keyId);
    for (const node of [one, other])
      await until("all have left", async () => (await peersOn(node, reader)) === 1, 60_000);
    expect(listener.isOver).toBe(false);
    for (const node of [one, other]) expect((await call(`${node.url}/healthz`)).status).toBe(200);
    listener.close();
  } finally {
    await cluster.stop();
  }
});
