/** protocol.md 2 and 3: the fields of welcome, channel names, peer ids, data and presence. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { forge, nowSeconds } from "../../support/jwt.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { errorFrame } from "./support/expected.ts";
import { fresh, join, tokenQuery, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const world = await worldForTests();

const textAt = (wire: Wire, at: number): string => {
  const event = wire.events[at];
  return event?.kind === "text" ? event.text : "";
};

/** Whether the frame contains exactly this spelling of a field. */
const carries = (text: string, field: string, raw: string): boolean =>
  text.includes(`"${field}":${raw},`) || text.includes(`"${field}":${raw}}`);

/** Without metadata, in the order of the alphabet. */
const WELCOME_FIELDS = ["connection", "expiresAt", "features", "maxMessageSize", "peerId", "serverTime", "type"];

describe("welcome", () => {
  test("comes first and once, with exactly its fields", async () => {
    const exp = nowSeconds() + 500;
    const sub = fresh("peer");
    const before = nowSeconds();
    const { wire, welcome } = await world.guest({ sub, exp, metadata: { ice: [1] }, peerMetadata: { name: "A" } });
    expect(welcome).toEqual({
      type: "welcome",
      peerId: sub,
      expiresAt: exp,
      serverTime: expect.any(Number) as unknown as number,
      maxMessageSize: 65_536,
      features: expect.arrayContaining(["history", "state", "renew", "send-id", "events"]),
      connection: expect.stringMatching(/^[0-9a-z-]{3,32}$/),
      metadata: { ice: [1] },
    } as never);
    expect(Number.isInteger(welcome.serverTime)).toBe(true);
    expect(welcome.serverTime).toBeGreaterThanOrEqual(before);
    expect(welcome.serverTime).toBeLessThanOrEqual(nowSeconds());
    expect(await wire.sync()).toEqual([]);
    await wire.request({ type: "subscribe", channel: fresh("room") });
    await wire.until("presence");
    expect(wire.frames.filter(({ type }) => type === "welcome")).toHaveLength(1);
    expect(wire.events[0]).toMatchObject({ kind: "text" });
  });

  test("has no metadata when the token has none", async () => {
    const { welcome } = await world.guest();
    expect(Object.keys(welcome).sort()).toEqual(WELCOME_FIELDS);
  });

  for (const metadata of [
    "{}",
    '{ "b" : 1,\n"a":12345678901234567890 , "c":[ 1.0, 1e2 ,-0 ]}',
    '{"iceServers":[{"urls":["turn:x"],"username":"\\u00e9\\/","credential":"\\"}"}],"é":"😀"}',
  ])
    test(`carries the token's metadata byte for byte: ${metadata}`, async () => {
      const claims = `{"sub":"${fresh("peer")}","metadata":${metadata},"exp":${nowSeconds() + 60}}`;
      const token = forge({ alg: "HS256", kid: world.key.keyId }, claims, world.key.secret);
      const { wire } = await world.welcomed({ query: tokenQuery(token) });
      expect(wire.events[0]).toMatchObject({ kind: "text" });
      expect(carries(textAt(wire, 0), "metadata", metadata)).toBe(true);
    });

  test("of a publishable key has a fresh random UUID, expiresAt null, and no metadata", async () => {
    const { keyId } = await world.admin.createPublishable(world.app._id);
    const seen = new Set<string>();
    for (let i = 0; i < 5; i++) {
      const { wire, welcome } = await world.visitor(keyId);
      expect(Object.keys(welcome).sort()).toEqual(WELCOME_FIELDS);
      expect(welcome.expiresAt).toBeNull();
      expect(textAt(wire, 0)).toContain('"expiresAt":null');
      expect(welcome.peerId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      seen.add(welcome.peerId);
    }
    expect(seen.size).toBe(5);
  });

  test("a client cannot choose its peer id with a publishable key", async () => {
    const { keyId } = await world.admin.createPublishable(world.app._id);
    const { peerId } = await world.visitor(keyId, { query: `key=${keyId}&peerId=me&sub=me` });
    expect(peerId).not.toBe("me");
  });

  test("private metadata never reaches another peer", async () => {
    const room = fresh("room");
    const watcher = await world.member(room);
    await join(watcher.wire, room, { includeSenderMetadata: true });
    const mark = fresh("private");
    const { wire } = await world.guest({ metadata: { mark }, peerMetadata: { name: "A" } });
    await join(wire, room);
    wire.send({ type: "publish", channel: room, data: 1 }, { type: "send", to: watcher.peerId, data: 2 });
    await watcher.wire.until("direct");
    wire.close();
    await watcher.wire.until("presence", ({ left }) => left.length === 1);
    expect(JSON.stringify(watcher.wire.frames)).not.toContain(mark);
  });
});

describe("channel names", () => {
  const both = (channel: unknown): object[] => [
    { type: "subscribe", channel, requestId: "r" },
    { type: "publish", channel, data: 1, requestId: "r" },
  ];

  for (const [what, channel] of [
    ["absent", undefined],
    ["null", null],
    ["a number", 5],
    ["a list", ["a"]],
    ["empty", ""],
    ["257 bytes", "x".repeat(257)],
    ["129 letters of two bytes", "é".repeat(129)],
    ["65 letters of four bytes", "😀".repeat(65)],
    ["NUL", "a\u0000b"],
    ["a tab", "a\tb"],
    ["a line break", "a\nb"],
    ["DEL", "a\u007f"],
    ["a C1 control", "a\u0085"],
    ["*", "*"],
    ["a wildcard", "chat/*"],
    ["two stars", "chat/**"],
    ["an escaped star", "chat/\\*"],
    ["half a surrogate pair", "a\ud800"],
  ] as const)
    test(`${what}: invalid_channel, for unsubscribe too`, async () => {
      const { wire } = await world.quiet();
      for (const frame of [...both(channel), { type: "unsubscribe", channel, requestId: "r" }])
        expect(await wire.brings(frame)).toEqual([errorFrame("invalid_channel", "r")]);
    });

  for (const [what, channel] of [
    ["256 bytes", "x".repeat(256)],
    ["128 letters of two bytes", "é".repeat(128)],
    ["64 letters of four bytes", "😀".repeat(64)],
    ["a space", " "],
    ["slashes", "/a//b/"],
    ["dots", ".."],
    ["quotes and backslashes", '"\\"'],
    ["__proto__", "__proto__"],
    ["_metered without its slash", "_metered"],
    ["a reserved prefix further in", "a/_metered/b"],
    ["one more underscore", "__system/a"],
  ] as const)
    test(`${what} is a valid name, and arrives unchanged`, async () => {
      const { wire } = await world.quiet();
      const other = await world.quiet();
      expect(await wire.request({ type: "subscribe", channel })).toMatchObject({ type: "ack" });
      expect(await other.wire.request({ type: "publish", channel, data: 1 })).toMatchObject({ type: "ack" });
      expect(await wire.frame("message")).toMatchObject({ channel, from: other.peerId });
    });

  test("differ by case, and by how a letter is composed", async () => {
    const stem = fresh("Room");
    const { wire } = await world.quiet();
    const other = await world.quiet();
    await wire.request({ type: "subscribe", channel: `${stem}é` });
    for (const channel of [`${stem}É`, `${stem.toLowerCase()}é`, `${stem}e\u0301`])
      await other.wire.request({ type: "publish", channel, data: 1 });
    expect(await wire.sync()).toEqual([]);
  });

  for (const channel of [
    "_metered/x",
    "_internal/x",
    "_system/x",
    "_parley/x",
    "_Metered/",
    "_SYSTEM/a/b",
    "_pArLeY/x",
  ])
    test(`${channel} is reserved, even if the key's patterns allow it`, async () => {
      const { wire } = await world.quiet();
      for (const frame of both(channel))
        expect(await wire.brings(frame)).toEqual([errorFrame("channel_reserved", "r")]);
    });
});

describe("peer ids of send", () => {
  for (const [what, to] of [
    ["absent", undefined],
    ["null", null],
    ["a number", 5],
    ["empty", ""],
    ["129 characters", "x".repeat(129)],
    ["not ASCII", "zoë"],
    ["a line break", "a\n"],
    ["DEL", "a\u007f"],
  ] as const)
    test(`${what}: invalid_peer_id`, async () => {
      const { wire } = await world.quiet();
      expect(await wire.brings({ type: "send", to, data: 1, requestId: "r" })).toEqual([
        errorFrame("invalid_peer_id", "r"),
      ]);
    });

  for (const to of ["~".repeat(128), " ", '"\\', "__proto__", "constructor"])
    test(`${JSON.stringify(to).slice(0, 20)} is valid: peer_not_found while the peer is offline, then it arrives`, async () => {
      const { wire, peerId } = await world.quiet();
      const frame = { type: "send", to, data: 1, requestId: "r" };
      expect(await wire.brings(frame)).toEqual([errorFrame("peer_not_found", "r")]);
      const other = await world.quiet({ sub: to });
      expect(await wire.brings(frame)).toEqual([{ type: "ack", requestId: "r" }]);
      expect(await other.wire.frame()).toEqual({ type: "direct", from: peerId, data: 1 });
    });
});

describe("data", () => {
  test("that is absent is missing_data", async () => {
    const { wire, peerId } = await world.quiet();
    for (const frame of [
      { type: "publish", channel: "c", requestId: "r" },
      { type: "publish", channel: "c", Data: 1, requestId: "r" },
      { type: "send", to: peerId, requestId: "r" },
    ])
      expect(await wire.brings(frame)).toEqual([errorFrame("missing_data", "r")]);
  });

  for (const raw of [
    "null",
    "false",
    "0",
    '""',
    "[]",
    "{}",
    "12345678901234567890",
    "0.1000000000000000000001",
    "1e400",
    "-0",
    "1.0",
    "1E+2",
    '{"b":1,"a":2,"10":3,"9":4}',
    '{ "a" :\t1 ,\n "b" : [ 1 , 2 ] }',
    '{"a":1,"a":2}',
    '"\\u0041\\/\\b\\"\\\\"',
    '"\\ud83d\\ude00 😀 é \\u00e9 \u2028"',
    '"}],{\\"data\\":1"',
    '{"data":{"data":[{"data":null}]},"type":"error","requestId":"x"}',
    '{"__proto__":{"a":1},"constructor":null}',
    `[${"[".repeat(400)}${"]".repeat(400)}]`,
  ])
    test(`arrives byte for byte, in messages and direct: ${raw.slice(0, 40)}`, async () => {
      const channel = fresh("room");
      const receiver = await world.quiet();
      await receiver.wire.request({ type: "subscribe", channel });
      const { wire } = await world.quiet();
      for (const [frame, type] of [
        [`{"type":"publish","channel":"${channel}","data":${raw}}`, "message"],
        [`{"data": ${raw} ,"channel":"${channel}","type":"publish"}`, "message"],
        [`{"type":"send","to":"${receiver.peerId}","data":${raw}}`, "direct"],
        [`{"d\\u0061ta" :\n${raw},"to":"${receiver.peerId}","type":"send"}`, "direct"],
      ] as const) {
        expect(await wire.brings(frame)).toEqual([]);
        const text = await receiver.wire.text();
        expect(JSON.parse(text).type).toBe(type);
        expect(carries(text, "data", raw)).toBe(true);
      }
    });
});

test("presence frames have both arrays, and snapshot only in a roster", async () => {
  const room = fresh("room");
  const watcher = await world.member(room);
  expect(watcher.roster).toEqual({ type: "presence", channel: room, joined: [], left: [], snapshot: true });
  const guest = await world.member(room, { peerMetadata: { a: 1 } });
  expect(guest.roster).toEqual({
    type: "presence",
    channel: room,
    joined: [{ peerId: watcher.peerId }],
    left: [],
    snapshot: true,
  });
  const entry = { peerId: guest.peerId, metadata: { a: 1 } };
  expect(await watcher.wire.frame()).toEqual({ type: "presence", channel: room, joined: [entry], left: [] });
  guest.wire.close();
  expect(await watcher.wire.frame()).toEqual({ type: "presence", channel: room, joined: [], left: [entry] });
});

test("peerMetadata reaches others byte for byte", async () => {
  const raw = '{ "b":12345678901234567890, "a":"\\u00e9" }';
  const room = fresh("room");
  const watcher = await world.member(room);
  await join(watcher.wire, room, { includeSenderMetadata: true });
  const claims = `{"sub":"${fresh("peer")}","peerMetadata":${raw},"exp":${nowSeconds() + 60}}`;
  const token = forge({ alg: "HS256", kid: world.key.keyId }, claims, world.key.secret);
  const { wire } = await world.welcomed({ query: tokenQuery(token) });
  await join(wire, room);
  expect(carries(await watcher.wire.text(), "metadata", raw)).toBe(true);
  wire.send({ type: "publish", channel: room, data: 1 }, { type: "send", to: watcher.peerId, data: 1 });
  expect(carries(await watcher.wire.text(), "fromMetadata", raw)).toBe(true);
  expect(carries(await watcher.wire.text(), "fromMetadata", raw)).toBe(true);
});
