/** The metrics of client and server frames: each one changes when it should, by the right amount. */
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "../../support/wait.ts";
import { OPCODE } from "../../support/wire/frames.ts";
import { metricChanges, readMetrics } from "./support/metrics.ts";
import { fresh, ownWorldForTests, QUIET } from "./support/world.ts";

setDefaultTimeout(60_000);

const world = await ownWorldForTests();
/** Waits until nothing of the previous test is still in progress. */
afterEach(async () => {
  const open = async (): Promise<number> => (await readMetrics(world.server)).get("parley_connections");
  await until("no connection is open", async () => (await open()) === 0);
});

const framesIn = (type: string): string => `parley_frames_in_total{type="${type}"}`;

const framesOut = (type: string): string => `parley_frames_out_total{type="${type}"}`;

describe("client frames", () => {
  for (const [type, frame] of [
    ["subscribe", { type: "subscribe", channel: "x" }],
    ["unsubscribe", { type: "unsubscribe", channel: "x" }],
    ["publish", { type: "publish", channel: "x", data: 1 }],
    ["send", { type: "send", to: "nobody", data: 1 }],
    ["renew", { type: "renew", token: "x" }],
    ["ping", { type: "ping" }],
    ["ping", { type: "ping", requestId: "r" }],
    ["other", { type: "nonsense" }],
    ["other", "{"],
    ["other", { type: "publish", requestId: 5 }],
  ] as const)
    test(`${JSON.stringify(frame)} counts as ${type}, whether refused or not`, async () => {
      const { wire } = await world.quiet();
      const by = await metricChanges(world.server, async () => {
        wire.send(frame, frame, frame);
        await wire.sync();
      });
      // `sync` itself sends one unsubscribe.
      expect(by(framesIn(type))).toBe(type === "unsubscribe" ? 4 : 3);
    });

  test("a binary frame counts as other", async () => {
    const { wire } = await world.quiet();
    const by = await metricChanges(world.server, async () => {
      wire.frameOf(OPCODE.binary, "x");
      await wire.sync();
    });
    expect(by(framesIn("other"))).toBe(1);
  });

  test("the byte count is that of their payloads", async () => {
    const { wire } = await world.quiet();
    const text = JSON.stringify({ type: "publish", channel: "x", data: "y".repeat(1000), requestId: "bytes" });
    const by = await metricChanges(world.server, async () => {
      wire.send(text);
      await wire.answerTo("bytes");
    });
    expect(by("parley_bytes_in_total")).toBe(text.length);
  });

  test("the byte count is in bytes, not characters", async () => {
    const { wire } = await world.quiet();
    const text = JSON.stringify({ type: "publish", channel: "x", data: "é😀".repeat(100), requestId: "bytes" });
    const by = await metricChanges(world.server, async () => {
      wire.send(text);
      await wire.answerTo("bytes");
    });
    expect(by("parley_bytes_in_total")).toBe(Buffer.byteLength(text));
  });
});

describe("server frames", () => {
  test("are counted by type, messages once per receiver", async () => {
    const channel = fresh("room");
    const receivers = [
      await world.subscriber(channel),
      await world.subscriber(channel),
      await world.subscriber(channel),
    ];
    const sender = await world.subscriber(channel);
    const twin = await world.guest({ ...QUIET, sub: receivers[0]!.peerId });
    const by = await metricChanges(world.server, async () => {
      await sender.wire.request({ type: "publish", channel, data: 1 });
      await sender.wire.request({ type: "send", to: receivers[0]!.peerId, data: 2 });
      await sender.wire.request({ type: "publish", channel: "", data: 1 });
      await world.quiet();
      await twin.wire.frame("direct");
    });
    expect(by(framesOut("message"))).toBe(3);
    expect(by(framesOut("direct"))).toBe(2);
    expect(by("parley_deliveries_total")).toBe(5);
    expect(by(framesOut("ack"))).toBe(2);
    expect(by(framesOut("error"))).toBe(1);
    expect(by(framesOut("welcome"))).toBe(1);
  });

  test("pongs are counted too", async () => {
    const { wire } = await world.quiet();
    const by = await metricChanges(world.server, async () => {
      wire.send({ type: "ping" }, { type: "ping" });
      await wire.sync();
    });
    expect(by(framesOut("pong"))).toBe(2);
  });

  test("errors that an edit of the key causes are counted too", async () => {
    const key = await world.admin.createKey(world.app._id);
    const { wire } = await world.guest(QUIET, {}, key);
    await wire.request({ type: "subscribe", channel: "a" });
    const by = await metricChanges(world.server, async () => {
      await world.admin.patchKey(key.keyId, { channelPatterns: [] });
      await wire.frame("error");
    });
    expect(by(framesOut("error"))).toBe(1);
  });

  test("the byte count grows by at least what the receivers got", async () => {
    const channel = fresh("room");
    const receivers = [await world.subscriber(channel), await world.subscriber(channel)];
    const sender = await world.quiet();
    const by = await metricChanges(world.server, async () => {
      await sender.wire.request({ type: "publish", channel, data: "y".repeat(5000) });
      for (const { wire } of receivers) await wire.frame("message");
    });
    const size = JSON.stringify(receivers[0]!.wire.frames.at(-1)).length;
    expect(by("parley_bytes_out_total")).toBeGreaterThanOrEqual(2 * size);
    expect(by("parley_bytes_out_total")).toBeLessThan(2 * size + 1000);
  });

  test("the byte count includes the sender's metadata for those who receive it", async () => {
    const channel = fresh("room");
    const { wire } = await world.quiet();
    await wire.request({ type: "subscribe", channel, includeSenderMetadata: true });
    const sender = await world.guest({ ...QUIET, peerMetadata: { fill: "m".repeat(3000) } });
    const by = await metricChanges(world.server, async () => {
      await sender.wire.request({ type: "publish", channel, data: 1 });
      await wire.frame("message");
    });
    expect(by("parley_bytes_out_total")).toBeGreaterThan(3000);
  });

  test("messages from REST are counted like any other", async () => {
    const channel = fresh("room");
    const { wire, peerId } = await world.subscriber(channel);
    const by = await metricChanges(world.server, async () => {
      await world.rest("POST", `/v1/channels/${channel}/publish`, { body: { data: 1 } });
      await world.rest("POST", `/v1/peers/${peerId}/send`, { body: { data: 1 } });
      await wire.until("direct");
    });
    expect([by(framesOut("message")), by(framesOut("direct")), by("parley_deliveries_total")]).toEqual([1, 1, 2]);
  });
});
