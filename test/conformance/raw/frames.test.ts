/** protocol.md 2 and 3: every client frame, every error and the order of the checks, every field of the responses. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { forge, nowSeconds } from "../../support/jwt.ts";
import { OPCODE } from "./support/frames.ts";
import type { AnyFrame, Frame } from "./support/shapes.ts";
import type { Wire } from "./support/wire.ts";
import { fresh, type Guest, join, newApp, startWorld, tokenQuery, type World } from "./support/world.ts";

setDefaultTimeout(30_000);

let world: World;
/** An application whose message quota is used up from the start. */
let spent: World;

beforeAll(async () => {
  world = await startWorld();
  spent = await newApp(world.server);
  await world.admin.must("PATCH", `/apps/${spent.app._id}`, { plan: { maxMessagesPerPeriod: 0 } });
});
afterEach(() => {
  world.hangUp();
  spent.hangUp();
});
afterAll(() => world.stop());

/** A peer that neither sees presence nor appears in it, so nothing arrives that it did not request. */
const QUIET = { permissions: ["publish", "subscribe", "send"] };
const quiet = (claims: object = {}): Promise<Guest> => world.guest({ ...QUIET, ...claims });

const error = (code: string, requestId?: string): Frame<"error"> => ({
  type: "error",
  ...(requestId !== undefined && { requestId }),
  code,
  message: expect.any(String) as unknown as string,
});

/** Every frame that one frame causes: all that come before the pong to the ping sent after it. */
async function brings(wire: Wire, frame: object | string): Promise<AnyFrame[]> {
  wire.send(frame);
  return wire.sync();
}

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
      metadata: { ice: [1] },
    });
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
    expect(Object.keys(welcome).sort()).toEqual(["expiresAt", "maxMessageSize", "peerId", "serverTime", "type"]);
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
      expect(Object.keys(welcome).sort()).toEqual(["expiresAt", "maxMessageSize", "peerId", "serverTime", "type"]);
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

const textAt = (wire: Wire, at: number): string => {
  const event = wire.events[at];
  return event?.kind === "text" ? event.text : "";
};

/** Whether the frame contains exactly this spelling of a field. */
const carries = (text: string, field: string, raw: string): boolean =>
  text.includes(`"${field}":${raw},`) || text.includes(`"${field}":${raw}}`);

describe("with a requestId", () => {
  test("each frame is answered by exactly one ack that echoes it", async () => {
    const channel = fresh("room");
    const other = await quiet();
    const { wire } = await quiet();
    for (const frame of [
      { type: "subscribe", channel },
      { type: "publish", channel, data: 1 },
      { type: "send", to: other.peerId, data: 1 },
      { type: "unsubscribe", channel },
    ]) {
      const requestId = fresh("request");
      expect(await brings(wire, { ...frame, requestId })).toEqual([{ type: "ack", requestId }]);
    }
  });

  test("an error echoes it and there is no ack", async () => {
    const { wire } = await quiet();
    expect(await brings(wire, { type: "publish", channel: "", data: 1, requestId: "r" })).toEqual([
      error("invalid_channel", "r"),
    ]);
  });

  test("a ping is answered by a pong that echoes it, and nothing else", async () => {
    const { wire } = await quiet();
    expect(await brings(wire, { type: "ping", requestId: "r" })).toEqual([{ type: "pong", requestId: "r" }]);
  });

  for (const requestId of ["1", "x".repeat(128), 'quote " and \\', "é😀", "line\nbreak\u0000", "\u2028", "null"])
    test(`${JSON.stringify(requestId).slice(0, 40)} is echoed unchanged`, async () => {
      const { wire } = await quiet();
      expect(await brings(wire, { type: "unsubscribe", channel: "c", requestId })).toEqual([
        { type: "ack", requestId },
      ]);
      expect(await brings(wire, { type: "nonsense", requestId })).toEqual([error("unknown_type", requestId)]);
      expect(await brings(wire, { type: "ping", requestId })).toEqual([{ type: "pong", requestId }]);
    });

  for (const requestId of ["", "x".repeat(129), 5, 0, null, true, {}, ["r"]])
    test(`${JSON.stringify(requestId).slice(0, 20)} is malformed and not echoed`, async () => {
      const room = fresh("room");
      const member = await quiet();
      await member.wire.request({ type: "subscribe", channel: room });
      const { wire } = await quiet();
      for (const frame of [
        { type: "publish", channel: room, data: 1, requestId },
        { type: "ping", requestId },
        { type: "nonsense", requestId },
      ]) {
        const [answer, ...more] = await brings(wire, frame);
        expect(more).toEqual([]);
        expect(Object.keys(answer ?? {}).sort()).toEqual(["code", "message", "type"]);
        expect(answer).toEqual(error("malformed_message"));
      }
      expect(await member.wire.sync()).toEqual([]);
    });
});

