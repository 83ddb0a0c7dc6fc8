/** Live channels, live peers and nodes on the control plane. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { fresh, join, newApp, worldForTests } from "../conformance/raw/support/world.ts";
import { call } from "../support/http.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(60_000);

const world = await worldForTests();
const { admin, app } = world;
const live = `/apps/${app._id}`;

interface Page {
  readonly data: readonly Record<string, unknown>[];
  readonly next: string | null;
  readonly isComplete: boolean;
}

const page = (path: string): Promise<Page> => admin.must<Page>("GET", `${live}${path}`);
const one = <T = Record<string, unknown>>(path: string): Promise<T> => admin.must<T>("GET", `${live}${path}`);

/** What was recorded about a change, as far as the log has it. */
const audited = (what: string) => world.server.logged((line) => line.audit === what);

test("channels: the whole list, pages, a prefix, and another application's name in the path", async () => {
  const stem = fresh("list");
  for (const at of [3, 1, 2]) await world.member(`${stem}/${at}`);
  await world.member(`${stem}/2`, { sub: "second" });
  const all = await page(`/channels?prefix=${stem}`);
  expect(all).toEqual({
    data: [1, 2, 3].map((at) => ({
      channel: `${stem}/${at}`,
      peers: at === 2 ? 2 : 1,
      connections: at === 2 ? 2 : 1,
      ratePerSec: expect.any(Number),
      bytesPerSec: expect.any(Number),
      history: null,
      stream: null,
    })),
    next: null,
    isComplete: true,
  });
  const first = await page(`/channels?prefix=${stem}&limit=2`);
  expect([first.data.map(({ channel }) => channel), first.next]).toEqual([[`${stem}/1`, `${stem}/2`], `${stem}/2`]);
  const second = await page(`/channels?prefix=${stem}&limit=2&after=${encodeURIComponent(first.next ?? "")}`);
  expect([second.data.map(({ channel }) => channel), second.next]).toEqual([[`${stem}/3`], null]);
  const byName = await admin.must<Page>("GET", `/apps/${app.name}/channels?prefix=${stem}`);
  expect(byName.data).toHaveLength(3);
  const other = await newApp(world.server);
  expect((await admin.must<Page>("GET", `/apps/${other.app._id}/channels`)).data).toEqual([]);
});

test("channels: a name with slashes, raw and encoded, and its members with metadata as it was given", async () => {
  const channel = `${fresh("deep")}/a/b`;
  await world.member(channel, { sub: "ann", peerMetadata: { name: "Ann" } });
  await world.member(channel, { sub: "ben" });
  await world.member(channel, { sub: "ben" });
  await world.subscriber(channel, { sub: "quiet" });
  for (const path of [channel, encodeURIComponent(channel)]) {
    expect(await one(`/channels/${path}`)).toEqual({
      channel,
      peers: 2,
      connections: 4,
      ratePerSec: expect.any(Number),
      bytesPerSec: expect.any(Number),
      history: null,
      stream: null,
      graceSec: 0,
      members: [
        { peerId: "ann", metadata: { name: "Ann" }, connections: 1 },
        { peerId: "ben", connections: 2 },
      ],
      next: null,
      isComplete: true,
    });
  }
  const first = await one<{ members: unknown[]; next: string }>(`/channels/${channel}?limit=1`);
  expect([first.members.length, first.next]).toEqual([1, "ann"]);
  const rest = await one<{ members: { peerId: string }[] }>(`/channels/${channel}?limit=1&after=ann`);
  expect(rest.members.map(({ peerId }) => peerId)).toEqual(["ben"]);
  expect(await one(`/channels/${fresh("none")}`)).toMatchObject({ peers: 0, connections: 0, members: [] });
});

test("channels: members with what they have said about themselves, as it was sent", async () => {
  const channel = `${fresh("states")}/a`;
  const { wire } = await world.member(channel, { sub: "ann" });
  await world.member(channel, { sub: "ben" });
  wire.send({ type: "state", channel, state: { hand: "up" }, requestId: "1" });
  expect(await wire.until("ack")).toMatchObject({ requestId: "1" });
  const { members } = await one<{ members: object[] }>(`/channels/${channel}`);
  expect(members).toEqual([
    { peerId: "ann", state: { hand: "up" }, connections: 1 },
    { peerId: "ben", connections: 1 },
  ]);
});

