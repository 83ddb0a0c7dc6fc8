/** protocol.md 7: each call of the realtime host, its effect on open connections, and the order of its errors. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mint, type SecretKey } from "../../support/admin.ts";
import { type Answer, inPieces, rawCall, statusOf } from "../../support/http.ts";
import { payloadOf } from "../../support/jwt.ts";
import { type Frame, ids } from "./support/shapes.ts";
import type { Wire } from "./support/wire.ts";
import { fresh, type Guest, join, newApp, startWorld, tokenQuery, type World } from "./support/world.ts";

setDefaultTimeout(30_000);

const KIB = 1024;
const BODY_MAX = 128 * KIB;

let world: World;
/** Channels chat/* only, and no actions. */
let powerless: SecretKey;
/** Channels chat/* only, all actions. */
let narrow: SecretKey;
let spent: World;

beforeAll(async () => {
  world = await startWorld();
  powerless = await world.admin.createKey(world.app._id, { channelPatterns: ["chat/*"], actions: [] });
  narrow = await world.admin.createKey(world.app._id, { channelPatterns: ["chat/*"] });
  spent = await newApp(world.server);
  await world.admin.must("PATCH", `/apps/${spent.app._id}`, { plan: { maxMessagesPerPeriod: 0 } });
});
afterEach(() => {
  world.hangUp();
  spent.hangUp();
});
afterAll(() => world.stop());

const QUIET = { permissions: ["publish", "subscribe", "send"] };

async function subscriber(channel: string, fields: object = {}): Promise<Guest> {
  const guest = await world.guest(QUIET);
  expect(await guest.wire.request({ type: "subscribe", channel, ...fields })).toMatchObject({ type: "ack" });
  return guest;
}

const publish = (channel: string, body: unknown, credential = world.key.credential): Promise<Answer> =>
  world.rest("POST", `/v1/channels/${encodeURIComponent(channel)}/publish`, { body, credential });
const send = (to: string, body: unknown, credential = world.key.credential): Promise<Answer> =>
  world.rest("POST", `/v1/peers/${encodeURIComponent(to)}/send`, { body, credential });

const codeOf = ({ status, body }: Answer): string => `${status} ${body.error}`;

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

/** Each call once, in a form that succeeds. */
const CALLS: readonly { method: string; path: string; body?: object }[] = [
  { method: "POST", path: "/v1/tokens", body: { peerId: "alice" } },
  { method: "GET", path: "/v1/channels" },
  { method: "GET", path: "/v1/channels/chat%2F1/peers" },
  { method: "POST", path: "/v1/channels/chat%2F1/publish", body: { data: 1 } },
  { method: "POST", path: "/v1/peers/no-such-peer/send", body: { data: 1 } },
  { method: "DELETE", path: "/v1/peers/no-such-peer" },
  { method: "GET", path: "/v1/usage" },
];