describe("without a requestId", () => {
  test("there is no ack, but the frame takes effect", async () => {
    const channel = fresh("room");
    const { wire, peerId } = await quiet();
    const other = await quiet();
    expect(await brings(wire, { type: "subscribe", channel })).toEqual([]);
    expect(await brings(other.wire, { type: "publish", channel, data: 1 })).toEqual([]);
    expect(await wire.frame()).toEqual({ type: "message", channel, from: other.peerId, data: 1 });
    expect(await brings(other.wire, { type: "send", to: peerId, data: 2 })).toEqual([]);
    expect(await wire.frame()).toEqual({ type: "direct", from: other.peerId, data: 2 });
    expect(await brings(wire, { type: "unsubscribe", channel })).toEqual([]);
    expect(await brings(other.wire, { type: "publish", channel, data: 3 })).toEqual([]);
    expect(await wire.sync()).toEqual([]);
  });

  test("errors are still sent, without the key requestId", async () => {
    const { wire } = await quiet();
    for (const [frame, code] of [
      [{ type: "nonsense" }, "unknown_type"],
      [{ type: "publish", channel: "c" }, "missing_data"],
      [{ type: "send", to: fresh("nobody"), data: 1 }, "peer_not_found"],
      [{ type: "subscribe" }, "invalid_channel"],
    ] as const) {
      const [answer, ...more] = await brings(wire, frame);
      expect(more).toEqual([]);
      expect(Object.keys(answer ?? {}).sort()).toEqual(["code", "message", "type"]);
      expect(answer).toEqual(error(code));
    }
  });

  test("a ping is answered by a pong without fields, however the ping is written", async () => {
    const { wire } = await quiet();
    for (const text of [
      '{"type":"ping"}',
      '{ "type" : "ping" }',
      '{"type":"ping","more":1}',
      '{"\\u0074ype":"p\\u0069ng"}',
    ])
      expect(await brings(wire, text)).toEqual([{ type: "pong" }]);
  });
});