test("channels: a member that was lost stays for its grace period, and is marked", async () => {
  const { app: graced, key } = await newApp(world.server);
  await admin.must("PATCH", `/apps/${graced._id}`, { channelRules: [{ pattern: "**", graceSec: 120 }] });
  await world.member("room", { sub: "ann" }, key);
  const { wire } = await world.member("room", { sub: "ben" }, key);
  wire.drop();
  await until("ben is lost", async () => {
    const path = `/apps/${graced._id}/channels/room`;
    const { members, graceSec } = await admin.must<{ members: object[]; graceSec: number }>("GET", path);
    expect(graceSec).toBe(120);
    const lost = { peerId: "ben", connections: 0, lost: true };
    return Bun.deepEquals(members, [{ peerId: "ann", connections: 1 }, lost]);
  });
});

test("channels: sort=rate begins with the busiest", async () => {
  const stem = fresh("busy");
  for (const at of [1, 2, 3]) await world.member(`${stem}/${at}`);
  for (const at of [2, 3, 3]) await world.restPublish(`${stem}/${at}`, { data: "x".repeat(100) });
  const { data, next } = await page(`/channels?prefix=${stem}&sort=rate`);
  expect([data.map(({ channel }) => channel), next]).toEqual([[`${stem}/3`, `${stem}/2`, `${stem}/1`], null]);
  expect(data[0]).toMatchObject({ peers: 1, connections: 1 });
  expect(Number(data[0]?.bytesPerSec)).toBeGreaterThan(100 * Number(data[0]?.ratePerSec));
  expect(data[2]?.ratePerSec).toBe(0);
});

test("publish as the server reaches subscribers, and is recorded without the data", async () => {
  const channel = `${fresh("from")}/server`;
  const { wire } = await world.subscriber(channel);
  for (const path of [channel, encodeURIComponent(channel)]) {
    const body = { data: { secret: "payload-7" } };
    expect(await admin.must<unknown>("POST", `${live}/channels/${path}/publish`, body)).toEqual({
      channel,
      published: true,
    });
    expect(await wire.until("message")).toMatchObject({ channel, from: "server", data: body.data });
  }
  const line = await audited("message published");
  expect(line).toMatchObject({ on: channel, app: app._id });
  expect(JSON.stringify(world.server.log)).not.toContain("payload-7");
});

test("send as the server reaches the peer, and a peer without a connection is 404", async () => {
  const { wire, peerId } = await world.quiet();
  expect(await admin.must<unknown>("POST", `${live}/peers/${peerId}/send`, { data: 1 })).toEqual({
    peerId,
    delivered: true,
  });
  expect(await wire.until("direct")).toMatchObject({ from: "server", data: 1 });
  const { status, body } = await admin.call("POST", `${live}/peers/${fresh("absent")}/send`, { data: 1 });
  expect([status, body.error]).toEqual([404, "peer_not_found"]);
  expect(await audited("message sent")).toMatchObject({ on: peerId });
});

test("peers: a list with pages and a prefix, and one peer with its connections", async () => {
  const stem = fresh("peer");
  for (const at of [1, 2, 3]) await world.guest({ sub: `${stem}-${at}` });
  const { wire } = await world.guest({ sub: `${stem}-2` });
  await join(wire, `${stem}/a`);
  await join(wire, `${stem}/b`);
  const now = Date.now() / 1000;
  const all = await page(`/peers?prefix=${stem}`);
  expect(all.data.map(({ peerId, connections, channels }) => [peerId, connections, channels])).toEqual([
    [`${stem}-1`, 1, 0],
    [`${stem}-2`, 2, 2],
    [`${stem}-3`, 1, 0],
  ]);
  expect([all.next, all.isComplete]).toEqual([null, true]);
  expect(Math.abs(Number(all.data[0]?.since) - now)).toBeLessThan(60);
  const first = await page(`/peers?prefix=${stem}&limit=2`);
  expect(first.next).toBe(`${stem}-2`);
  expect((await page(`/peers?prefix=${stem}&limit=2&after=${first.next}`)).data).toHaveLength(1);
  const peer = await one<{ connections: Record<string, unknown>[]; recent: { kind: string }[] }>(`/peers/${stem}-2`);
  expect(peer).toMatchObject({ peerId: `${stem}-2`, total: 2, isComplete: true });
  expect(peer.recent.map(({ kind }) => kind)).toEqual(["connect", "connect", "subscribe", "subscribe"]);
  expect(peer.connections.map(({ subscriptions }) => subscriptions)).toEqual([[`${stem}/a`, `${stem}/b`], []]);
  expect(peer.connections[0]).toEqual({
    connectionId: expect.any(String),
    nodeId: expect.any(String),
    keyId: world.key.keyId,
    address: expect.any(String),
    since: expect.any(Number),
    subscriptions: expect.any(Array),
    framesPerSec: expect.any(Number),
  });
  expect(Number(peer.connections[0]?.framesPerSec)).toBeGreaterThan(0);
  const absent = fresh("absent");
  expect(await one(`/peers/${absent}`)).toEqual({
    peerId: absent,
    total: 0,
    connections: [],
    recent: [],
    block: null,
    isComplete: true,
  });
});

