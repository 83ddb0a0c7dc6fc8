/** protocol.md 4: clients that do not read, rate limits, and the size of frames. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { OPCODE } from "../../support/wire/frames.ts";
import { type AnyFrame, type Frame, ids } from "../../support/wire/shapes.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { fresh, worldForTests } from "./support/world.ts";

/** In this time a used-up rate of 100 frames per second allows 60 of them again. */
const REFILL_MS = 600;

setDefaultTimeout(60_000);

/** Rate limits are off: some tests here send a lot. */
const world = await worldForTests({ env: { PARLEY_FRAMES_PER_SECOND: "0" } });

/** Rate limits are the defaults. */
const paced = await worldForTests();

const messageData = (frames: readonly AnyFrame[]): unknown[] =>
  frames.map((frame) => (frame.type === "message" || frame.type === "direct" ? frame.data : frame));

describe("a client that does not read", () => {
  const BIG = "x".repeat(60_000);
  /** More than the kernel and the service together buffer for one connection. */
  const MOST = 2000;

  test("is closed, without a gap in what it received; other members continue and see it leave", async () => {
    const channel = fresh("room");
    const slow = await world.member(channel);
    const healthy = await world.member(channel);
    await slow.wire.until("presence");
    const sender = await world.quiet();
    slow.wire.stopReading();
    const got: number[] = [];
    let left: string[] = [];
    let sent = 0;
    for (; sent < MOST && left.length === 0; sent++) {
      await sender.wire.request({ type: "publish", channel, data: { n: sent, BIG } });
      for (let seen = false; !seen; ) {
        const frame = await healthy.wire.frame();
        if (frame.type === "presence") left = ids(frame.left);
        else {
          got.push((frame as Frame<"message"> & { data: { n: number } }).data.n);
          seen = true;
        }
      }
    }
    expect(left).toEqual([slow.peerId]);
    expect(got).toEqual(Array.from({ length: sent }, (_, n) => n));
    await sender.wire.request({ type: "publish", channel, data: { n: "after" } });
    expect(await healthy.wire.frame("message")).toMatchObject({ data: { n: "after" } });
    slow.wire.goOnReading();
    await slow.wire.gone();
    const read = slow.wire.frames.flatMap((frame) =>
      frame.type === "message" ? [(frame.data as { n: number }).n] : [],
    );
    expect(read.length).toBeGreaterThan(0);
    expect(read.length).toBeLessThan(sent);
    expect(read).toEqual(Array.from({ length: read.length }, (_, n) => n));
  });

  test("is closed for direct messages too, and then is peer_not_found", async () => {
    const slow = await world.quiet();
    const sender = await world.quiet();
    slow.wire.stopReading();
    let answer: AnyFrame = { type: "ack", requestId: "" };
    let sent = 0;
    for (; sent < MOST && answer.type === "ack"; sent++)
      answer = await sender.wire.request({ type: "send", to: slow.peerId, data: { n: sent, BIG } });
    expect(answer).toMatchObject({ code: "peer_not_found" });
    slow.wire.goOnReading();
    await slow.wire.gone();
    const read = slow.wire.frames.flatMap((frame) =>
      frame.type === "direct" ? [(frame.data as { n: number }).n] : [],
    );
    expect(read).toEqual(Array.from({ length: read.length }, (_, n) => n));
  });
});

describe("a peer with one connection that reads and one that does not", () => {
  for (const order of ["slow first", "slow second"] as const)
    test(`receives every direct message on the one that reads, including the message that closes the other (${order})`, async () => {
      const sub = fresh("peer");
      const first = await world.quiet({ sub });
      const second = await world.quiet({ sub });
      const [slow, healthy] = order === "slow first" ? [first, second] : [second, first];
      const sender = await world.quiet();
      slow.wire.stopReading();
      const concurrent = async (): Promise<number> =>
        (await world.rest<{ concurrentNow: number }>("GET", "/v1/usage")).body.concurrentNow;
      const both = await concurrent();
      let sent = 0;
      do {
        for (let i = 0; i < 5; i++)
          await sender.wire.request({ type: "send", to: sub, data: { n: sent++, fill: "x".repeat(60_000) } });
      } while (sent < 2000 && (await concurrent()) === both);
      expect(await concurrent()).toBe(both - 1);
      const got = messageData(await healthy.wire.sync()) as { n: number }[];
      expect(got.map(({ n }) => n)).toEqual(Array.from({ length: sent }, (_, n) => n));
    });
});