describe("malformed_message", () => {
  for (const text of [
    "",
    " ",
    "hello",
    "{",
    '{"type":"ping"',
    "{'type':'ping'}",
    '{"type":"ping",}',
    '{"type":"ping"}{"type":"ping"}',
    "null",
    "true",
    "5",
    '"ping"',
    "[]",
    '[{"type":"ping"}]',
    "{}",
    '{"Type":"ping"}',
    '{"type":5}',
    '{"type":null}',
    '{"type":["ping"]}',
    '{"type":{"ping":1}}',
  ])
    test(`for ${JSON.stringify(text)}, and the connection stays open`, async () => {
      const { wire } = await quiet();
      expect(await brings(wire, text)).toEqual([error("malformed_message")]);
    });

  for (const [what, text] of [
    ["type", '{"type":"ping","type":"ping"}'],
    ["type, the second unknown", '{"type":"ping","type":"x"}'],
    ["requestId", '{"type":"ping","requestId":"a","requestId":"b"}'],
    ["channel", '{"type":"publish","channel":"a","channel":"b","data":1}'],
    ["data", '{"type":"publish","channel":"a","data":1,"data":2}'],
    ["to", '{"type":"send","to":"a","to":"b","data":1}'],
    ["an unknown field", '{"type":"ping","x":1,"y":2,"x":1}'],
    ["a key once spelled with an escape", '{"type":"publish","channel":"a","data":1,"d\\u0061ta":2}'],
    ["__proto__", '{"type":"ping","__proto__":1,"__proto__":2}'],
  ] as const)
    test(`for the same key twice: ${what}; nothing is echoed`, async () => {
      const { wire } = await quiet();
      const [answer, ...more] = await brings(wire, text);
      expect(more).toEqual([]);
      expect(answer).toEqual(error("malformed_message"));
      expect(answer).not.toHaveProperty("requestId");
    });

  test("is not sent for a key that occurs twice inside data, or in data and outside", async () => {
    const { wire } = await quiet();
    const text = '{"type":"publish","channel":"c","data":{"a":1,"a":2,"type":3,"data":4},"requestId":"r"}';
    expect(await brings(wire, text)).toEqual([{ type: "ack", requestId: "r" }]);
  });

  test("for a binary frame, whatever it contains", async () => {
    const room = fresh("room");
    const member = await quiet();
    await member.wire.request({ type: "subscribe", channel: room });
    const { wire } = await quiet();
    for (const payload of [
      "",
      "\u0000\u00ff",
      JSON.stringify({ type: "publish", channel: room, data: 1, requestId: "r" }),
    ]) {
      wire.frameOf(OPCODE.binary, payload);
      expect(await wire.sync()).toEqual([error("malformed_message")]);
    }
    expect(await member.wire.sync()).toEqual([]);
  });

  for (const includeSenderMetadata of ["true", "", 1, 0, null, {}, []])
    test(`for includeSenderMetadata ${JSON.stringify(includeSenderMetadata)}: nothing is subscribed`, async () => {
      const channel = fresh("room");
      const { wire } = await quiet();
      const frame = { type: "subscribe", channel, includeSenderMetadata, requestId: "r" };
      expect(await brings(wire, frame)).toEqual([error("malformed_message", "r")]);
      const other = await quiet();
      expect(await other.wire.request({ type: "publish", channel, data: 1 })).toMatchObject({ type: "ack" });
      expect(await wire.sync()).toEqual([]);
    });
});

describe("WebSocket features", () => {
  test("a text frame in fragments, with a ping between them, is one frame", async () => {
    const { wire } = await quiet();
    wire.frameOf(OPCODE.text, '{"type":"pi', { final: false });
    wire.frameOf(OPCODE.continuation, 'ng","reque', { final: false });
    wire.ping("between");
    wire.frameOf(OPCODE.continuation, 'stId":"r"}');
    expect(await wire.next(({ kind }) => kind === "pong")).toMatchObject({ payload: "between" });
    expect(await wire.frame()).toEqual({ type: "pong", requestId: "r" });
  });

  test("a WebSocket ping is answered by a pong with the same bytes", async () => {
    const { wire } = await quiet();
    for (const payload of ["", "x".repeat(125)]) {
      wire.ping(payload);
      expect(await wire.next(({ kind }) => kind === "pong")).toMatchObject({ payload });
    }
  });

  test("an unsolicited pong is ignored", async () => {
    const { wire } = await quiet();
    for (const payload of ["", "1", "-1", "NaN", "nonsense", "99999999999999999999"]) wire.pong(payload);
    expect(await wire.sync()).toEqual([]);
  });
});

describe("unknown_type", () => {
  for (const type of ["", "hello", "Ping", "ping ", "Subscribe", "ack", "error", "welcome", "message", "pong", "other"])
    test(`for ${JSON.stringify(type)}`, async () => {
      const { wire } = await quiet();
      expect(await brings(wire, { type, requestId: "r" })).toEqual([error("unknown_type", "r")]);
      expect(await brings(wire, { type })).toEqual([error("unknown_type")]);
    });
});