describe("every call", () => {
  for (const { method, path, body } of CALLS) {
    const name = `${method} ${path}`;
    const options = body === undefined ? {} : { body };

    test(`${name} needs a live secret key pair; all failures are the same 401`, async () => {
      const revoked = await world.admin.createKey(world.app._id);
      await world.admin.revoke(revoked.keyId);
      const rotated = await world.admin.createKey(world.app._id);
      await world.admin.rotate(rotated.keyId, { graceSec: 0 });
      const publishable = await world.admin.createPublishable(world.app._id);
      const { keyId, secret, credential } = world.key;
      const failures: Answer[] = [];
      for (const authorization of [
        "",
        "Bearer",
        "Bearer ",
        `Basic ${btoa(credential)}`,
        credential,
        `Bearer ${keyId}`,
        `Bearer ${keyId}:`,
        `Bearer ${secret}`,
        `Bearer :${secret}`,
        `Bearer ${keyId}:${secret}x`,
        `Bearer ${keyId}:${secret.slice(0, -1)}`,
        `Bearer ${keyId}:${secret.toLowerCase()}`,
        `Bearer ${narrow.keyId}:${secret}`,
        `Bearer sk_id_${"0".repeat(32)}:${secret}`,
        `Bearer ${publishable.keyId}`,
        `Bearer ${publishable.keyId}:${publishable.keyId}`,
        `Bearer ${publishable.keyId}:`,
        `Bearer ${revoked.credential}`,
        `Bearer ${rotated.credential}`,
        `Bearer ${world.server.adminToken}`,
      ]) {
        const answer = await world.rest(method, path, { ...options, headers: { Authorization: authorization } });
        expect([authorization, codeOf(answer)]).toEqual([authorization, "401 unauthorized"]);
        failures.push(answer);
      }
      for (const { body: said } of failures) expect(said).toEqual(failures[0]!.body);
    });

    test(`${name} has the common headers, in success and in failure`, async () => {
      const good = await world.rest(method, path, options);
      expect([200, 404]).toContain(good.status);
      const bad = await world.rest(method, path, { ...options, credential: "x:y" });
      expect(bad.status).toBe(401);
      for (const { headers } of [good, bad]) {
        expect(headers.get("x-request-id")).toBeTruthy();
        expect(headers.get("cache-control")).toBe("no-store");
        expect(headers.get("referrer-policy")).toBe("no-referrer");
      }
      expect(good.headers.get("x-request-id")).not.toBe(bad.headers.get("x-request-id"));
    });

    test(`${name}: a previous secret in its grace period can only mint tokens`, async () => {
      const key = await world.admin.createKey(world.app._id);
      await world.admin.rotate(key.keyId, { graceSec: 600 });
      const answer = await world.rest(method, path, { ...options, credential: key.credential });
      expect(answer.status).toBe(path === "/v1/tokens" ? 200 : 401);
    });
  }

  test("an unknown path is 404, a wrong method 405, with or without a credential", async () => {
    for (const credential of [world.key.credential, "x:y"]) {
      for (const path of ["/v1/nothing", "/v1/channels/x", "/v1/channels/x/nothing", "/v1/peers", "/v1/tokens/x"])
        expect([path, codeOf(await world.rest("GET", path, { credential }))]).toEqual([path, "404 not_found"]);
      for (const [method, path, allow] of [
        ["GET", "/v1/tokens", "POST"],
        ["POST", "/v1/channels", "GET"],
        ["POST", "/v1/channels/x/peers", "GET"],
        ["GET", "/v1/channels/x/publish", "POST"],
        ["GET", "/v1/channels/a/b/publish", "POST"],
        ["GET", "/v1/peers/x/send", "POST"],
        ["GET", "/v1/peers/x", "DELETE"],
        ["DELETE", "/v1/usage", "GET"],
      ] as const) {
        const answer = await world.rest(method, path, { credential });
        expect([path, codeOf(answer)]).toEqual([path, "405 method_not_allowed"]);
        expect(answer.headers.get("allow")).toBe(allow);
      }
    }
  });
});