describe("the rate of one connection", () => {
  const BURST = 500;
  const PER_SECOND = 100;
  const PING_BURST = 20;
  const PINGS_PER_SECOND = 10;
  const many = (count: number, frame: (n: number) => object | string): (object | string)[] =>
    Array.from({ length: count }, (_, n) => frame(n));
  const harmless = (n: number): object => ({ type: "unsubscribe", channel: "x", requestId: `n${n}` });

  /** How many text frames came before the close, which must be 4011, and how long that took. */
  async function cut(wire: Wire, started: number): Promise<{ answered: number; seconds: number }> {
    const { code, at } = await wire.closed();
    expect(code).toBe(4011);
    return { answered: wire.frames.length - 1, seconds: (at - started) / 1000 };
  }

  for (const [what, send] of [
    ["good frames", (wire: Wire) => wire.send(...many(800, harmless))],
    ["refused frames", (wire: Wire) => wire.send(...many(800, () => ({ type: "nonsense" })))],
    ["malformed frames", (wire: Wire) => wire.send(...many(800, () => "{"))],
    ["malformed pings", (wire: Wire) => wire.send(...many(800, () => ({ type: "ping", requestId: 5 })))],
    [
      "binary frames",
      (wire: Wire) => {
        for (let n = 0; n < 800; n++) wire.frameOf(OPCODE.binary, "x");
      },
    ],
  ] as const)
    test(`${what}: a burst of ${BURST} is answered, then it closes with 4011`, async () => {
      const started = performance.now();
      const { wire } = await paced.quiet();
      send(wire);
      const { answered, seconds } = await cut(wire, started);
      expect(answered).toBeGreaterThanOrEqual(BURST);
      expect(answered).toBeLessThanOrEqual(BURST + Math.ceil(seconds * PER_SECOND));
    });

  for (const [what, frame] of [
    ["bare", () => ({ type: "ping" })],
    ["with a requestId", (n: number) => ({ type: "ping", requestId: `n${n}` })],
  ] as const)
    test(`pings ${what}: a burst of ${PING_BURST} is answered, then it closes with 4011`, async () => {
      const started = performance.now();
      const { wire } = await paced.quiet();
      wire.send(...many(60, frame));
      const { answered, seconds } = await cut(wire, started);
      expect(answered).toBeGreaterThanOrEqual(PING_BURST);
      expect(answered).toBeLessThanOrEqual(PING_BURST + Math.ceil(seconds * PINGS_PER_SECOND));
    });

  test("pings and other frames have separate buckets", async () => {
    const { wire } = await paced.quiet();
    wire.send(
      ...many(PING_BURST / 2, () => ({ type: "ping" })),
      ...many(BURST, harmless),
      ...many(PING_BURST / 2, (n) => ({ type: "ping", requestId: `p${n}` })),
    );
    await wire.answerTo(`p${PING_BURST / 2 - 1}`);
    expect(wire.frames).toHaveLength(1 + BURST + PING_BURST);
    // Both buckets are nearly empty, so another burst of frames exceeds the limit.
    wire.send(...many(2 * BURST, harmless));
    expect((await wire.closed()).code).toBe(4011);
  });

  test("refills over time", async () => {
    const { wire } = await paced.quiet();
    wire.send(...many(BURST, harmless));
    await wire.answerTo(`n${BURST - 1}`);
    await Bun.sleep(REFILL_MS);
    wire.send(...many(50, (n) => harmless(1000 + n)));
    expect(await wire.answerTo("n1049")).toMatchObject({ type: "ack" });
    wire.send(...many(2 * BURST, harmless));
    expect((await wire.closed()).code).toBe(4011);
  });

  test("does not refill beyond the burst", async () => {
    const { wire } = await paced.quiet();
    await Bun.sleep(REFILL_MS / 2);
    const started = performance.now();
    wire.send(...many(800, harmless));
    const { answered, seconds } = await cut(wire, started);
    expect(answered).toBeLessThanOrEqual(BURST + Math.ceil(seconds * PER_SECOND));
  });

  test("is per connection, also for the same peer; other members see the closed one leave", async () => {
    const channel = fresh("room");
    const watcher = await paced.member(channel);
    const sub = fresh("peer");
    const twin = await paced.guest({ sub });
    const { wire } = await paced.member(channel, { sub });
    await watcher.wire.until("presence");
    wire.send(...many(800, harmless));
    expect((await wire.closed()).code).toBe(4011);
    expect(await watcher.wire.frame()).toMatchObject({ type: "presence", left: [{ peerId: sub }] });
    expect(await twin.wire.sync()).toEqual([]);
  });

  test("no frame after the close takes effect", async () => {
    const channel = fresh("room");
    const receiver = await paced.quiet();
    await receiver.wire.request({ type: "subscribe", channel });
    const { wire } = await paced.quiet();
    wire.send(...many(BURST + 300, harmless), { type: "publish", channel, data: "late" });
    expect((await wire.closed()).code).toBe(4011);
    expect(await receiver.wire.sync()).toEqual([]);
  });
});