describe("a type that names a property of every object", () => {
  // A separate service: such a frame once ended the process.
  for (const type of ["constructor", "toString", "__proto__"])
    test(`${type} is unknown_type, and the service keeps running`, async () => {
      const own = await startWorld();
      const { wire } = await own.guest(QUIET);
      const other = await own.guest(QUIET);
      expect(await brings(wire, { type, requestId: "r" })).toEqual([error("unknown_type", "r")]);
      expect(await other.wire.sync()).toEqual([]);
      await own.stop();
    });
});

test("extra fields are ignored", async () => {
  const channel = fresh("room");
  const { wire } = await quiet();
  const other = await quiet();
  const extra = { from: "another", fromMetadata: { a: 1 }, snapshot: true, x: [1, { y: 2 }], requestid: "no" };
  expect(await brings(wire, { type: "subscribe", channel, ...extra, requestId: "r" })).toEqual([
    { type: "ack", requestId: "r" },
  ]);
  await other.wire.request({ type: "publish", channel, data: 1, ...extra });
  expect(await wire.frame()).toEqual({ type: "message", channel, from: other.peerId, data: 1 });
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
      const { wire } = await quiet();
      for (const frame of [...both(channel), { type: "unsubscribe", channel, requestId: "r" }])
        expect(await brings(wire, frame)).toEqual([error("invalid_channel", "r")]);
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
      const { wire } = await quiet();
      const other = await quiet();
      expect(await wire.request({ type: "subscribe", channel })).toMatchObject({ type: "ack" });
      expect(await other.wire.request({ type: "publish", channel, data: 1 })).toMatchObject({ type: "ack" });
      expect(await wire.frame("message")).toMatchObject({ channel, from: other.peerId });
    });

  test("differ by case, and by how a letter is composed", async () => {
    const stem = fresh("Room");
    const { wire } = await quiet();
    const other = await quiet();
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
      const { wire } = await quiet();
      for (const frame of both(channel)) expect(await brings(wire, frame)).toEqual([error("channel_reserved", "r")]);
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
      const { wire } = await quiet();
      expect(await brings(wire, { type: "send", to, data: 1, requestId: "r" })).toEqual([
        error("invalid_peer_id", "r"),
      ]);
    });

  for (const to of ["~".repeat(128), " ", '"\\', "__proto__", "constructor"])
    test(`${JSON.stringify(to).slice(0, 20)} is valid: peer_not_found while the peer is offline, then it arrives`, async () => {
      const { wire, peerId } = await quiet();
      const frame = { type: "send", to, data: 1, requestId: "r" };
      expect(await brings(wire, frame)).toEqual([error("peer_not_found", "r")]);
      const other = await quiet({ sub: to });
      expect(await brings(wire, frame)).toEqual([{ type: "ack", requestId: "r" }]);
      expect(await other.wire.frame()).toEqual({ type: "direct", from: peerId, data: 1 });
    });
});

describe("data", () => {
  test("that is absent is missing_data", async () => {
    const { wire, peerId } = await quiet();
    for (const frame of [
      { type: "publish", channel: "c", requestId: "r" },
      { type: "publish", channel: "c", Data: 1, requestId: "r" },
      { type: "send", to: peerId, requestId: "r" },
    ])
      expect(await brings(wire, frame)).toEqual([error("missing_data", "r")]);
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
      const receiver = await quiet();
      await receiver.wire.request({ type: "subscribe", channel });
      const { wire } = await quiet();
      for (const [frame, type] of [
        [`{"type":"publish","channel":"${channel}","data":${raw}}`, "message"],
        [`{"data": ${raw} ,"channel":"${channel}","type":"publish"}`, "message"],
        [`{"type":"send","to":"${receiver.peerId}","data":${raw}}`, "direct"],
        [`{"d\\u0061ta" :\n${raw},"to":"${receiver.peerId}","type":"send"}`, "direct"],
      ] as const) {
        expect(await brings(wire, frame)).toEqual([]);
        const text = await receiver.wire.text();
        expect(JSON.parse(text).type).toBe(type);
        expect(carries(text, "data", raw)).toBe(true);
      }
    });
});