describe("the order of errors", () => {
  const tooLarge = `{"data":${" ".repeat(BODY_MAX)}1}`;

  for (const path of ["/v1/tokens", "/v1/channels/other/publish", "/v1/peers/x/send"]) {
    const post = (body: unknown, credential: string): Promise<string> =>
      world.rest("POST", path, { body, credential }).then(codeOf);

    test(`${path}: 401 comes before 413, and 413 before 400, with and without Content-Length`, async () => {
      for (const body of [tooLarge, "x".repeat(BODY_MAX + 1)]) {
        expect(await post(body, "x:y")).toBe("401 unauthorized");
        expect(await post(body, powerless.credential)).toBe("413 invalid_request");
        expect(await post(inPieces(Buffer.from(body)), powerless.credential)).toBe("413 invalid_request");
      }
    });

    test(`${path}: 400 comes before 403`, async () => {
      for (const body of ["", "{", "[]", "null", '"x"', "{}", '{"data":1,"data":2}', Uint8Array.of(0x7b, 0xff, 0x7d)])
        expect([body, await post(body, powerless.credential)]).toEqual([body, "400 invalid_request"]);
    });
  }

  test("publish: 400 for the body and for the name, 403 channel, 403 action, 429 quota", async () => {
    expect(codeOf(await publish("other", { from: "" }, powerless.credential))).toBe("400 invalid_request");
    expect(codeOf(await publish("a*", { data: 1 }, powerless.credential))).toBe("400 invalid_request");
    expect(codeOf(await publish("_parley/x", { data: 1 }, powerless.credential))).toBe("400 channel_reserved");
    expect(codeOf(await publish("other", { data: 1 }, powerless.credential))).toBe("403 channel_not_authorized");
    expect(codeOf(await publish("chat/1", { data: 1 }, powerless.credential))).toBe("403 action_not_permitted");
    const mute = await world.admin.createKey(spent.app._id, { actions: ["subscribe", "presence", "send"] });
    expect(codeOf(await publish("x", { data: 1 }, mute.credential))).toBe("403 action_not_permitted");
    expect(codeOf(await publish("x", { data: 1 }, spent.key.credential))).toBe("429 over_message_quota");
    expect(codeOf(await publish("x", {}, spent.key.credential))).toBe("400 invalid_request");
  });

  test("send: 400 for the body and for the peer, 403 action, 429 quota, 404 peer", async () => {
    expect(codeOf(await send("x", {}, powerless.credential))).toBe("400 invalid_request");
    expect(codeOf(await send("zoë", { data: 1 }, powerless.credential))).toBe("400 invalid_request");
    expect(codeOf(await send("nobody", { data: 1 }, powerless.credential))).toBe("403 action_not_permitted");
    expect(codeOf(await send("nobody", { data: 1 }, spent.key.credential))).toBe("429 over_message_quota");
    expect(codeOf(await send("nobody", { data: 1 }))).toBe("404 peer_not_found");
  });

  test("peers of a channel: 400, 403 channel, 403 action", async () => {
    const ask = (channel: string, credential: string): Promise<string> =>
      world.rest("GET", `/v1/channels/${encodeURIComponent(channel)}/peers`, { credential }).then(codeOf);
    expect(await ask("a\u0000", powerless.credential)).toBe("400 invalid_request");
    expect(await ask("_SYSTEM/x", powerless.credential)).toBe("400 channel_reserved");
    expect(await ask("other", powerless.credential)).toBe("403 channel_not_authorized");
    expect(await ask("chat/1", powerless.credential)).toBe("403 action_not_permitted");
  });

  test("channels: 400, 403 action", async () => {
    const ask = (query: string): Promise<string> =>
      world.rest("GET", `/v1/channels${query}`, { credential: powerless.credential }).then(codeOf);
    expect(await ask("?limit=0")).toBe("400 invalid_request");
    expect(await ask("")).toBe("403 action_not_permitted");
  });

  test("a body of exactly 128 KiB is read", async () => {
    const frame = '{"data":1}';
    const body = frame.replace("1", `${" ".repeat(BODY_MAX - frame.length)}1`);
    expect(Buffer.byteLength(body)).toBe(BODY_MAX);
    expect((await publish("chat/1", body)).status).toBe(200);
    expect((await publish("chat/1", inPieces(Buffer.from(body)))).status).toBe(200);
    expect(codeOf(await publish("chat/1", `${body} `))).toBe("413 invalid_request");
  });
});

