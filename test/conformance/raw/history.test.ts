/** history.md 2: positions and recovery on the wire, with bad input. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Frame } from "../../support/wire/shapes.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { errorFrame } from "./support/expected.ts";
import { acked, dataOf, keepHistory, kept, offsetOf, POSITION, published } from "./support/history.ts";
import { fresh, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const world = await worldForTests({ env: { PARLEY_FRAMES_PER_SECOND: "0" } });

beforeAll(() => keepHistory(world));

describe("frames", () => {
  test("welcome names the features and the connection", async () => {
    const { welcome } = await world.guest();
    expect(welcome).toMatchObject({ features: expect.arrayContaining(["history"]), connection: expect.any(String) });
  });

  test("subscribe, publish and message carry positions; a channel without a rule has none", async () => {
    const channel = kept();
    const { wire: reader } = await world.quiet();
    expect(await acked(reader, { type: "subscribe", channel })).toEqual({
      type: "ack",
      requestId: expect.any(String),
      pos: expect.stringMatching(POSITION),
    } as unknown as Frame<"ack">);
    const { wire, peerId } = await world.quiet();
    const before = Date.now();
    const ack = await acked(wire, { type: "publish", channel, data: { n: 12 }, id: "a b~" });
    const message = await reader.frame("message");
    expect(message).toEqual({
      type: "message",
      channel,
      from: peerId,
      data: { n: 12 },
      pos: String(ack.pos),
      time: message.time ?? 0,
      id: "a b~",
    });
    expect(ack.pos).toMatch(POSITION);
    expect(message.time).toBeGreaterThanOrEqual(before);
    const plain = fresh("plain");
    expect(Object.keys(await acked(wire, { type: "subscribe", channel: plain, rewind: 5 }))).toEqual([
      "type",
      "requestId",
    ]);
    expect(Object.keys(await acked(wire, { type: "publish", channel: plain, data: 1 }))).toEqual(["type", "requestId"]);
    expect(await wire.sync()).toEqual([]);
  });

  test("data is stored and replayed byte for byte", async () => {
    const channel = kept();
    const { wire } = await world.quiet();
    const data = '{"z":1.0,  "a":12345678901234567890,"ü":"\\u00fc"}';
    wire.send(`{"type":"publish","channel":"${channel}","data":${data},"requestId":"bytes"}`);
    await wire.answerTo("bytes");
    const { wire: reader } = await world.quiet();
    reader.send({ type: "subscribe", channel, rewind: 1 });
    expect(await reader.text()).toContain(`"data":${data},`);
    reader.send({ type: "history", channel });
    expect(await reader.text()).toContain(`"data":${data},`);
    const page = await world.rest("GET", `/v1/channels/${encodeURIComponent(channel)}/history`);
    expect(page.text).toContain(`"data":${data},`);
  });

  test("a retry with the same id is a duplicate, on another connection of the peer too; another peer's is not", async () => {
    const channel = kept();
    const reader = await world.subscriber(channel);
    const sub = fresh("peer");
    const { wire: first } = await world.quiet({ sub });
    const { wire: second } = await world.quiet({ sub });
    const { wire: other } = await world.quiet();
    const acks = [];
    for (const wire of [first, first, second, other])
      acks.push(await acked(wire, { type: "publish", channel, data: acks.length, id: "same" }));
    expect(acks.map(({ duplicate }) => duplicate)).toEqual([undefined, true, true, undefined]);
    expect(new Set(acks.map(({ pos }) => pos)).size).toBe(2);
    expect(dataOf(await reader.wire.sync())).toEqual([0, 3]);
  });

  test.each(["", "x".repeat(65), 5, null, {}, "tab\t"])(
    "an id that is %p is malformed, in publish and send",
    async (id) => {
      const { wire, peerId } = await world.quiet();
      for (const frame of [
        { type: "publish", channel: kept(), data: 1, id },
        { type: "publish", channel: fresh("plain"), data: 1, id },
        { type: "send", to: peerId, data: 1, id },
      ])
        expect(await wire.request(frame)).toMatchObject({ type: "error", code: "malformed_message" });
    },
  );

  test("an id is passed on where nothing is kept", async () => {
    const channel = fresh("plain");
    const reader = await world.subscriber(channel);
    const { wire } = await world.quiet();
    await acked(wire, { type: "publish", channel, data: 1, id: "one" });
    await acked(wire, { type: "send", to: reader.peerId, data: 2, id: "two" });
    expect((await reader.wire.sync()).map((frame) => "id" in frame && frame.id)).toEqual(["one", "two"]);
  });

  test("2,000 messages of two publishers come in one order, with acks behind all that is earlier", async () => {
    const channel = kept();
    const [a, b, reader] = [
      await world.subscriber(channel),
      await world.subscriber(channel),
      await world.subscriber(channel),
    ];
    for (let n = 0; n < 1000; n++)
      for (const { wire } of [a, b]) wire.send({ type: "publish", channel, data: n, requestId: `p${n}` });
    const offsets = async (wire: Wire, count: number): Promise<number[]> => {
      const seen: number[] = [];
      while (seen.length < count) {
        const frame = await wire.frame();
        if (frame.type === "message" || frame.type === "ack") seen.push(offsetOf(frame.pos));
      }
      return seen;
    };
    const all = Array.from({ length: 2000 }, (_, i) => i + 1);
    for (const { wire } of [a, b, reader]) expect(await offsets(wire, 2000)).toEqual(all);
  });
});

describe("recover and rewind", () => {
  test("what was missed, each once and in order, then what is new", async () => {
    const channel = kept();
    const positions = await published(world, channel, 1, 2, 3, 4);
    const { wire } = await world.quiet();
    const ack = await acked(wire, { type: "subscribe", channel, recover: positions[1] });
    expect(ack).toMatchObject({ recovered: true, replay: 2, pos: String(positions[3]) });
    await published(world, channel, 5);
    const frames = await wire.sync();
    expect(frames.map((frame) => "replay" in frame && frame.replay)).toEqual([true, true, false]);
    expect(dataOf(frames)).toEqual([3, 4, 5]);
  });

  test("over a restart of the connection, without the messages of the earlier one", async () => {
    const channel = kept();
    const sub = fresh("peer");
    const first = await world.subscriber(channel, { sub });
    const { pos } = await acked(first.wire, { type: "publish", channel, data: "own 1" });
    await acked(first.wire, { type: "publish", channel, data: "own 2" });
    await published(world, channel, "other");
    first.wire.drop();
    const { wire } = await world.quiet({ sub });
    const { connection } = first.welcome as unknown as { connection: string };
    expect(await acked(wire, { type: "subscribe", channel, recover: pos, connection })).toMatchObject({ replay: 1 });
    expect(dataOf(await wire.sync())).toEqual(["other"]);
  });

  test("a rewind by messages and by time, with metadata for those who ask", async () => {
    const channel = kept();
    await published(world, channel, 1, 2, 3);
    await world.restPublish(channel, { data: 4, from: "ann", peerMetadata: { n: 1 } });
    const { wire } = await world.quiet();
    expect(await acked(wire, { type: "subscribe", channel, rewind: 2, includeSenderMetadata: true })).toMatchObject({
      recovered: true,
      replay: 2,
    });
    const [, last] = await wire.sync();
    expect(last).toMatchObject({ data: 4, from: "ann", fromMetadata: { n: 1 }, replay: true });
    const { wire: second } = await world.quiet();
    expect(await acked(second, { type: "subscribe", channel, rewind: "5m" })).toMatchObject({ replay: 4 });
  });

  test.each<[string, (position: string) => string]>([
    ["another epoch", (position) => position.replace(/^[^.]+/, "other")],
    ["another check", (position) => position.replace(/[^.]+$/, "other")],
    ["an offset beyond the end", (position) => position.replace(/\.\d+\./, ".5000.")],
    ["garbage", () => "garbage"],
    ["an empty text", () => ""],
    ["SQL", () => "' OR 1=1 --"],
    ["a very long text", () => "1".repeat(10_000)],
  ])("a position with %s is not recovered, and changes nothing", async (_, forge) => {
    const channel = kept();
    const [first = ""] = await published(world, channel, 1, 2);
    const { wire } = await world.quiet();
    expect(await acked(wire, { type: "subscribe", channel, recover: forge(first) })).toMatchObject({
      recovered: false,
      replay: 0,
      pos: expect.stringMatching(POSITION) as unknown as string,
    });
    await published(world, channel, 3);
    expect(dataOf(await wire.sync())).toEqual([3]);
    const { wire: second } = await world.quiet();
    expect(await acked(second, { type: "subscribe", channel, recover: first })).toMatchObject({ recovered: true });
  });

  test.each<object>([
    { recover: "a.1.b", rewind: 1 },
    { recover: 1 },
    { recover: ["a.1.b"] },
    { recover: "a.1.b", connection: 1 },
    { rewind: 0 },
    { rewind: 1001 },
    { rewind: -1 },
    { rewind: 2.5 },
    { rewind: "10" },
    { rewind: "1w" },
    { rewind: null },
  ])("%j is malformed", async (fields) => {
    const { wire } = await world.quiet();
    const answer = await wire.request({ type: "subscribe", channel: kept(), ...fields });
    expect(answer).toEqual(errorFrame("malformed_message", answer.requestId));
  });
});
