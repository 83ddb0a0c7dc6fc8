/** protocol.md 2 and 3: acks, errors and malformed client frames. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { OPCODE } from "../../support/wire/frames.ts";
import { errorFrame } from "./support/expected.ts";
import { fresh, QUIET, startWorld, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const world = await worldForTests();

describe("with a requestId", () => {
  test("each frame is answered by exactly one ack that echoes it", async () => {
    const channel = fresh("room");
    const other = await world.quiet();
    const { wire } = await world.quiet();
    for (const frame of [
      { type: "subscribe", channel },
      { type: "publish", channel, data: 1 },
      { type: "send", to: other.peerId, data: 1 },
      { type: "unsubscribe", channel },
    ]) {
      const requestId = fresh("request");
      expect(await wire.brings({ ...frame, requestId })).toEqual([{ type: "ack", requestId }]);
    }
  });

  test("an error echoes it and there is no ack", async () => {
    const { wire } = await world.quiet();
    expect(await wire.brings({ type: "publish", channel: "", data: 1, requestId: "r" })).toEqual([
      errorFrame("invalid_channel", "r"),
    ]);
  });

  test("a ping is answered by a pong that echoes it, and nothing else", async () => {
    const { wire } = await world.quiet();
    expect(await wire.brings({ type: "ping", requestId: "r" })).toEqual([{ type: "pong", requestId: "r" }]);
  });

  for (const requestId of ["1", "x".repeat(128), 'quote " and \\', "é😀", "line\nbreak\u0000", "\u2028", "null"])
    test(`${JSON.stringify(requestId).slice(0, 40)} is echoed unchanged`, async () => {
      const { wire } = await world.quiet();
      expect(await wire.brings({ type: "unsubscribe", channel: "c", requestId })).toEqual([{ type: "ack", requestId }]);
      expect(await wire.brings({ type: "nonsense", requestId })).toEqual([errorFrame("unknown_type", requestId)]);
      expect(await wire.brings({ type: "ping", requestId })).toEqual([{ type: "pong", requestId }]);
    });

  for (const requestId of ["", "x".repeat(129), 5, 0, null, true, {}, ["r"]])
    test(`${JSON.stringify(requestId).slice(0, 20)} is malformed and not echoed`, async () => {
      const room = fresh("room");
      const member = await world.quiet();
      await member.wire.request({ type: "subscribe", channel: room });
      const { wire } = await world.quiet();
      for (const frame of [
        { type: "publish", channel: room, data: 1, requestId },
        { type: "ping", requestId },
        { type: "nonsense", requestId },
      ]) {
        const [answer, ...more] = await wire.brings(frame);
        expect(more).toEqual([]);
        expect(Object.keys(answer ?? {}).sort()).toEqual(["code", "message", "type"]);
        expect(answer).toEqual(errorFrame("malformed_message"));
      }
      expect(await member.wire.sync()).toEqual([]);
    });
});

describe("without a requestId", () => {
  test("there is no ack, but the frame takes effect", async () => {
    const channel = fresh("room");
    const { wire, peerId } = await world.quiet();
    const other = await world.quiet();
    expect(await wire.brings({ type: "subscribe", channel })).toEqual([]);
    expect(await other.wire.brings({ type: "publish", channel, data: 1 })).toEqual([]);
    expect(await wire.frame()).toEqual({ type: "message", channel, from: other.peerId, data: 1 });
    expect(await other.wire.brings({ type: "send", to: peerId, data: 2 })).toEqual([]);
    expect(await wire.frame()).toEqual({ type: "direct", from: other.peerId, data: 2 });
    expect(await wire.brings({ type: "unsubscribe", channel })).toEqual([]);
    expect(await other.wire.brings({ type: "publish", channel, data: 3 })).toEqual([]);
    expect(await wire.sync()).toEqual([]);
  });

  test("errors are still sent, without the key requestId", async () => {
    const { wire } = await world.quiet();
    for (const [frame, code] of [
      [{ type: "nonsense" }, "unknown_type"],
      [{ type: "publish", channel: "c" }, "missing_data"],
      [{ type: "send", to: fresh("nobody"), data: 1 }, "peer_not_found"],
      [{ type: "subscribe" }, "invalid_channel"],
    ] as const) {
      const [answer, ...more] = await wire.brings(frame);
      expect(more).toEqual([]);
      expect(Object.keys(answer ?? {}).sort()).toEqual(["code", "message", "type"]);
      expect(answer).toEqual(errorFrame(code));
    }
  });

  test("a ping is answered by a pong without fields, however the ping is written", async () => {
    const { wire } = await world.quiet();
    for (const text of [
      '{"type":"ping"}',
      '{ "type" : "ping" }',
      '{"type":"ping","more":1}',
      '{"\\u0074ype":"p\\u0069ng"}',
    ])
      expect(await wire.brings(text)).toEqual([{ type: "pong" }]);
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
      const { wire } = await world.quiet();
      expect(await wire.brings(text)).toEqual([errorFrame("malformed_message")]);
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
      const { wire } = await world.quiet();
      const [answer, ...more] = await wire.brings(text);
      expect(more).toEqual([]);
      expect(answer).toEqual(errorFrame("malformed_message"));
      expect(answer).not.toHaveProperty("requestId");
    });

  test("is not sent for a key that occurs twice inside data, or in data and outside", async () => {
    const { wire } = await world.quiet();
    const text = '{"type":"publish","channel":"c","data":{"a":1,"a":2,"type":3,"data":4},"requestId":"r"}';
    expect(await wire.brings(text)).toEqual([{ type: "ack", requestId: "r" }]);
  });

  test("for a binary frame, whatever it contains", async () => {
    const room = fresh("room");
    const member = await world.quiet();
    await member.wire.request({ type: "subscribe", channel: room });
    const { wire } = await world.quiet();
    for (const payload of [
      "",
      "\u0000\u00ff",
      JSON.stringify({ type: "publish", channel: room, data: 1, requestId: "r" }),
    ]) {
      wire.frameOf(OPCODE.binary, payload);
      expect(await wire.sync()).toEqual([errorFrame("malformed_message")]);
    }
    expect(await member.wire.sync()).toEqual([]);
  });

  for (const includeSenderMetadata of ["true", "", 1, 0, null, {}, []])
    test(`for includeSenderMetadata ${JSON.stringify(includeSenderMetadata)}: nothing is subscribed`, async () => {
      const channel = fresh("room");
      const { wire } = await world.quiet();
      const frame = { type: "subscribe", channel, includeSenderMetadata, requestId: "r" };
      expect(await wire.brings(frame)).toEqual([errorFrame("malformed_message", "r")]);
      const other = await world.quiet();
      expect(await other.wire.request({ type: "publish", channel, data: 1 })).toMatchObject({ type: "ack" });
      expect(await wire.sync()).toEqual([]);
    });
});

describe("WebSocket features", () => {
  test("a text frame in fragments, with a ping between them, is one frame", async () => {
    const { wire } = await world.quiet();
    wire.frameOf(OPCODE.text, '{"type":"pi', { final: false });
    wire.frameOf(OPCODE.continuation, 'ng","reque', { final: false });
    wire.ping("between");
    wire.frameOf(OPCODE.continuation, 'stId":"r"}');
    expect(await wire.next(({ kind }) => kind === "pong")).toMatchObject({ payload: "between" });
    expect(await wire.frame()).toEqual({ type: "pong", requestId: "r" });
  });

  test("a WebSocket ping is answered by a pong with the same bytes", async () => {
    const { wire } = await world.quiet();
    for (const payload of ["", "x".repeat(125)]) {
      wire.ping(payload);
      expect(await wire.next(({ kind }) => kind === "pong")).toMatchObject({ payload });
    }
  });

  test("an unsolicited pong is ignored", async () => {
    const { wire } = await world.quiet();
    for (const payload of ["", "1", "-1", "NaN", "nonsense", "99999999999999999999"]) wire.pong(payload);
    expect(await wire.sync()).toEqual([]);
  });
});

describe("unknown_type", () => {
  for (const type of ["", "hello", "Ping", "ping ", "Subscribe", "ack", "error", "welcome", "message", "pong", "other"])
    test(`for ${JSON.stringify(type)}`, async () => {
      const { wire } = await world.quiet();
      expect(await wire.brings({ type, requestId: "r" })).toEqual([errorFrame("unknown_type", "r")]);
      expect(await wire.brings({ type })).toEqual([errorFrame("unknown_type")]);
    });
});

describe("a type that names a property of every object", () => {
  // A separate service: such a frame once ended the process.
  for (const type of ["constructor", "toString", "__proto__"])
    test(`${type} is unknown_type, and the service keeps running`, async () => {
      const own = await startWorld();
      const { wire } = await own.guest(QUIET);
      const other = await own.guest(QUIET);
      expect(await wire.brings({ type, requestId: "r" })).toEqual([errorFrame("unknown_type", "r")]);
      expect(await other.wire.sync()).toEqual([]);
      await own.stop();
    });
});

test("extra fields are ignored", async () => {
  const channel = fresh("room");
  const { wire } = await world.quiet();
  const other = await world.quiet();
  const extra = { from: "another", fromMetadata: { a: 1 }, snapshot: true, x: [1, { y: 2 }], requestid: "no" };
  expect(await wire.brings({ type: "subscribe", channel, ...extra, requestId: "r" })).toEqual([
    { type: "ack", requestId: "r" },
  ]);
  await other.wire.request({ type: "publish", channel, data: 1, ...extra });
  expect(await wire.frame()).toEqual({ type: "message", channel, from: other.peerId, data: 1 });
});

describe("unsubscribe", () => {
  test("from a channel without a subscription is acked", async () => {
    const { wire } = await world.quiet();
    const frame = { type: "unsubscribe", channel: fresh("room"), requestId: "r" };
    expect(await wire.brings(frame)).toEqual([{ type: "ack", requestId: "r" }]);
    expect(await wire.brings(frame)).toEqual([{ type: "ack", requestId: "r" }]);
  });

  test("ends one channel, not another", async () => {
    const [one, two] = [fresh("room"), fresh("room")];
    const { wire } = await world.quiet();
    const other = await world.quiet();
    for (const channel of [one, two]) await wire.request({ type: "subscribe", channel });
    await wire.request({ type: "unsubscribe", channel: one });
    other.wire.send({ type: "publish", channel: one, data: 1 }, { type: "publish", channel: two, data: 2 });
    expect(await wire.frame()).toMatchObject({ type: "message", channel: two });
    expect(await wire.sync()).toEqual([]);
  });
});