test("peers: with their names, found by them, with the time of their last message, and when they left", async () => {
  const peerId = fresh("named");
  const name = fresh("Ann Lee");
  const { wire } = await world.guest({ sub: peerId, peerMetadata: { name } });
  const channel = fresh("named");
  await join(wire, channel);
  const listed = async () => (await page(`/peers?contains=${encodeURIComponent(name)}`)).data;
  expect(await listed()).toMatchObject([{ peerId, name }]);
  expect((await listed())[0]).not.toHaveProperty("lastMessage");
  wire.send({ type: "publish", channel, data: 1, requestId: "1" });
  await wire.until("ack");
  const now = Date.now() / 1000;
  const [line] = await listed();
  expect(Number(line?.lastMessage)).toBeWithin(now - 60, now + 1);
  expect(await one(`/peers/${peerId}`)).toMatchObject({ name, lastMessage: line?.lastMessage, block: null });
  wire.drop();
  await until("it has left", async () => {
    const { total, offlineSince } = await one(`/peers/${peerId}`);
    if (total !== 0) return false;
    expect(Number(offlineSince)).toBeWithin(now - 1, Date.now() / 1000 + 1);
    return true;
  });
});

test("a peer is disconnected and blocked, and both are recorded", async () => {
  const { wire, peerId } = await world.guest();
  expect(await admin.must<unknown>("DELETE", `${live}/peers/${peerId}`)).toEqual({ peerId, closed: 1 });
  expect((await wire.next(({ kind }) => kind === "close")).kind).toBe("close");
  expect(await audited("peer kicked")).toMatchObject({ on: peerId, app: app._id });
  expect(await admin.must<unknown>("DELETE", `${live}/peers/${peerId}?blockSec=60`)).toEqual({ peerId, closed: 0 });
  expect(await audited("peer blocked")).toMatchObject({ on: peerId });
  const refused = await world.guest({ sub: peerId }).then(
    () => "welcomed",
    () => "refused",
  );
  expect(refused).toBe("refused");
});

test("blocks: listed with who made them, ended by an operator, and recorded", async () => {
  const { app: own, key } = await newApp(world.server);
  const root = `/apps/${own._id}`;
  const [ann, ben] = ["ann", "ben"];
  await admin.must("DELETE", `${root}/peers/${ann}?blockSec=60`);
  await world.rest("DELETE", `/v1/peers/${ben}?blockSec=3600`, { credential: key.credential });
  const now = Date.now() / 1000;
  const blocks = (query = "") => admin.must<Page>("GET", `${root}/blocks${query}`);
  await until("the audit has both", async () => (await blocks()).data.every(({ by }) => by !== undefined));
  const { data, next } = await blocks();
  expect([data, next]).toEqual([
    [
      { peerId: ann, until: expect.any(Number), by: "admin" },
      { peerId: ben, until: expect.any(Number), by: key.keyId },
    ],
    null,
  ]);
  expect(Number(data[1]?.until)).toBeWithin(now + 3500, now + 3601);
  expect(await blocks("?limit=1")).toMatchObject({ data: [{ peerId: ann }], next: ann });
  expect(await blocks("?limit=1&after=ann")).toMatchObject({ data: [{ peerId: ben }], next: null });
  const { block } = await admin.must<{ block: object | null }>("GET", `${root}/peers/${ben}`);
  expect(block).toEqual({ until: data[1]?.until, by: key.keyId });
  const refused = (peerId: string) =>
    world.guest({ sub: peerId }, {}, key).then(
      () => "welcomed",
      () => "refused",
    );
  expect(await refused(ben)).toBe("refused");
  const unblock = (peerId: string) => admin.must<unknown>("DELETE", `${root}/blocks/${peerId}`);
  expect(await unblock(ben)).toEqual({ peerId: ben, unblocked: true });
  expect([await refused(ben), await refused(ann)]).toEqual(["welcomed", "refused"]);
  expect(await audited("peer unblocked")).toMatchObject({ on: ben, app: own._id });
  expect((await blocks()).data).toMatchObject([{ peerId: ann }]);
  expect(await unblock(ben)).toEqual({ peerId: ben, unblocked: false });
  expect((await page("/blocks")).data.map(({ peerId }) => peerId)).not.toContain(ann);
});

