import { describe, expect, test } from "bun:test";
import type { Action } from "../../protocol/actions.ts";
import { APP, type Client, inShort, PUBLISHABLE_KEY, World } from "../testing/kit.ts";

const begin = (actions?: readonly Action[]): { world: World; ann: Client } => {
  const world = new World();
  return { world, ann: world.connect("ann", actions ? { actions } : {}) };
};

/** What a frame is answered with. */
const answers = (client: Client, ...frames: (string | object)[]): string[] =>
  frames.map((frame) => {
    client.text(typeof frame === "string" ? frame : JSON.stringify(frame));
    return client.take().map(inShort).join(", ");
  });

const id = { requestId: "x" };

describe("a frame that cannot be understood", () => {
  test("is malformed_message without an id, whatever it carries", () => {
    const { ann } = begin();
    const frames = [
      "",
      "hello",
      "[]",
      "null",
      '"ping"',
      "{}",
      '{"type":7,"requestId":"x"}',
      '{"requestId":"x"}',
      '{"type":"publish","type":"publish","requestId":"x"}',
      '{"type":"publish","channel":"c","data":1,"data":2,"requestId":"x"}',
    ];
    expect(answers(ann, ...frames)).toEqual(frames.map(() => "error malformed_message"));
    ann.socket.message(Buffer.from('{"type":"ping"}'));
    expect(ann.newFrames()).toEqual(["error malformed_message"]);
    expect(ann.closeCode).toBeUndefined();
  });

  test("a bad requestId is malformed and not echoed, before the type is checked", () => {
    const { ann } = begin();
    const bad = ["", "x".repeat(129), 7, null, {}, []];
    expect(answers(ann, ...bad.map((requestId) => ({ type: "nonsense", requestId })))).toEqual(
      bad.map(() => "error malformed_message"),
    );
    expect(answers(ann, { type: "nonsense", requestId: "x".repeat(128) })).toEqual([
      `error unknown_type ${"x".repeat(128)}`,
    ]);
  });

  test("an unknown type is unknown_type, also one that is named like a property of every object", () => {
    const { ann } = begin();
    const types = ["", "Publish", "welcome", "constructor", "toString", "__proto__", "hasOwnProperty"];
    expect(answers(ann, ...types.map((type) => ({ type, channel: 1, ...id })))).toEqual(
      types.map(() => "error unknown_type x"),
    );
    expect(answers(ann, '{"type":"ping"}')).toEqual(["pong"]);
  });
});

describe("checks run in the order of the protocol", () => {
  test("name, reserved, action, scope, data, limit or quota", () => {
    const { world, ann } = begin(["presence"]);
    world.keys.editApp({ maxMessagesPerPeriod: 0 });
    const of = (client: Client, more: object): string[] =>
      answers(client, { type: "publish", ...id, ...more }, { type: "subscribe", ...id, ...more });
    expect(of(ann, { channel: "" })).toEqual(["error invalid_channel x", "error invalid_channel x"]);
    expect(of(ann, { channel: "_parley/*" })).toEqual(["error invalid_channel x", "error invalid_channel x"]);
    expect(of(ann, { channel: "_Parley/a" })).toEqual(["error channel_reserved x", "error channel_reserved x"]);
    expect(of(ann, { channel: "c" })).toEqual(["error action_not_permitted x", "error action_not_permitted x"]);
    const ben = world.connect("ben", { channels: ["d"] });
    expect(of(ben, { channel: "c" })).toEqual(["error channel_not_authorized x", "error channel_not_authorized x"]);
    expect(of(ben, { channel: "d" })).toEqual(["error missing_data x", "ack x"]);
    expect(of(ben, { channel: "d", data: null })).toEqual(["error over_message_quota x", "ack x"]);
  });

  test("of a send: name, action, data, quota, then whether the peer is connected", () => {
    const { world, ann } = begin(["presence"]);
    const of = (client: Client, more: object): string[] => answers(client, { type: "send", ...id, ...more });
    for (const to of ["", "é", "x".repeat(129), 7, undefined])
      expect(of(ann, { to })).toEqual(["error invalid_peer_id x"]);
    expect(of(ann, { to: "absent" })).toEqual(["error action_not_permitted x"]);
    const ben = world.connect("ben");
    expect(of(ben, { to: "absent" })).toEqual(["error missing_data x"]);
    world.keys.editApp({ maxMessagesPerPeriod: 0 });
    expect(of(ben, { to: "absent", data: 1 })).toEqual(["error over_message_quota x"]);
    world.keys.editApp({ maxMessagesPerPeriod: null });
    expect(of(ben, { to: "absent", data: 1 })).toEqual(["error peer_not_found x"]);
  });

  test("all of them leave the connection open, and are answered without an id too", () => {
    const { ann } = begin();
    expect(answers(ann, { type: "publish", channel: "c" }, { type: "send", to: "absent", data: 1 })).toEqual([
      "error missing_data",
      "error peer_not_found",
    ]);
    expect(ann.closeCode).toBeUndefined();
  });
});