describe("subscribe.includeSenderMetadata", () => {
  const METADATA = { name: "Ann", role: "host" };
  let sender: Guest;
  let channel: string;
  /** The next message, as this subscriber receives it. */
  const seen = async (wire: Wire): Promise<AnyFrame> => {
    await sender.wire.request({ type: "publish", channel, data: 1 });
    return wire.frame();
  };
  const plain = (): Frame<"message"> => ({ type: "message", channel, from: sender.peerId, data: 1 });
  const full = (): Frame<"message"> => ({ ...plain(), fromMetadata: METADATA });
  const setUp = async (): Promise<Wire> => {
    channel = fresh("room");
    sender = await quiet({ peerMetadata: METADATA });
    return (await quiet()).wire;
  };

  test("absent and false: no fromMetadata; true: fromMetadata", async () => {
    const wire = await setUp();
    await wire.request({ type: "subscribe", channel });
    expect(await seen(wire)).toEqual(plain());
    const second = (await quiet()).wire;
    await second.request({ type: "subscribe", channel, includeSenderMetadata: false });
    expect(await seen(second)).toEqual(plain());
    const third = (await quiet()).wire;
    await third.request({ type: "subscribe", channel, includeSenderMetadata: true });
    expect(await seen(third)).toEqual(full());
  });

  test("the last subscribe decides, where absent means false", async () => {
    const wire = await setUp();
    for (const [fields, expected] of [
      [{}, plain],
      [{ includeSenderMetadata: true }, full],
      [{ includeSenderMetadata: true }, full],
      [{ includeSenderMetadata: false }, plain],
      [{ includeSenderMetadata: true }, full],
      [{}, plain],
    ] as const) {
      await wire.request({ type: "subscribe", channel, ...fields });
      expect(await seen(wire)).toEqual(expected());
      expect(await wire.sync()).toEqual([]);
    }
  });

  test("is set per connection", async () => {
    const one = await setUp();
    const two = (await quiet()).wire;
    await one.request({ type: "subscribe", channel, includeSenderMetadata: true });
    await two.request({ type: "subscribe", channel });
    expect(await seen(one)).toEqual(full());
    expect(await two.frame()).toEqual(plain());
    await one.request({ type: "unsubscribe", channel });
    await one.request({ type: "subscribe", channel });
    expect(await seen(one)).toEqual(plain());
  });

  test("adds nothing when the sender has no metadata", async () => {
    const wire = await setUp();
    await wire.request({ type: "subscribe", channel, includeSenderMetadata: true });
    sender = await quiet();
    expect(await seen(wire)).toEqual(plain());
    const { keyId } = await world.admin.createPublishable(world.app._id);
    sender = await world.visitor(keyId);
    expect(await seen(wire)).toEqual(plain());
  });

  test("does not affect direct messages: they carry metadata whenever the sender has any", async () => {
    const wire = await setUp();
    const receiver = await quiet();
    await sender.wire.request({ type: "send", to: receiver.peerId, data: 1 });
    expect(await receiver.wire.frame()).toEqual({
      type: "direct",
      from: sender.peerId,
      fromMetadata: METADATA,
      data: 1,
    });
    wire.send({ type: "send", to: receiver.peerId, data: 2 });
    expect(await receiver.wire.frame("direct")).not.toHaveProperty("fromMetadata");
  });
});