describe("the size of a frame", () => {
  const MOST = 67_584;
  const publish = (channel: string, bytes: number, letter = "x"): string => {
    const empty = JSON.stringify({ type: "publish", channel, data: "" });
    const left = bytes - empty.length;
    const size = Buffer.byteLength(letter);
    const text = letter.repeat(Math.floor(left / size)) + "y".repeat(left % size);
    return JSON.stringify({ type: "publish", channel, data: text });
  };

  for (const letter of ["x", "é", "😀"])
    test(`${MOST} bytes are delivered, ${MOST + 1} close with 1009, counted in bytes (${letter})`, async () => {
      const channel = fresh("room");
      const receiver = await world.subscriber(channel);
      const { wire } = await world.quiet();
      const text = publish(channel, MOST, letter);
      expect(Buffer.byteLength(text)).toBe(MOST);
      wire.send(text);
      expect((await receiver.wire.frame("message")).data).toBe(JSON.parse(text).data);
      expect(await wire.sync()).toEqual([]);
      wire.send(publish(channel, MOST + 1, letter));
      expect((await wire.closed()).code).toBe(1009);
      expect(await receiver.wire.sync()).toEqual([]);
    });

  test("counts all fragments of a message together", async () => {
    const { wire } = await world.quiet();
    const text = publish(fresh("room"), MOST);
    wire.frameOf(OPCODE.text, text.slice(0, 40_000), { final: false });
    wire.frameOf(OPCODE.continuation, text.slice(40_000));
    expect(await wire.sync()).toEqual([]);
    const over = publish(fresh("room"), MOST + 1);
    wire.frameOf(OPCODE.text, over.slice(0, 40_000), { final: false });
    wire.frameOf(OPCODE.continuation, over.slice(40_000));
    expect((await wire.closed()).code).toBe(1009);
  });

  test("has the same limit for binary frames", async () => {
    const { wire } = await world.quiet();
    wire.frameOf(OPCODE.binary, "x".repeat(MOST));
    expect(await wire.frame("error")).toMatchObject({ code: "malformed_message" });
    wire.frameOf(OPCODE.binary, "x".repeat(MOST + 1));
    expect((await wire.closed()).code).toBe(1009);
  });

  test("the largest data that welcome allows fits, with the longest channel and requestId", async () => {
    const channel = fresh("room").padEnd(256, "c");
    const receiver = await world.subscriber(channel);
    const { wire, welcome } = await world.quiet();
    const data = "d".repeat(welcome.maxMessageSize - 2);
    wire.send({ type: "publish", channel, data, requestId: "r".repeat(128) });
    expect((await receiver.wire.frame("message")).data).toBe(data);
  });

  test("a connection that is closed for it leaves presence", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire, peerId } = await world.member(channel);
    await watcher.wire.until("presence");
    wire.send(publish(channel, MOST + 1));
    expect(await watcher.wire.frame()).toMatchObject({ type: "presence", left: [{ peerId }] });
  });
});