describe("a request is answered once", () => {
  test("with the id if one came, and not at all otherwise", () => {
    const { world, ann } = begin();
    world.connect("ben");
    const frames = [
      { type: "subscribe", channel: "c" },
      { type: "publish", channel: "c", data: 1 },
      { type: "send", to: "ben", data: 1 },
      { type: "unsubscribe", channel: "c" },
    ];
    expect(answers(ann, ...frames)).toEqual(["", "", "", ""]);
    expect(answers(ann, ...frames.map((frame) => ({ ...frame, ...id })))).toEqual(frames.map(() => "ack x"));
  });

  test("a ping with a pong, plain or with its id, and nothing else", () => {
    const { ann } = begin();
    expect(answers(ann, '{"type":"ping"}', ' { "type" : "ping" } ', { type: "ping", ...id })).toEqual([
      "pong",
      "pong",
      "pong x",
    ]);
    expect(ann.socket.written[1]).toBe('{"type":"pong"}');
    expect(ann.socket.written.at(-1)).toBe('{"type":"pong","requestId":"x"}');
  });

  test("unsubscribing from a channel that is not subscribed to, or is reserved, is an ack", () => {
    const { ann } = begin(["publish"]);
    expect(answers(ann, { type: "unsubscribe", channel: "_parley/x", ...id })).toEqual(["ack x"]);
    expect(answers(ann, { type: "unsubscribe", channel: "*", ...id })).toEqual(["error invalid_channel x"]);
  });

  test("unknown fields are ignored", () => {
    const { ann } = begin();
    expect(answers(ann, { type: "publish", channel: "c", data: null, color: "red", to: 7, ...id })).toEqual(["ack x"]);
  });
});

describe("subscribe", () => {
  test("includeSenderMetadata is a boolean or absent", () => {
    const { ann } = begin();
    const of = (includeSenderMetadata: unknown): string[] =>
      answers(ann, { type: "subscribe", channel: "c", includeSenderMetadata, ...id });
    for (const wrong of ["true", 1, 0, null, {}]) expect(of(wrong)).toEqual(["error malformed_message x"]);
    for (const right of [true, false, undefined]) expect(of(right)).toEqual(["ack x"]);
  });

  test("the 101st channel is too many; a repeated subscribe is not, and an unsubscribe makes room", () => {
    const { ann } = begin();
    for (let i = 0; i < 100; i++) ann.subscribe(`c${i}`);
    expect(ann.take().every((frame) => frame.type === "ack")).toBe(true);
    const subscribe = (channel: string) => ({ type: "subscribe", channel, ...id });
    expect(answers(ann, subscribe("c100"), subscribe("c7"))).toEqual(["error channel_limit_exceeded x", "ack x"]);
    ann.unsubscribe("c3");
    ann.take();
    expect(answers(ann, subscribe("c100"))).toEqual(["ack x"]);
  });

  test("names are used as they are: 256 bytes, any case, any script", () => {
    const { ann } = begin();
    const of = (channel: unknown): string[] => answers(ann, { type: "subscribe", channel, ...id });
    for (const name of ["C", "c", "x".repeat(256), "é".repeat(128), "a/b//c", " ", "_parley"])
      expect(of(name)).toEqual(["ack x"]);
    for (const name of ["x".repeat(257), "é".repeat(129), "a\nb", "\u0080", "a*", "\ud800", 7, null, undefined])
      expect(of(name)).toEqual(["error invalid_channel x"]);
  });
});

describe("the message quota", () => {
  test("lets exactly that number through, publish and send together, and does not affect other frames", () => {
    const { world, ann } = begin();
    world.keys.editApp({ maxMessagesPerPeriod: 3 });
    const ben = world.join("ben", "c");
    ann.publish("c", 1);
    ann.send("ben", 2);
    ann.send("absent", 0);
    ann.publish("c", 3);
    ann.publish("c", 4);
    ann.send("ben", 5);
    ann.subscribe("c");
    expect(ann.newFrames()).toEqual([
      "ack r1",
      "ack r2",
      "error peer_not_found r3",
      "ack r4",
      "error over_message_quota r5",
      "error over_message_quota r6",
      "ack r7",
    ]);
    expect(ben.take().map((frame) => frame.data)).toEqual([1, 2, 3]);
    expect(world.node.usage.messagesUsed(APP)).toBe(3);
  });
});

describe("a connection that has ended", () => {
  test("ignores frames that were still in transit", () => {
    const { world, ann } = begin();
    const ben = world.join("ben", "c");
    ann.node.hub.connections.disconnect(ann.connection, 1006);
    for (const frame of ['{"type":"publish","channel":"c","data":1}', '{"type":"ping"}', Buffer.alloc(3)])
      ann.socket.message(frame);
    expect([ben.newFrames(), ann.newFrames(), world.node.usage.messagesUsed(APP)]).toEqual([[], [], 0]);
  });
});

test("a connection with a key follows every change of the key", () => {
  const world = new World();
  const ann = world.connect("ann", { key: PUBLISHABLE_KEY });
  const publish = { type: "publish", channel: "c", data: 1, ...id };
  expect(answers(ann, publish)).toEqual(["ack x"]);
  world.keys.editKey(PUBLISHABLE_KEY, { actions: ["subscribe"] });
  expect(answers(ann, publish)).toEqual(["error action_not_permitted x"]);
  world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish"], channelPatterns: ["d"] });
  expect(answers(ann, publish)).toEqual(["error channel_not_authorized x"]);
});