describe("a connection holds 100 channels", () => {
  test("the 101st is channel_limit_exceeded; one already subscribed, and one after an unsubscribe, is not", async () => {
    const { wire } = await quiet();
    const name = fresh("room");
    for (let i = 0; i < 100; i++) wire.send({ type: "subscribe", channel: `${name}/${i}` });
    expect(await wire.sync()).toEqual([]);
    const next = { type: "subscribe", channel: `${name}/100`, requestId: "r" };
    expect(await brings(wire, next)).toEqual([error("channel_limit_exceeded", "r")]);
    expect(await brings(wire, { ...next, channel: `${name}/0` })).toEqual([{ type: "ack", requestId: "r" }]);
    expect(await brings(wire, { type: "unsubscribe", channel: `${name}/50`, requestId: "r" })).toHaveLength(1);
    expect(await brings(wire, next)).toEqual([{ type: "ack", requestId: "r" }]);
    expect(await brings(wire, { ...next, channel: `${name}/50` })).toEqual([error("channel_limit_exceeded", "r")]);
    const other = await quiet();
    other.wire.send({ type: "publish", channel: `${name}/100`, data: 1 });
    other.wire.send({ type: "publish", channel: `${name}/50`, data: 1 });
    other.wire.send({ type: "publish", channel: `${name}/99`, data: 1 });
    await other.wire.sync();
    expect((await wire.sync()).map((frame) => frame.type === "message" && frame.channel)).toEqual([
      `${name}/100`,
      `${name}/99`,
    ]);
  });
});

