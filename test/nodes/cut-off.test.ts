/** A node is cut off from NATS while another one goes on accepting messages. Outages of over a minute: PARLEY_TEST_FULL=1. */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type NatsServer, startNats } from "../../src/engine/testing/nats-server.ts";
import { acked } from "../conformance/raw/support/history.ts";
import { fresh, tokenQuery } from "../conformance/raw/support/world.ts";
import type { SecretKey } from "../support/admin.ts";
import { call } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import { NetworkProxy } from "../support/network-proxy.ts";
import type { Server } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { until } from "../support/wait.ts";
import type { Wire } from "../support/wire/wire.ts";
import { Cluster, connect } from "./support/cluster.ts";

setDefaultTimeout(180_000);

/** Above the time after which a node reduces the streams of idle channels. */
const LONG_MS = 75_000;
const PING_EVERY_MS = 10_000;
/** The message before is at least that much older than the subscription: clocks of nodes differ by less. */
const OLDER_MS = 1000;

let nats: NatsServer;
let proxy: NetworkProxy;
let cluster: Cluster;
let one: Server;
let cutOff: Server;
let key: SecretKey;

beforeAll(async () => {
  nats = await startNats();
  proxy = await NetworkProxy.to(nats.port);
  cluster = await Cluster.start({ joined: false, nodes: 1, env: { PARLEY_NATS_URL: nats.url } });
  await cluster.add(1, { PARLEY_NATS_URL: nats.url.replace(`:${nats.port}`, `:${proxy.port}`) });
  [one, cutOff] = cluster.pair;
  const app = await one.admin.createApp();
  key = await one.admin.createKey(app._id);
  await until("the nodes know each other", async () => (await knownNodes()) === 2);
});
afterEach(() => proxy.mend());
afterAll(async () => {
  await cluster.stop();
  await nats.stop();
  await proxy.close();
});

async function knownNodes(): Promise<number> {
  const { data } = await cutOff.admin.must<{ data: unknown[] }>("GET", "/nodes");
  return data.length;
}

const isDegraded = async (): Promise<boolean> =>
  (await call<{ degraded: readonly string[] }>(`${cutOff.url}/readyz`)).body.degraded.includes("nats");

async function cut(): Promise<void> {
  proxy.cut();
  await until("the node has noticed that NATS is unreachable", isDegraded);
}

async function mend(): Promise<void> {
  proxy.mend();
  await until("NATS is reachable again", async () => !(await isDegraded()));
}

/** Connects a peer of that name, and subscribes it. */
async function subscriber(node: Server, name: string, channel: string): Promise<Wire> {
  const wire = await connect(node, tokenQuery(selfSigned(key.keyId, key.secret, { sub: name })));
  await acked(wire, { type: "subscribe", channel });
  return wire;
}

const publish = (wire: Wire, channel: string, data: string) => acked(wire, { type: "publish", channel, data });
const receives = (wire: Wire, data: string) => wire.until("message", (message) => message.data === data);

test("a subscriber that came while its node was cut off is closed if a message was accepted meanwhile", async () => {
  const [used, quiet] = [fresh("used"), fresh("quiet")];
  const ann = await subscriber(one, "ann", used);
  await acked(ann, { type: "subscribe", channel: quiet });
  for (const channel of [used, quiet]) await publish(ann, channel, "before");
  await cut();
  await Bun.sleep(OLDER_MS);
  const ben = await subscriber(cutOff, "ben", used);
  const cal = await subscriber(cutOff, "cal", quiet);
  await publish(ann, used, "missed");
  await mend();
  expect(await ben.closed()).toMatchObject({ code: 1001, reason: "resynchronise" });
  // Nothing was published on the other channel: its subscriber stays.
  await publish(ann, quiet, "after");
  expect((await receives(cal, "after")).data).toBe("after");
  for (const wire of [ann, cal]) wire.drop();
});

test.skipIf(!IS_FULL)("cut off for over a minute: missed messages close, presence is corrected", async () => {
  const [used, quiet, room] = [fresh("used"), fresh("quiet"), fresh("room")];
  const ann = await subscriber(one, "ann", used);
  const ben = await subscriber(cutOff, "ben", used);
  const cal = await subscriber(cutOff, "cal", quiet);
  await acked(ann, { type: "subscribe", channel: quiet });
  const eve = await subscriber(cutOff, "eve", room);
  const dan = await subscriber(one, "dan", room);
  // Who joined before dan is announced by then, too: an announcement during the outage would look like a missed message after a minute.
  await eve.until("presence", ({ joined }) => joined?.some(({ peerId }) => peerId === "dan") ?? false);
  for (const channel of [used, quiet]) await publish(ann, channel, "before");
  for (const wire of [ben, cal]) await receives(wire, "before");
  const pings = setInterval(() => {
    for (const wire of [ann, ben, cal, dan, eve]) wire.send({ type: "ping" });
  }, PING_EVERY_MS);
  await cut();
  await publish(ann, used, "missed");
  await acked(dan, { type: "unsubscribe", channel: room });
  const fay = await subscriber(one, "fay", room);
  await Bun.sleep(LONG_MS);
  clearInterval(pings);
  await mend();
  expect(await ben.closed()).toMatchObject({ code: 1001, reason: "resynchronise" });
  expect(ben.frames.flatMap((frame) => (frame.type === "message" ? [frame.data] : []))).toEqual(["before"]);
  // Nothing was published on the other channels: their subscribers stay.
  await eve.until("presence", ({ joined }) => joined?.some(({ peerId }) => peerId === "fay") ?? false);
  const gus = await subscriber(cutOff, "gus", room);
  const { joined } = await gus.until("presence", ({ snapshot }) => snapshot === true);
  expect(joined?.map(({ peerId }) => peerId).sort()).toEqual(["eve", "fay"]);
  await publish(ann, quiet, "after");
  await publish(fay, room, "after");
  for (const wire of [cal, eve, gus]) await receives(wire, "after");
  for (const wire of [ann, cal, dan, eve, fay, gus]) wire.drop();
});
