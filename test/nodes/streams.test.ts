/** Channels with history over two nodes with PostgreSQL and NATS: one order, recovery on another node, deletion, a dead node. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { acked, dataOf, history, kept, offsetOf } from "../conformance/raw/support/history.ts";
import { fresh, tokenQuery } from "../conformance/raw/support/world.ts";
import type { SecretKey } from "../support/admin.ts";
import { call } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import type { Server } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { nextTurn } from "../support/wait.ts";
import type { AnyFrame, Frame } from "../support/wire/shapes.ts";
import type { Wire } from "../support/wire/wire.ts";
import { Cluster, connect } from "./support/cluster.ts";

setDefaultTimeout(60_000);

let cluster: Cluster;
let one: Server;
let other: Server;
let key: SecretKey;

beforeAll(async () => {
  cluster = await Cluster.start({ env: { PARLEY_FRAMES_PER_SECOND: "0" } });
  [one, other] = cluster.pair;
  const app = await one.admin.createApp();
  key = await one.admin.createKey(app._id);
  const channelRules = [{ pattern: "kept/**", history: { messages: 5000, seconds: 600 } }];
  await one.admin.must("PATCH", `/apps/${app._id}`, { channelRules });
  await other.admin.must("PATCH", `/apps/${app._id}`, { channelRules });
});
afterAll(() => cluster.stop());

/** A peer without presence. */
async function guest(node: Server): Promise<Wire> {
  const claims = { sub: fresh("peer"), permissions: ["publish", "subscribe", "send"] };
  const wire = await connect(node, tokenQuery(selfSigned(key.keyId, key.secret, claims)));
  await wire.frame("welcome");
  return wire;
}

async function subscriber(node: Server, channel: string, fields: object = {}): Promise<Wire> {
  const wire = await guest(node);
  await acked(wire, { type: "subscribe", channel, ...fields });
  return wire;
}

/** Reads until this many frames with a position have come. */
async function positions(wire: Wire, count: number): Promise<AnyFrame[]> {
  const frames: AnyFrame[] = [];
  while (frames.length < count) {
    const frame = await wire.frame();
    if ("pos" in frame && frame.pos !== undefined) frames.push(frame);
  }
  return frames;
}

const offsets = (frames: readonly AnyFrame[]): number[] =>
  frames.map((frame) => offsetOf("pos" in frame ? frame.pos : undefined));

/** From each node; fewer in `npm test`, so that a busy machine stores all of them in time. */
const EACH = IS_FULL ? 500 : 200;

test("messages of both nodes come in one order on both, with acks behind all that is earlier", async () => {
  const channel = kept();
  const publishers = [await subscriber(one, channel), await subscriber(other, channel)];
  const readers = [await subscriber(one, channel), await subscriber(other, channel)];
  for (let n = 0; n < EACH; n++) {
    for (const wire of publishers) wire.send({ type: "publish", channel, data: n, requestId: `p${n}` });
    if (n % 25 === 0) await nextTurn();
  }
  const all = Array.from({ length: 2 * EACH }, (_, i) => i + 1);
  for (const wire of [...publishers, ...readers]) expect(offsets(await positions(wire, all.length))).toEqual(all);
});

test("a client recovers on the other node, from the position of its last message", async () => {
  const channel = kept();
  const publisher = await subscriber(one, channel);
  const reader = await subscriber(one, channel);
  for (let n = 1; n <= 5; n++) await acked(publisher, { type: "publish", channel, data: n });
  const last = (await positions(reader, 3)).at(-1) as Frame<"message">;
  reader.drop();
  const back = await guest(other);
  expect(await acked(back, { type: "subscribe", channel, recover: last.pos })).toMatchObject({
    recovered: true,
    replay: 2,
  });
  await acked(publisher, { type: "publish", channel, data: 6 });
  expect(dataOf(await positions(back, 3))).toEqual([4, 5, 6]);
});

test("a retry of a message on the other node is a duplicate", async () => {
  const channel = kept();
  const reader = await subscriber(other, channel);
  const publish = (node: Server) =>
    call(`${node.url}/v1/channels/${encodeURIComponent(channel)}/publish`, {
      method: "POST",
      bearer: key.credential,
      body: { data: 1, id: "once" },
    });
  const [first, second] = [await publish(one), await publish(other)];
  expect(second.body).toEqual({ ...first.body, duplicate: true });
  expect(dataOf(await positions(reader, 1))).toEqual([1]);
});

test("a deletion on one node closes the subscribers of both, and nothing is recovered across it", async () => {
  const channel = kept();
  const readers = [await subscriber(one, channel), await subscriber(other, channel)];
  const { pos } = await acked(await guest(one), { type: "publish", channel, data: 1 });
  const path = `/v1/channels/${encodeURIComponent(channel)}/history`;
  const deleted = await call(one.url + path, { method: "DELETE", bearer: key.credential });
  expect(deleted.body).toEqual({ channel, deleted: true } as never);
  for (const wire of readers) expect((await wire.closed()).code).toBe(1001);
  const back = await guest(other);
  expect(await acked(back, { type: "subscribe", channel, recover: pos })).toMatchObject({ recovered: false });
  expect(await history(back, { channel })).toMatchObject({ messages: [], more: false });
});

test("what a node has stored before it is killed reaches the subscribers of the others, each once", async () => {
  const [third] = await cluster.add(1);
  if (!third) throw new Error("there is no third node");
  const channel = kept();
  const reader = await subscriber(one, channel);
  const publisher = await guest(third);
  for (let n = 1; n <= 300; n++) publisher.send({ type: "publish", channel, data: n, requestId: `k${n}` });
  await publisher.until("ack", ({ requestId }) => requestId === "k100");
  third.signal("SIGKILL");
  await publisher.gone();
  const acks = publisher.frames.filter(({ type }) => type === "ack").length;
  const page = await call<{ pos: string }>(`${one.url}/v1/channels/${encodeURIComponent(channel)}/history?limit=1`, {
    bearer: key.credential,
  });
  const stored = offsetOf(page.body.pos);
  expect(stored).toBeGreaterThanOrEqual(acks);
  const seen = await positions(reader, stored);
  expect(dataOf(seen)).toEqual(Array.from({ length: stored }, (_, i) => i + 1));
});