describe("POST /v1/channels/:channel/publish", () => {
  test("reaches every subscriber, from server, and answers published", async () => {
    const channel = fresh("room");
    const [one, two] = [await subscriber(channel), await subscriber(channel)];
    const answer = await publish(channel, { data: { a: [1] } });
    expect([answer.status, answer.body]).toEqual([200, { channel, published: true }]);
    for (const { wire } of [one, two])
      expect(await wire.sync()).toEqual([{ type: "message", channel, from: "server", data: { a: [1] } }]);
  });

  test("succeeds without subscribers", async () => {
    expect((await publish(fresh("room"), { data: null })).status).toBe(200);
  });

  test("ignores the content type", async () => {
    const path = `/v1/channels/${fresh("room")}/publish`;
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "nonsense"])
      expect((await world.rest("POST", path, { body: '{"data":1}', headers: { "Content-Type": type } })).status).toBe(
        200,
      );
  });

  test("from names the sender; a subscriber of that name receives it too", async () => {
    const channel = fresh("room");
    const { wire, peerId } = await subscriber(channel);
    await publish(channel, { data: 1, from: peerId });
    expect(await wire.frame()).toEqual({ type: "message", channel, from: peerId, data: 1 });
    const longest = " ~".repeat(64);
    await publish(channel, { data: 2, from: longest });
    expect(await wire.frame()).toEqual({ type: "message", channel, from: longest, data: 2 });
  });

  test("peerMetadata is delivered as fromMetadata only to subscribers that opted in", async () => {
    const channel = fresh("room");
    const plain = await subscriber(channel);
    const full = await subscriber(channel, { includeSenderMetadata: true });
    await publish(channel, { data: 1, from: "bot", peerMetadata: { name: "Bot" } });
    expect(await plain.wire.frame()).toEqual({ type: "message", channel, from: "bot", data: 1 });
    expect(await full.wire.frame()).toEqual({
      type: "message",
      channel,
      from: "bot",
      fromMetadata: { name: "Bot" },
      data: 1,
    });
    await publish(channel, { data: 2 });
    expect(await full.wire.frame()).toEqual({ type: "message", channel, from: "server", data: 2 });
  });

  test("refuses invalid fields and values over a limit", async () => {
    const channel = fresh("room");
    const { wire } = await subscriber(channel);
    const bag = (bytes: number): object => ({ a: "x".repeat(bytes - '{"a":""}'.length) });
    for (const body of [
      { from: "x" },
      { data: 1, from: "" },
      { data: 1, from: 5 },
      { data: 1, from: null },
      { data: 1, from: "x".repeat(129) },
      { data: 1, from: "zoë" },
      { data: 1, from: "a\nb" },
      { data: 1, peerMetadata: [] },
      { data: 1, peerMetadata: "x" },
      { data: 1, peerMetadata: null },
      { data: 1, peerMetadata: bag(4097) },
      { data: "x".repeat(64 * KIB - 1) },
    ])
      expect([body, codeOf(await publish(channel, body))]).toEqual([body, "400 invalid_request"]);
    expect(await wire.sync()).toEqual([]);
    expect((await publish(channel, { data: 1, peerMetadata: bag(4096) })).status).toBe(200);
    // The limit counts the data as sent, spaces included.
    const spaced = (bytes: number): string => `{"data":1,"peerMetadata":{${" ".repeat(bytes - 2)}}}`;
    expect((await publish(channel, spaced(4096))).status).toBe(200);
    expect(codeOf(await publish(channel, spaced(4097)))).toBe("400 invalid_request");
    expect(codeOf(await send("nobody", spaced(100_000)))).toBe("400 invalid_request");
    expect((await publish(channel, { data: "x".repeat(64 * KIB - 2) })).status).toBe(200);
  });
});

describe("POST /v1/peers/:peerId/send", () => {
  test("reaches all connections of the peer, from server, and answers delivered", async () => {
    const sub = fresh("peer");
    const guests = [await world.guest({ sub }), await world.guest({ sub })];
    const answer = await send(sub, { data: { a: 1 } });
    expect([answer.status, answer.body]).toEqual([200, { peerId: sub, delivered: true }]);
    for (const { wire } of guests)
      expect(await wire.sync()).toEqual([{ type: "direct", from: "server", data: { a: 1 } }]);
  });

  test("peerMetadata is always delivered as fromMetadata", async () => {
    const { wire, peerId } = await world.guest();
    await send(peerId, { data: 1, from: "bot", peerMetadata: { name: "Bot" } });
    expect(await wire.frame()).toEqual({ type: "direct", from: "bot", fromMetadata: { name: "Bot" }, data: 1 });
  });

  test("a peer that is offline, or in another application, is 404 peer_not_found", async () => {
    const other = await newApp(world.server);
    const { peerId } = await other.guest();
    expect(codeOf(await send(peerId, { data: 1 }))).toBe("404 peer_not_found");
    expect(codeOf(await send(fresh("nobody"), { data: 1 }))).toBe("404 peer_not_found");
    other.hangUp();
  });

  test("needs no channel: a key with narrow patterns can send to any peer", async () => {
    const { wire, peerId } = await world.guest();
    expect((await send(peerId, { data: 1 }, narrow.credential)).status).toBe(200);
    expect(await wire.frame("direct")).toMatchObject({ data: 1 });
  });
});