describe("permissions of a token", () => {
  test("each action is needed for its frame, and for no other", async () => {
    const receiver = await quiet();
    const frames = {
      subscribe: { type: "subscribe", channel: fresh("room") },
      publish: { type: "publish", channel: fresh("room"), data: 1 },
      send: { type: "send", to: receiver.peerId, data: 1 },
    };
    for (const missing of ["subscribe", "publish", "send"] as const) {
      const { wire } = await world.guest({
        permissions: ["subscribe", "publish", "send"].filter((x) => x !== missing),
      });
      for (const [action, frame] of Object.entries(frames)) {
        const expected = action === missing ? error("action_not_permitted", "r") : { type: "ack", requestId: "r" };
        expect(await brings(wire, { ...frame, requestId: "r" })).toEqual([expected as AnyFrame]);
      }
    }
  });

  test("ping and unsubscribe need no action", async () => {
    const { wire } = await world.guest({ permissions: [], channels: [] });
    expect(await brings(wire, { type: "ping" })).toEqual([{ type: "pong" }]);
    expect(await brings(wire, { type: "unsubscribe", channel: "x", requestId: "r" })).toEqual([
      { type: "ack", requestId: "r" },
    ]);
  });

  test("the action subscribe does not allow publish, nor publish subscribe", async () => {
    const channel = fresh("room");
    const reader = await world.guest({ permissions: ["subscribe"] });
    const writer = await world.guest({ permissions: ["publish"] });
    expect(await reader.wire.request({ type: "subscribe", channel })).toMatchObject({ type: "ack" });
    expect(await reader.wire.request({ type: "publish", channel, data: 1 })).toMatchObject({
      code: "action_not_permitted",
    });
    expect(await writer.wire.request({ type: "subscribe", channel })).toMatchObject({ code: "action_not_permitted" });
    expect(await writer.wire.request({ type: "publish", channel, data: 1 })).toMatchObject({ type: "ack" });
    expect(await reader.wire.frame()).toMatchObject({ type: "message", from: writer.peerId });
  });

  test("channels are matched by pattern: * any text without a slash, ** any text, \\* a star", async () => {
    const { wire } = await quiet({ channels: ["chat/*", "news/**", "room", "a*c/x"] });
    for (const [channel, allowed] of [
      ["chat/1", true],
      ["chat/", true],
      ["chat/1/2", false],
      ["chat", false],
      ["Chat/1", false],
      ["news/", true],
      ["news/a/b/c", true],
      ["news", false],
      ["room", true],
      ["room2", false],
      ["ac/x", true],
      ["abbc/x", true],
      ["ab/c/x", false],
    ] as const)
      for (const frame of [
        { type: "subscribe", channel, requestId: "r" },
        { type: "publish", channel, data: 1, requestId: "r" },
      ])
        expect({ channel, came: await brings(wire, frame) }).toEqual({
          channel,
          came: [allowed ? { type: "ack", requestId: "r" } : error("channel_not_authorized", "r")],
        });
  });

  test("an empty list of channels allows none; an absent one allows the key's", async () => {
    const key = await world.admin.createKey(world.app._id, { channelPatterns: ["chat/*"] });
    const none = await world.guest({ ...QUIET, channels: [] }, {}, key);
    const all = await world.guest({ ...QUIET }, {}, key);
    expect(await none.wire.request({ type: "subscribe", channel: "chat/1" })).toMatchObject({
      code: "channel_not_authorized",
    });
    expect(await all.wire.request({ type: "subscribe", channel: "chat/1" })).toMatchObject({ type: "ack" });
    expect(await all.wire.request({ type: "subscribe", channel: "other" })).toMatchObject({
      code: "channel_not_authorized",
    });
    expect(await none.wire.request({ type: "send", to: all.peerId, data: 1 })).toMatchObject({ type: "ack" });
  });

  test("a publishable key's connection has the key's channels and actions", async () => {
    const { keyId } = await world.admin.createPublishable(world.app._id, {
      channelPatterns: ["chat/*"],
      actions: ["subscribe"],
    });
    const { wire } = await world.visitor(keyId);
    expect(await wire.request({ type: "subscribe", channel: "chat/1" })).toMatchObject({ type: "ack" });
    expect(await wire.request({ type: "subscribe", channel: "x" })).toMatchObject({ code: "channel_not_authorized" });
    expect(await wire.request({ type: "publish", channel: "chat/1", data: 1 })).toMatchObject({
      code: "action_not_permitted",
    });
  });

  test("the text of a refusal says whether the token or the key does not allow it", async () => {
    const key = await world.admin.createKey(world.app._id, {
      channelPatterns: ["chat/*"],
      actions: ["subscribe", "publish"],
    });
    const narrow = await world.guest({ channels: ["chat/1"], permissions: ["subscribe"] }, {}, key);
    const plain = await world.guest({}, {}, key);
    const said = async ({ wire }: typeof plain, frame: object): Promise<string | undefined> => {
      const answer = await wire.request(frame);
      return answer.type === "error" ? answer.message : undefined;
    };
    for (const [frame, byNarrow, byPlain] of [
      [{ type: "subscribe", channel: "chat/2" }, "The token does not cover this channel.", undefined],
      [
        { type: "subscribe", channel: "x" },
        "The key does not cover this channel.",
        "The key does not cover this channel.",
      ],
      [{ type: "publish", channel: "chat/1", data: 1 }, "The token does not permit this action.", undefined],
      [
        { type: "send", to: "x", data: 1 },
        "The token does not permit this action.",
        "The key does not permit this action.",
      ],
    ] as const)
      expect([await said(narrow, frame), await said(plain, frame)]).toEqual([byNarrow, byPlain]);
  });

  test("publish needs no subscription", async () => {
    const { wire } = await quiet();
    expect(await wire.request({ type: "publish", channel: fresh("room"), data: 1 })).toMatchObject({ type: "ack" });
  });
});