test("nodes: every node with its load and its links", async () => {
  await until("a connection is counted", async () => {
    await world.guest();
    const { data, next, isComplete } = await admin.must<Page>("GET", "/nodes");
    expect([next, isComplete]).toEqual([null, true]);
    for (const node of data)
      expect(node).toMatchObject({
        nodeId: expect.any(String),
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        channels: expect.any(Number),
        store: "ok",
      });
    const [node] = data;
    expect(Number(node?.startedAt)).toBeWithin(Date.now() / 1000 - 600, Date.now() / 1000 + 1);
    expect(Number(node?.rssBytes)).toBeGreaterThan(1e6);
    expect(Number(node?.messagesPerSec)).toBeWithin(0, 1e6);
    expect(Number(node?.cpu)).toBeWithin(0, 64);
    expect(Number(node?.loopLagMs)).toBeWithin(0, 60_000);
    return data.some(({ connections }) => Number(connections) > 0);
  });
});

test("an operator of the role read sees everything live and changes nothing", async () => {
  const channel = fresh("read");
  const { wire, peerId } = await world.member(channel);
  const { token } = await admin.must<{ token: string }>("POST", "/operators", { name: fresh("reader"), role: "read" });
  const asReader = async (method: string, path: string, body?: unknown): Promise<string> => {
    const answer = await admin.call(method, path, body, { bearer: token });
    return `${answer.status} ${answer.body.error ?? ""}`.trim();
  };
  for (const path of ["/channels", `/channels/${channel}`, "/peers", `/peers/${peerId}`, "/blocks"])
    expect(await asReader("GET", `${live}${path}`)).toBe("200");
  expect(await asReader("GET", "/nodes")).toBe("200");
  expect(await asReader("POST", `${live}/channels/${channel}/publish`, { data: 1 })).toBe("403 forbidden");
  expect(await asReader("POST", `${live}/peers/${peerId}/send`, { data: 1 })).toBe("403 forbidden");
  expect(await asReader("DELETE", `${live}/peers/${peerId}`)).toBe("403 forbidden");
  expect(await asReader("DELETE", `${live}/blocks/${peerId}`)).toBe("403 forbidden");
  // Nothing of that has reached the peer: the next thing it gets is the answer to its own request.
  wire.send({ type: "unsubscribe", channel, requestId: "next" });
  expect(await wire.frame("ack")).toMatchObject({ requestId: "next" });
});

describe("refused", () => {
  test.each([
    ["GET", "/apps/unknown/channels", undefined, 404, "not_found"],
    ["GET", "/apps/unknown/peers", undefined, 404, "not_found"],
    ["GET", "/apps/unknown/blocks", undefined, 404, "not_found"],
    ["DELETE", "/apps/unknown/blocks/p", undefined, 404, "not_found"],
    ["GET", `${live}/blocks?limit=1001`, undefined, 400, "invalid_request"],
    ["DELETE", `${live}/blocks/%C3%A9`, undefined, 400, "invalid_request"],
    ["GET", `${live}/channels?limit=1001`, undefined, 400, "invalid_request"],
    ["GET", `${live}/channels?limit=0`, undefined, 400, "invalid_request"],
    ["GET", `${live}/channels?sort=size`, undefined, 400, "invalid_request"],
    ["GET", `${live}/channels?prefix=${"x".repeat(300)}`, undefined, 400, "invalid_request"],
    ["GET", `${live}/peers?after=${"x".repeat(300)}`, undefined, 400, "invalid_request"],
    ["GET", `${live}/channels/a*`, undefined, 400, "invalid_request"],
    ["GET", `${live}/channels/_parley/x`, undefined, 400, "channel_reserved"],
    ["GET", `${live}/peers/%C3%A9`, undefined, 400, "invalid_request"],
    ["POST", `${live}/channels/c/publish`, {}, 400, "invalid_request"],
    ["POST", `${live}/channels/c/publish`, { data: 1, form: "x" }, 400, "invalid_request"],
    ["POST", `${live}/channels/_system/a/publish`, { data: 1 }, 400, "channel_reserved"],
    ["POST", "/apps/unknown/channels/c/publish", { data: 1 }, 404, "not_found"],
    ["DELETE", `${live}/peers/p?blockSec=-1`, undefined, 400, "invalid_request"],
    ["DELETE", `${live}/channels/c`, undefined, 405, "method_not_allowed"],
  ] as const)("%s %s with %j: %i", async (method, path, body, status, error) => {
    const answer = await admin.call(method, path, body);
    expect([answer.status, answer.body.error]).toEqual([status, error]);
  });

  test.each(["/nodes", `${live}/channels`, `${live}/channels/c`, `${live}/peers`, `${live}/peers/p`, `${live}/blocks`])(
    "GET %s without the token",
    async (path) => {
      for (const bearer of [undefined, world.key.credential])
        expect((await call(`${world.url}/api/internal/v1${path}`, bearer === undefined ? {} : { bearer })).status).toBe(
          401,
        );
    },
  );
});
