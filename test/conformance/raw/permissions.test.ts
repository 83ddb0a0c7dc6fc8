/** protocol.md 2 and 3: sender metadata, the number of channels, a token's permissions, and the order of the checks. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { AnyFrame, Frame } from "../../support/wire/shapes.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { errorFrame } from "./support/expected.ts";
import { fresh, type Guest, overQuotaForTests, QUIET, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const world = await worldForTests();
const overQuota = await overQuotaForTests(world);

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
    sender = await world.quiet({ peerMetadata: METADATA });
    return (await world.quiet()).wire;
  };

  test("absent and false: no fromMetadata; true: fromMetadata", async () => {
    const wire = await setUp();
    await wire.request({ type: "subscribe", channel });
    expect(await seen(wire)).toEqual(plain());
    const second = (await world.quiet()).wire;
    await second.request({ type: "subscribe", channel, includeSenderMetadata: false });
    expect(await seen(second)).toEqual(plain());
    const third = (await world.quiet()).wire;
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
    const two = (await world.quiet()).wire;
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
    sender = await world.quiet();
    expect(await seen(wire)).toEqual(plain());
    const { keyId } = await world.admin.createPublishable(world.app._id);
    sender = await world.visitor(keyId);
    expect(await seen(wire)).toEqual(plain());
  });

  test("does not affect direct messages: they carry metadata whenever the sender has any", async () => {
    const wire = await setUp();
    const receiver = await world.quiet();
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
    const { wire } = await world.quiet();
    const name = fresh("room");
    for (let i = 0; i < 100; i++) wire.send({ type: "subscribe", channel: `${name}/${i}` });
    expect(await wire.sync()).toEqual([]);
    const next = { type: "subscribe", channel: `${name}/100`, requestId: "r" };
    expect(await wire.brings(next)).toEqual([errorFrame("channel_limit_exceeded", "r")]);
    expect(await wire.brings({ ...next, channel: `${name}/0` })).toEqual([{ type: "ack", requestId: "r" }]);
    expect(await wire.brings({ type: "unsubscribe", channel: `${name}/50`, requestId: "r" })).toHaveLength(1);
    expect(await wire.brings(next)).toEqual([{ type: "ack", requestId: "r" }]);
    expect(await wire.brings({ ...next, channel: `${name}/50` })).toEqual([errorFrame("channel_limit_exceeded", "r")]);
    const other = await world.quiet();
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
    const receiver = await world.quiet();
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
        const expected = action === missing ? errorFrame("action_not_permitted", "r") : { type: "ack", requestId: "r" };
        expect(await wire.brings({ ...frame, requestId: "r" })).toEqual([expected as AnyFrame]);
      }
    }
  });

  test("ping and unsubscribe need no action", async () => {
    const { wire } = await world.guest({ permissions: [], channels: [] });
    expect(await wire.brings({ type: "ping" })).toEqual([{ type: "pong" }]);
    expect(await wire.brings({ type: "unsubscribe", channel: "x", requestId: "r" })).toEqual([
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
    const { wire } = await world.quiet({ channels: ["chat/*", "news/**", "room", "a*c/x"] });
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
        expect({ channel, came: await wire.brings(frame) }).toEqual({
          channel,
          came: [allowed ? { type: "ack", requestId: "r" } : errorFrame("channel_not_authorized", "r")],
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
    const { wire } = await world.quiet();
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
      expect(await wire.brings(frame)).toEqual([errorFrame(code)]);
    });

  test("the channel is checked before data", async () => {
    const { wire } = await world.quiet({ channels: ["mine"] });
    expect(await wire.brings({ type: "publish", channel: "x" })).toEqual([errorFrame("channel_not_authorized")]);
  });

  test("the channel is checked before the limit of channels", async () => {
    const { wire } = await world.quiet({ channels: ["mine/*"] });
    for (let i = 0; i < 100; i++) wire.send({ type: "subscribe", channel: `mine/${i}` });
    expect(await wire.brings({ type: "subscribe", channel: "x" })).toEqual([errorFrame("channel_not_authorized")]);
    expect(await wire.brings({ type: "subscribe", channel: "mine/100" })).toEqual([
      errorFrame("channel_limit_exceeded"),
    ]);
  });

  test("data is checked before the quota, and the quota before the peer", async () => {
    const { wire } = await overQuota.guest(QUIET);
    expect(await wire.brings({ type: "publish", channel: "x" })).toEqual([errorFrame("missing_data")]);
    expect(await wire.brings({ type: "publish", channel: "x", data: 1 })).toEqual([errorFrame("over_message_quota")]);
    expect(await wire.brings({ type: "send", to: fresh("nobody") })).toEqual([errorFrame("missing_data")]);
    expect(await wire.brings({ type: "send", to: fresh("nobody"), data: 1 })).toEqual([
      errorFrame("over_message_quota"),
    ]);
  });

  test("the channel and the action are checked before the quota", async () => {
    const { wire } = await overQuota.guest({ permissions: ["publish"], channels: ["mine"] });
    expect(await wire.brings({ type: "publish", channel: "x", data: 1 })).toEqual([
      errorFrame("channel_not_authorized"),
    ]);
    expect(await wire.brings({ type: "send", to: "x", data: 1 })).toEqual([errorFrame("action_not_permitted")]);
  });
});
