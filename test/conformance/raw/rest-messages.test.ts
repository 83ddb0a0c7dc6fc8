/** protocol.md 7: publish, send, kick and tokens over REST, and their effect on open connections. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mint } from "../../support/admin.ts";
import type { Answer } from "../../support/http.ts";
import { payloadOf } from "../../support/jwt.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { codeOf } from "./support/outcome.ts";
import { fresh, join, newApp, tokenQuery, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const KIB = 1024;

const world = await worldForTests();

/** Channels chat/* only, and no actions. */
const powerless = await world.admin.createKey(world.app._id, { channelPatterns: ["chat/*"], actions: [] });

/** Channels chat/* only, all actions. */
const narrow = await world.admin.createKey(world.app._id, { channelPatterns: ["chat/*"] });

describe("POST /v1/channels/:channel/publish", () => {
  test("reaches every subscriber, from server, and answers published", async () => {
    const channel = fresh("room");
    const [one, two] = [await world.subscriber(channel), await world.subscriber(channel)];
    const answer = await world.restPublish(channel, { data: { a: [1] } });
    expect([answer.status, answer.body]).toEqual([200, { channel, published: true }]);
    for (const { wire } of [one, two])
      expect(await wire.sync()).toEqual([{ type: "message", channel, from: "server", data: { a: [1] } }]);
  });

  test("succeeds without subscribers", async () => {
    expect((await world.restPublish(fresh("room"), { data: null })).status).toBe(200);
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
    const { wire, peerId } = await world.subscriber(channel);
    await world.restPublish(channel, { data: 1, from: peerId });
    expect(await wire.frame()).toEqual({ type: "message", channel, from: peerId, data: 1 });
    const longest = " ~".repeat(64);
    await world.restPublish(channel, { data: 2, from: longest });
    expect(await wire.frame()).toEqual({ type: "message", channel, from: longest, data: 2 });
  });

  test("peerMetadata is delivered as fromMetadata only to subscribers that opted in", async () => {
    const channel = fresh("room");
    const plain = await world.subscriber(channel);
    const full = await world.subscriber(channel, {}, { includeSenderMetadata: true });
    await world.restPublish(channel, { data: 1, from: "bot", peerMetadata: { name: "Bot" } });
    expect(await plain.wire.frame()).toEqual({ type: "message", channel, from: "bot", data: 1 });
    expect(await full.wire.frame()).toEqual({
      type: "message",
      channel,
      from: "bot",
      fromMetadata: { name: "Bot" },
      data: 1,
    });
    await world.restPublish(channel, { data: 2 });
    expect(await full.wire.frame()).toEqual({ type: "message", channel, from: "server", data: 2 });
  });

  test("refuses invalid fields and values over a limit", async () => {
    const channel = fresh("room");
    const { wire } = await world.subscriber(channel);
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
      expect([body, codeOf(await world.restPublish(channel, body))]).toEqual([body, "400 invalid_request"]);
    expect(await wire.sync()).toEqual([]);
    expect((await world.restPublish(channel, { data: 1, peerMetadata: bag(4096) })).status).toBe(200);
    // The limit counts the data as sent, spaces included.
    const spaced = (bytes: number): string => `{"data":1,"peerMetadata":{${" ".repeat(bytes - 2)}}}`;
    expect((await world.restPublish(channel, spaced(4096))).status).toBe(200);
    expect(codeOf(await world.restPublish(channel, spaced(4097)))).toBe("400 invalid_request");
    expect(codeOf(await world.restSend("nobody", spaced(100_000)))).toBe("400 invalid_request");
    expect((await world.restPublish(channel, { data: "x".repeat(64 * KIB - 2) })).status).toBe(200);
  });
});

describe("POST /v1/peers/:peerId/send", () => {
  test("reaches all connections of the peer, from server, and answers delivered", async () => {
    const sub = fresh("peer");
    const guests = [await world.guest({ sub }), await world.guest({ sub })];
    const answer = await world.restSend(sub, { data: { a: 1 } });
    expect([answer.status, answer.body]).toEqual([200, { peerId: sub, delivered: true }]);
    for (const { wire } of guests)
      expect(await wire.sync()).toEqual([{ type: "direct", from: "server", data: { a: 1 } }]);
  });

  test("peerMetadata is always delivered as fromMetadata", async () => {
    const { wire, peerId } = await world.guest();
    await world.restSend(peerId, { data: 1, from: "bot", peerMetadata: { name: "Bot" } });
    expect(await wire.frame()).toEqual({ type: "direct", from: "bot", fromMetadata: { name: "Bot" }, data: 1 });
  });

  test("a peer that is offline, or in another application, is 404 peer_not_found", async () => {
    const other = await newApp(world.server);
    const { peerId } = await other.guest();
    expect(codeOf(await world.restSend(peerId, { data: 1 }))).toBe("404 peer_not_found");
    expect(codeOf(await world.restSend(fresh("nobody"), { data: 1 }))).toBe("404 peer_not_found");
    other.hangUp();
  });

  test("needs no channel: a key with narrow patterns can send to any peer", async () => {
    const { wire, peerId } = await world.guest();
    expect((await world.restSend(peerId, { data: 1 }, narrow.credential)).status).toBe(200);
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
      const { wire, peerId } = await world.subscriber(channel, {}, { includeSenderMetadata: true });
      const metadata = '{ "n":12345678901234567890 }';
      const body = `{"from":"x", "d\\u0061ta" : ${text} ,"peerMetadata":${metadata}}`;
      const carried = (frame: string): boolean =>
        [`"data":${text}`, `"fromMetadata":${metadata}`].every((part) =>
          [",", "}"].some((end) => frame.includes(`${part}${end}`)),
        );
      expect((await world.restPublish(channel, body)).status).toBe(200);
      expect(carried(await wire.text())).toBe(true);
      expect((await world.restSend(peerId, body)).status).toBe(200);
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
  expect(listed.text).toBe(`{"channel":"${channel}","peers":[{"peerId":"alice","metadata":${peerMetadata}}]}\n`);
  expect(listed.headers.get("content-type")).toContain("application/json");
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

test("a publish over REST does not make its sender a member", async () => {
  const channel = fresh("room");
  const watcher = await world.member(channel);
  await world.restPublish(channel, { data: 1, from: fresh("bot") });
  const frames = await (watcher.wire as Wire).sync();
  expect(frames.map(({ type }) => type)).toEqual(["message"]);
});
