/** docs/presence-and-reconnect.md: what other members see, observed by a bystander. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Admin, mint, mintToken } from "../support/admin.ts";
import { type Server, startParley } from "../support/parley.ts";
import { attempt, welcomed } from "../support/wire/connect.ts";
import { Wire } from "../support/wire/wire.ts";
import { runModule } from "./support/module.ts";
import { block } from "./support/page.ts";

let server: Server;
let admin: Admin;
beforeAll(async () => {
  server = await startParley({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0" } });
  admin = server.admin;
});
afterAll(() => server.stop());

let rooms = 0;
const fresh = (): string => `presence/${++rooms}`;

const connect = async (peerId: string, more: object = {}, credential = server.keys.secretKey): Promise<Wire> =>
  welcomed(server.url, `token=${await mintToken(server.url, credential, { peerId, ...more })}`);

async function joined(channel: string, peerId: string, more: object = {}, credential?: string): Promise<Wire> {
  const one = await connect(peerId, more, credential);
  await one.join(channel);
  return one;
}

/** Resolves when the connection has closed. */
async function gone(one: Wire): Promise<void> {
  one.close();
  await one.closed();
}

/** All presence changes that the bystander received after its roster, up to the join of one last member. */
async function changesSeen(bystander: Wire, channel: string): Promise<string[]> {
  using _last = await joined(channel, "the last");
  await bystander.until("presence", (frame) => frame.joined.some((one) => one.peerId === "the last"));
  return bystander.frames.flatMap((frame) => {
    if (frame.type !== "presence" || frame.snapshot) return [];
    return [...frame.joined.map((one) => `joined ${one.peerId}`), ...frame.left.map((one) => `left ${one.peerId}`)];
  });
}

const LAST = "joined the last";

test("several tabs are one member, which leaves with the last tab", async () => {
  const channel = fresh();
  using bystander = await joined(channel, "bystander");
  const first = await joined(channel, "alice");
  const second = await joined(channel, "alice");
  await gone(first);
  await gone(second);
  await bystander.until("presence", (frame) => frame.left.length === 1);
  expect(await changesSeen(bystander, channel)).toEqual(["joined alice", "left alice", LAST]);
});

test("a second tab with other metadata is announced with the new metadata", async () => {
  const channel = fresh();
  using bystander = await joined(channel, "bystander");
  using _first = await joined(channel, "alice", { peerMetadata: { name: "Alice" } });
  await bystander.until("presence");
  using _second = await joined(channel, "alice", { peerMetadata: { name: "Alice, on the phone" } });
  const { joined: announced } = await bystander.until("presence");
  expect(announced).toEqual([{ peerId: "alice", metadata: { name: "Alice, on the phone" } }]);
});

test("replacing a token by a second connection is not visible to other members", async () => {
  const channel = fresh();
  using bystander = await joined(channel, "bystander");
  const old = await joined(channel, "alice");
  await bystander.until("presence");
  using fresher = await joined(channel, "alice");
  await bystander.request({ type: "publish", channel, data: "twice" });
  for (const one of [old, fresher]) expect((await one.until("message")).data).toBe("twice");
  await gone(old);
  expect(await changesSeen(bystander, channel)).toEqual(["joined alice", LAST]);
  await bystander.request({ type: "publish", channel, data: "once" });
  expect((await fresher.until("message")).data).toBe("once");
});

test("renewing a token is not visible to other members", async () => {
  const channel = fresh();
  using bystander = await joined(channel, "bystander");
  using alice = await joined(channel, "alice", { expiresInSec: 60 });
  await bystander.until("presence");
  const { body } = await mint(server.url, server.keys.secretKey, { peerId: "alice" });
  const { token, expiresAt } = body;
  const answer = await alice.request({ type: "renew", token });
  expect(answer).toMatchObject({ type: "ack", expiresAt });
  expect(await changesSeen(bystander, channel)).toEqual(["joined alice", LAST]);
});

test("with a publishable key the peer id is new on each connect", async () => {
  const channel = fresh();
  const query = `key=${server.keys.publishableKey}`;
  const first = await welcomed(server.url, query);
  const second = await welcomed(server.url, query);
  expect(first.peerId).not.toBe(second.peerId);
  await first.join(channel);
  for (const one of [first, second]) one.close();
});

test("after a reconnect a client gets a roster and no old messages", async () => {
  const channel = fresh();
  using bystander = await joined(channel, "bystander");
  const alice = await joined(channel, "alice");
  await gone(alice);
  await bystander.request({ type: "publish", channel, data: "while alice was away" });
  using back = await connect("alice");
  const roster = await back.join(channel);
  expect(roster.joined.map((one) => one.peerId)).toEqual(["bystander"]);
  await bystander.request({ type: "publish", channel, data: "now" });
  expect((await back.until("message")).data).toBe("now");
  expect(back.frames.filter(({ type }) => type === "message")).toHaveLength(1);
});

test("without the action presence a subscriber is not seen; an edit of the key that removes the action is a leave", async () => {
  const channel = fresh();
  using bystander = await joined(channel, "bystander");
  using unseen = await connect("unseen", { permissions: ["subscribe"] });
  await unseen.request({ type: "subscribe", channel });
  const key = await admin.createKey("demo");
  using alice = await joined(channel, "alice", {}, key.credential);
  await bystander.until("presence");
  await admin.patchKey(key.keyId, { actions: ["publish", "subscribe"] });
  await bystander.until("presence", (frame) => frame.left.length === 1);
  expect(await changesSeen(bystander, channel)).toEqual(["joined alice", "left alice", LAST]);
  expect(alice.isOver).toBe(false);
});

test("at the cap on connections the upgrade succeeds, and 4010 comes instead of a welcome", async () => {
  const app = await admin.createApp();
  const key = await admin.createKey(app._id);
  await admin.must("PATCH", `/apps/${app._id}`, { plan: { maxConcurrentConnections: 1 } });
  using _only = await connect("only", {}, key.credential);
  const token = await mintToken(server.url, key.credential, { peerId: "second" });
  const second = await attempt(server.url, { query: `token=${token}` });
  expect(second instanceof Wire && (await second.event())).toMatchObject({ kind: "close", code: 4010 });
});

test("the SDK reports with these events that it has reconnected, and that it has given up", async () => {
  const program = `
    import { SignallingClient } from "@metered-ca/realtime";
    let tokens = 0;
    const tokenProvider = async () => {
      const body = JSON.stringify({ peerId: "sdk", expiresInSec: ++tokens === 1 ? 3 : 600 });
      const headers = { Authorization: "Bearer ${server.keys.secretKey}" };
      return (await (await fetch("${server.url}/v1/tokens", { method: "POST", headers, body })).json()).token;
    };
    const client = new SignallingClient({ url: "${server.url.replace("http", "ws")}", tokenProvider });
    ${block("docs/presence-and-reconnect.md", "js")}
    client.on("connected", ({ isReconnect }) => {
      const headers = { Authorization: "Bearer ${server.keys.secretKey}" };
      if (isReconnect) fetch("${server.url}/v1/peers/sdk", { method: "DELETE", headers });
    });
    await client.connect();
  `;
  const { out, err } = await runModule(program);
  expect({ out, err }).toEqual({ out: "back: fetch what was missed\ndisconnected for good: 4020\n", err: "" });
});