describe("data over REST", () => {
  for (const text of [
    "null",
    "12345678901234567890",
    "-0",
    "1e400",
    '{"b":1,"a":2,"9":3}',
    '{ "a" :\n1 , "a":2}',
    '"\\u0041\\/\\ud83d\\ude00é"',
    '{"data":{"data":1},"from":"x"}',
  ])
    test(`arrives byte for byte: ${text}`, async () => {
      const channel = fresh("room");
      const { wire, peerId } = await subscriber(channel, { includeSenderMetadata: true });
      const metadata = '{ "n":12345678901234567890 }';
      const body = `{"from":"x", "d\\u0061ta" : ${text} ,"peerMetadata":${metadata}}`;
      const carried = (frame: string): boolean =>
        [`"data":${text}`, `"fromMetadata":${metadata}`].every((part) =>
          [",", "}"].some((end) => frame.includes(`${part}${end}`)),
        );
      expect((await publish(channel, body)).status).toBe(200);
      expect(carried(await wire.text())).toBe(true);
      expect((await send(peerId, body)).status).toBe(200);
      expect(carried(await wire.text())).toBe(true);
    });
});

test("members of a channel are listed with metadata byte for byte", async () => {
  const channel = fresh("room");
  const peerMetadata = '{"id":1234567890123456789, "big":1e400}';
  const body = `{"peerId":"alice","peerMetadata":${peerMetadata}}`;
  const { body: minted } = await world.rest<{ token: string }>("POST", "/v1/tokens", { body });
  const { wire } = await world.welcomed({ query: `token=${minted.token}` });
  await join(wire, channel);
  const listed = await world.rest("GET", `/v1/channels/${encodeURIComponent(channel)}/peers`);
  expect(listed.text).toBe(`{"channel":"${channel}","peers":[{"peerId":"alice","metadata":${peerMetadata}}]}`);
  expect(listed.headers.get("content-type")).toContain("application/json");
});

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
      const wrong = await subscriber(folded);
      const right = await subscriber(channel);
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
    await publish(channel, { data: 1 });
    expect((await list({ prefix: channel })).data).toEqual([]);
  });

  test("goes through the pages in order, each name once, and next is null at the end", async () => {
    const prefix = `${fresh("page")}/`;
    const names = ["a", "b", "B", "é", "z/1", "z", "😀"].map((name) => prefix + name);
    const guest = await world.guest(QUIET);
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
      const { wire } = await world.guest(QUIET);
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
    const { wire } = await world.guest(QUIET);
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
    await subscriber(channel);
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

describe("DELETE /v1/peers/:peerId", () => {
  const kick = (peerId: string, query = ""): Promise<Answer> => world.rest("DELETE", `/v1/peers/${peerId}${query}`);

  test("closes all connections of the peer with 4020 and counts them; 0 if it is offline", async () => {
    const sub = fresh("peer");
    const guests = await Promise.all(Array.from({ length: 3 }, () => world.guest({ sub })));
    expect((await kick(sub)).body).toEqual({ peerId: sub, closed: 3 });
    for (const { wire } of guests) expect((await wire.closed()).code).toBe(4020);
    expect((await kick(sub)).body).toEqual({ peerId: sub, closed: 0 });
  });

  test("does not touch the same name in another application", async () => {
    const other = await newApp(world.server);
    const sub = fresh("peer");
    const { wire } = await other.guest({ sub });
    expect((await kick(sub)).body).toEqual({ peerId: sub, closed: 0 });
    expect(await wire.sync()).toEqual([]);
    other.hangUp();
  });

  test("needs no action of the key", async () => {
    const { wire, peerId } = await world.guest();
    const answer = await world.rest("DELETE", `/v1/peers/${peerId}`, { credential: powerless.credential });
    expect(answer.body).toMatchObject({ closed: 1 });
    expect((await wire.closed()).code).toBe(4020);
  });

  test("refuses an invalid blockSec, and then closes no connection", async () => {
    const { wire, peerId } = await world.guest();
    for (const blockSec of ["-1", "86401", "1.5", "x", "", "1e3"])
      expect([blockSec, codeOf(await kick(peerId, `?blockSec=${blockSec}`))]).toEqual([
        blockSec,
        "400 invalid_request",
      ]);
    expect(await wire.sync()).toEqual([]);
    expect((await kick(peerId, "?blockSec=86400")).body).toEqual({ peerId, closed: 1 });
  });
});

describe("POST /v1/tokens", () => {
  test("mints a token that connects, with only the requested claims", async () => {
    const sub = fresh("peer");
    const { body } = await mint(world.url, world.key.credential, { peerId: sub });
    expect(Object.keys(payloadOf(body.token)).sort()).toEqual(["exp", "iat", "sub"]);
    const { welcome } = await world.welcomed({ query: tokenQuery(body.token) });
    expect(welcome).toMatchObject({ peerId: sub, expiresAt: body.expiresAt });
  });

  test("mints metadata that arrives in welcome, and peerMetadata that others see", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { body } = await mint(world.url, world.key.credential, {
      peerId: fresh("peer"),
      metadata: { ice: [1] },
      peerMetadata: { name: "A" },
      channels: [channel],
      permissions: ["subscribe", "presence"],
    });
    const { wire, welcome } = await world.welcomed({ query: tokenQuery(body.token) });
    expect(welcome.metadata).toEqual({ ice: [1] });
    await join(wire, channel);
    expect((await watcher.wire.frame("presence")).joined).toMatchObject([{ metadata: { name: "A" } }]);
    expect(await wire.request({ type: "publish", channel, data: 1 })).toMatchObject({ code: "action_not_permitted" });
  });

  test("with a previous secret mints only within its grace period", async () => {
    const key = await world.admin.createKey(world.app._id);
    const { previousSecretExpiresAt } = await world.admin.rotate(key.keyId, { graceSec: 100 });
    const { status, body } = await mint(world.url, key.credential, { peerId: "p" });
    expect(status).toBe(200);
    expect(body.expiresAt).toBeLessThanOrEqual(previousSecretExpiresAt);
    const long = await mint(world.url, key.credential, { peerId: "p", expiresInSec: 200 });
    expect([long.status, long.body.error]).toEqual([400, "invalid_request"]);
  });
});

describe("the rate per key", () => {
  test("is a burst, then 429 with Retry-After; another key has its own rate", async () => {
    const strict = await startWorld({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "5" } });
    const other = await strict.admin.createKey(strict.app._id);
    const statuses: number[] = [];
    let last: Answer | undefined;
    const started = performance.now();
    for (let i = 0; i < 30 && last?.status !== 429; i++) {
      last = await strict.rest("GET", i % 2 === 0 ? "/v1/usage" : "/v1/channels");
      statuses.push(last.status);
    }
    const most = 5 + Math.ceil(((performance.now() - started) / 1000) * 5);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(5);
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(most);
    expect(codeOf(last!)).toBe("429 rate_limited");
    expect(Number(last!.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect((await strict.rest("GET", "/v1/usage", { credential: other.credential })).status).toBe(200);
    await strict.stop();
  });
});

test("a publish over REST does not make its sender a member", async () => {
  const channel = fresh("room");
  const watcher = await world.member(channel);
  await publish(channel, { data: 1, from: fresh("bot") });
  const frames = await (watcher.wire as Wire).sync();
  expect(frames.map(({ type }) => type)).toEqual(["message"]);
});