describe("of two faults of a frame, the earlier check's is reported", () => {
  /** A peer without any action or channel. */
  const powerless = (): Promise<Guest> => world.guest({ permissions: [], channels: [] });

  for (const [earlier, later, frame, code] of [
    ["a type that is no string", "a bad requestId", { type: 5, requestId: 5 }, "malformed_message"],
    ["a bad requestId", "an unknown type", { type: "x", requestId: 5 }, "malformed_message"],
    ["a bad requestId", "a bad channel", { type: "publish", channel: 5, requestId: "" }, "malformed_message"],
    ["an unknown type", "a bad channel", { type: "x", channel: 5 }, "unknown_type"],
    ["a bad channel", "the action, subscribing", { type: "subscribe", channel: "*" }, "invalid_channel"],
    ["a bad channel", "the action, publishing", { type: "publish", channel: "*" }, "invalid_channel"],
    ["a reserved channel", "the action, subscribing", { type: "subscribe", channel: "_parley/x" }, "channel_reserved"],
    ["a reserved channel", "the action, publishing", { type: "publish", channel: "_parley/x" }, "channel_reserved"],
    ["a bad and reserved channel", "itself", { type: "publish", channel: "_parley/*" }, "invalid_channel"],
    ["the action, subscribing", "the channel", { type: "subscribe", channel: "x" }, "action_not_permitted"],
    ["the action, publishing", "the channel and data", { type: "publish", channel: "x" }, "action_not_permitted"],
    ["a bad peer id", "the action and data", { type: "send", to: "" }, "invalid_peer_id"],
    ["the action, sending", "data", { type: "send", to: "x" }, "action_not_permitted"],
  ] as const)
    test(`${earlier} is checked before ${later}`, async () => {
      const { wire } = await powerless();
      expect(await brings(wire, frame)).toEqual([error(code)]);
    });

  test("the channel is checked before data", async () => {
    const { wire } = await quiet({ channels: ["mine"] });
    expect(await brings(wire, { type: "publish", channel: "x" })).toEqual([error("channel_not_authorized")]);
  });

  test("the channel is checked before the limit of channels", async () => {
    const { wire } = await quiet({ channels: ["mine/*"] });
    for (let i = 0; i < 100; i++) wire.send({ type: "subscribe", channel: `mine/${i}` });
    expect(await brings(wire, { type: "subscribe", channel: "x" })).toEqual([error("channel_not_authorized")]);
    expect(await brings(wire, { type: "subscribe", channel: "mine/100" })).toEqual([error("channel_limit_exceeded")]);
  });

  test("data is checked before the quota, and the quota before the peer", async () => {
    const { wire } = await spent.guest(QUIET);
    expect(await brings(wire, { type: "publish", channel: "x" })).toEqual([error("missing_data")]);
    expect(await brings(wire, { type: "publish", channel: "x", data: 1 })).toEqual([error("over_message_quota")]);
    expect(await brings(wire, { type: "send", to: fresh("nobody") })).toEqual([error("missing_data")]);
    expect(await brings(wire, { type: "send", to: fresh("nobody"), data: 1 })).toEqual([error("over_message_quota")]);
  });

  test("the channel and the action are checked before the quota", async () => {
    const { wire } = await spent.guest({ permissions: ["publish"], channels: ["mine"] });
    expect(await brings(wire, { type: "publish", channel: "x", data: 1 })).toEqual([error("channel_not_authorized")]);
    expect(await brings(wire, { type: "send", to: "x", data: 1 })).toEqual([error("action_not_permitted")]);
  });
});

describe("unsubscribe", () => {
  test("from a channel without a subscription is acked", async () => {
    const { wire } = await quiet();
    const frame = { type: "unsubscribe", channel: fresh("room"), requestId: "r" };
    expect(await brings(wire, frame)).toEqual([{ type: "ack", requestId: "r" }]);
    expect(await brings(wire, frame)).toEqual([{ type: "ack", requestId: "r" }]);
  });

  test("ends one channel, not another", async () => {
    const [one, two] = [fresh("room"), fresh("room")];
    const { wire } = await quiet();
    const other = await quiet();
    for (const channel of [one, two]) await wire.request({ type: "subscribe", channel });
    await wire.request({ type: "unsubscribe", channel: one });
    other.wire.send({ type: "publish", channel: one, data: 1 }, { type: "publish", channel: two, data: 2 });
    expect(await wire.frame()).toMatchObject({ type: "message", channel: two });
    expect(await wire.sync()).toEqual([]);
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
