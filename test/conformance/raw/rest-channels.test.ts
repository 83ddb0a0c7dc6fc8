/** protocol.md 7: lists of channels and peers, and names in the path. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { rawCall, statusOf } from "../../support/http.ts";
import { type Frame, ids } from "../../support/wire/shapes.ts";
import { codeOf } from "./support/outcome.ts";
import { fresh, join, newApp, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const world = await worldForTests();

/** Channels chat/* only, all actions. */
const narrow = await world.admin.createKey(world.app._id, { channelPatterns: ["chat/*"] });

/** The address exactly as written: fetch would normalise it. */
async function raw(
  method: string,
  path: string,
  body = "",
): Promise<{ status: number; body: Record<string, unknown> }> {
  const { host } = new URL(world.url);
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${world.key.credential}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  const answer = await rawCall(world.url, Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`));
  const text = answer.slice(answer.indexOf("\r\n\r\n") + 4);
  return { status: statusOf(answer), body: JSON.parse(Buffer.from(text, "latin1").toString("utf8")) };
}

describe("channels in the path", () => {
  for (const [path, channel] of [
    ["a%2Fb", "a/b"],
    ["a/b", "a/b"],
    ["a/b/c%2Fd", "a/b/c/d"],
    ["/a", "/a"],
    ["a/", "a/"],
    ["a//b", "a//b"],
    ["%20", " "],
    ["a+b", "a+b"],
    ["a%2Bb", "a+b"],
    ["%252F", "%2F"],
    ["a%3Fb%23c", "a?b#c"],
    ["%C3%A9%F0%9F%98%80", "é😀"],
    ["peers", "peers"],
    ["publish", "publish"],
    ["a/peers", "a/peers"],
    ["a/publish", "a/publish"],
    [".", "."],
    ["..", ".."],
    ["%2e", "."],
    ["%2E%2e", ".."],
    ["a%2F..%2Fb", "a/../b"],
    ["..%2F..%2Fusage", "../../usage"],
  ] as const)
    test(`${path} is the channel ${JSON.stringify(channel)}`, async () => {
      const guest = await world.guest();
      await join(guest.wire, channel);
      const sent = await raw("POST", `/v1/channels/${path}/publish`, '{"data":1}');
      expect(sent).toEqual({ status: 200, body: { channel, published: true } });
      expect(await guest.wire.frame()).toEqual({ type: "message", channel, from: "server", data: 1 });
      const listed = await raw("GET", `/v1/channels/${path}/peers`);
      expect(listed).toEqual({ status: 200, body: { channel, peers: [{ peerId: guest.peerId }] } });
    });

  // If dots and slashes were normalised, these would reach a different channel.
  for (const [path, channel, folded] of [
    ["a/../b", "a/../b", "b"],
    ["a/./b", "a/./b", "a/b"],
    ["a/%2e%2e/b", "a/../b", "b"],
  ] as const)
    test(`${path} is the channel ${JSON.stringify(channel)}, not ${JSON.stringify(folded)}`, async () => {
      const wrong = await world.subscriber(folded);
      const right = await world.subscriber(channel);
      const { status, body } = await raw("POST", `/v1/channels/${path}/publish`, '{"data":1}');
      expect(await wrong.wire.sync()).toEqual([]);
      expect({ status, body }).toEqual({ status: 200, body: { channel, published: true } });
      expect(await right.wire.frame()).toMatchObject({ type: "message", channel });
    });

  for (const path of ["%zz", "%", "%ff", "a%e9", "a/%zz", "a/%ff"])
    test(`${path} is no percent-encoded UTF-8: 400`, async () => {
      for (const answer of [
        await raw("POST", `/v1/channels/${path}/publish`, '{"data":1}'),
        await raw("GET", `/v1/channels/${path}/peers`),
      ])
        expect([answer.status, answer.body.error]).toEqual([400, "invalid_request"]);
    });

  test("an invalid channel name is 400", async () => {
    for (const path of ["%00", "a%0Ab", "%7F", "a*", "%2A", "x".repeat(257), "%C3%A9".repeat(129), "a/b*"])
      for (const answer of [
        await raw("POST", `/v1/channels/${path}/publish`, '{"data":1}'),
        await raw("GET", `/v1/channels/${path}/peers`),
      ])
        expect([path, answer.status, answer.body.error]).toEqual([path, 400, "invalid_request"]);
    expect((await raw("GET", `/v1/channels/${"x".repeat(256)}/peers`)).status).toBe(200);
    expect((await raw("GET", `/v1/channels/${"%C3%A9".repeat(128)}/peers`)).status).toBe(200);
  });

  test("a reserved name is 400 channel_reserved, in any case and spelling", async () => {
    for (const path of ["_parley/x", "_parley%2Fx", "_SYSTEM%2fx", "_metered/", "_Internal/a/b"])
      for (const answer of [
        await raw("POST", `/v1/channels/${path}/publish`, '{"data":1}'),
        await raw("GET", `/v1/channels/${path}/peers`),
      ])
        expect([path, answer.status, answer.body.error]).toEqual([path, 400, "channel_reserved"]);
  });
});

describe("peers in the path", () => {
  for (const [path, peerId] of [
    [".", "."],
    ["..", ".."],
    ["%2e%2e", ".."],
    ["a%2Fb", "a/b"],
    ["%20", " "],
    ["send", "send"],
    ["a%3Fb", "a?b"],
    ["%25", "%"],
    ["~".repeat(128), "~".repeat(128)],
  ] as const)
    test(`${path.slice(0, 20)} is the peer ${JSON.stringify(peerId).slice(0, 20)}`, async () => {
      const { wire } = await world.guest({ sub: peerId });
      expect(await raw("POST", `/v1/peers/${path}/send`, '{"data":1}')).toEqual({
        status: 200,
        body: { peerId, delivered: true },
      });
      expect(await wire.frame()).toEqual({ type: "direct", from: "server", data: 1 });
      expect(await raw("DELETE", `/v1/peers/${path}`)).toEqual({ status: 200, body: { peerId, closed: 1 } });
      expect((await wire.closed()).code).toBe(4020);
    });

  test("an invalid peer id is 400", async () => {
    for (const path of ["%C3%A9", "%0A", "%00", "%7F", "x".repeat(129), "%zz", "%ff"])
      for (const answer of [
        await raw("POST", `/v1/peers/${path}/send`, '{"data":1}'),
        await raw("DELETE", `/v1/peers/${path}`),
      ])
        expect([path, answer.status, answer.body.error]).toEqual([path, 400, "invalid_request"]);
  });
});

describe("GET /v1/channels", () => {
  interface Page {
    readonly data: { channel: string; peers: number; connections: number }[];
    readonly next: string | null;
  }
  const list = async (query: Record<string, string>, from = world, credential?: string): Promise<Page> => {
    const path = `/v1/channels?${new URLSearchParams(query)}`;
    const answer = await from.rest<Page>("GET", path, credential === undefined ? {} : { credential });
    expect(answer.status).toBe(200);
    return { data: answer.body.data, next: answer.body.next };
  };

  test("counts peers and connections of active channels", async () => {
    const prefix = fresh("count");
    const sub = fresh("peer");
    const [one, two] = [`${prefix}/1`, `${prefix}/2`];
    const first = await world.member(one, { sub });
    await world.member(one, { sub });
    await world.member(one);
    await world.member(two);
    expect(await list({ prefix })).toEqual({
      data: [
        { channel: one, peers: 2, connections: 3 },
        { channel: two, peers: 1, connections: 1 },
      ],
      next: null,
    });
    await first.wire.request({ type: "unsubscribe", channel: one });
    expect((await list({ prefix: one })).data).toEqual([{ channel: one, peers: 2, connections: 2 }]);
  });

  test("drops a channel with its last subscriber", async () => {
    const channel = fresh("room");
    const { wire } = await world.member(channel);
    expect((await list({ prefix: channel })).data).toHaveLength(1);
    await wire.request({ type: "unsubscribe", channel });
    expect((await list({ prefix: channel })).data).toEqual([]);
  });

  test("does not list channels without subscribers", async () => {
    const channel = fresh("room");
    await world.restPublish(channel, { data: 1 });
    expect((await list({ prefix: channel })).data).toEqual([]);
  });

  test("goes through the pages in order, each name once, and next is null at the end", async () => {
    const prefix = `${fresh("page")}/`;
    const names = ["a", "b", "B", "é", "z/1", "z", "😀"].map((name) => prefix + name);
    const guest = await world.quiet();
    for (const channel of names) await guest.wire.request({ type: "subscribe", channel });
    const whole = (await list({ prefix })).data.map(({ channel }) => channel);
    expect(whole.toSorted()).toEqual(names.toSorted());
    for (const limit of [1, 2, 3, 7, 8]) {
      const seen: string[] = [];
      let after: string | null = "";
      for (let pages = 0; after !== null && pages < 20; pages++) {
        const page: Page = await list({ prefix, limit: String(limit), ...(after !== "" && { after }) });
        expect(page.data.length).toBe(Math.min(limit, names.length - seen.length));
        seen.push(...page.data.map(({ channel }) => channel));
        after = page.next;
        expect(after === null).toBe(seen.length === names.length);
      }
      expect(seen).toEqual(whole);
    }
    expect(await list({ prefix, after: whole.at(-1)! })).toEqual({ data: [], next: null });
  });

  test("has 100 per page by default", async () => {
    const prefix = `${fresh("many")}/`;
    for (const half of [0, 1]) {
      const { wire } = await world.quiet();
      for (let i = 0; i < 51; i++) wire.send({ type: "subscribe", channel: `${prefix}${half}-${i}` });
      await wire.sync();
    }
    const page = await list({ prefix });
    expect(page.data).toHaveLength(100);
    expect(page.next).toBe(page.data.at(-1)!.channel);
    expect((await list({ prefix, limit: "1000" })).data).toHaveLength(102);
  });

  test("lists only channels of its own application that the key covers", async () => {
    const channel = `chat/${fresh("room")}`;
    const hidden = `other/${fresh("room")}`;
    const { wire } = await world.quiet();
    for (const name of [channel, hidden]) await wire.request({ type: "subscribe", channel: name });
    const other = await newApp(world.server);
    await other.member(channel);
    const seen = (await list({}, world, narrow.credential)).data.map((one) => one.channel);
    expect(seen).toContain(channel);
    expect(seen).not.toContain(hidden);
    expect((await list({ prefix: channel })).data).toMatchObject([{ connections: 1 }]);
    expect((await list({}, other)).data).toEqual([{ channel, peers: 1, connections: 1 }]);
    other.hangUp();
  });

  test("refuses an invalid limit", async () => {
    for (const limit of ["0", "1001", "-1", "1.5", "x", ""])
      expect([limit, codeOf(await world.rest("GET", `/v1/channels?limit=${limit}`))]).toEqual([
        limit,
        "400 invalid_request",
      ]);
  });
});

describe("GET /v1/channels/:channel/peers", () => {
  const peersOf = async (channel: string): Promise<Frame<"presence">["joined"]> => {
    const { body } = await world.rest<{ channel: string; peers: Frame<"presence">["joined"] }>(
      "GET",
      `/v1/channels/${encodeURIComponent(channel)}/peers`,
    );
    expect(body.channel).toBe(channel);
    return body.peers;
  };

  test("lists members once, with their metadata where they have any", async () => {
    const channel = fresh("room");
    const sub = fresh("peer");
    await world.member(channel, { sub, peerMetadata: { v: 1 } });
    await world.member(channel, { sub, peerMetadata: { v: 2 } });
    const bare = await world.member(channel);
    const peers = await peersOf(channel);
    expect(ids(peers)).toEqual([sub, bare.peerId].sort());
    expect(peers).toContainEqual({ peerId: sub, metadata: { v: 2 } });
    expect(peers).toContainEqual({ peerId: bare.peerId });
  });

  test("does not list peers without the action presence", async () => {
    const channel = fresh("room");
    await world.subscriber(channel);
    expect(await peersOf(channel)).toEqual([]);
  });

  test("is empty for a channel without members", async () => {
    expect(await peersOf(fresh("room"))).toEqual([]);
  });

  test("is up to date at once after the ack of a subscribe, the ack of an unsubscribe, and the end of a connection", async () => {
    const channel = fresh("room");
    const { wire, peerId } = await world.guest({}, { answersPings: false });
    await wire.request({ type: "subscribe", channel });
    expect(ids(await peersOf(channel))).toEqual([peerId]);
    await wire.request({ type: "unsubscribe", channel });
    expect(await peersOf(channel)).toEqual([]);
    await wire.request({ type: "subscribe", channel });
    wire.close();
    await wire.closed();
    expect(await peersOf(channel)).toEqual([]);
  });
});
