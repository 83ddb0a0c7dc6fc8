/** protocol.md 4: who receives a message, in which order, the rate limits, and what happens to clients that do not read. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { OPCODE } from "./support/frames.ts";
import { type AnyFrame, type Frame, ids } from "./support/shapes.ts";
import type { Wire } from "./support/wire.ts";
import { fresh, type Guest, join, newApp, startWorld, type World } from "./support/world.ts";

setDefaultTimeout(60_000);

/** Rate limits are off: some tests here send a lot. */
let world: World;
/** Rate limits are the defaults. */
let paced: World;

beforeAll(async () => {
  [world, paced] = await Promise.all([startWorld({ env: { PARLEY_FRAMES_PER_SECOND: "0" } }), startWorld()]);
});
afterEach(() => {
  world.hangUp();
  paced.hangUp();
});
afterAll(() => Promise.all([world.stop(), paced.stop()]));

const QUIET = { permissions: ["publish", "subscribe", "send"] };
const quiet = (claims: object = {}, from = world): Promise<Guest> => from.guest({ ...QUIET, ...claims });

async function subscribed(channel: string, claims: object = {}, fields: object = {}): Promise<Guest> {
  const guest = await quiet(claims);
  expect(await guest.wire.request({ type: "subscribe", channel, ...fields })).toMatchObject({ type: "ack" });
  return guest;
}

const messageData = (frames: readonly AnyFrame[]): unknown[] =>
  frames.map((frame) => (frame.type === "message" || frame.type === "direct" ? frame.data : frame));

describe("publish", () => {
  test("reaches every subscriber once, and no other peer", async () => {
    const channel = fresh("room");
    const members = await Promise.all(Array.from({ length: 5 }, () => subscribed(channel)));
    const stranger = await subscribed(fresh("room"));
    const { wire, peerId } = await quiet();
    await wire.request({ type: "publish", channel, data: { n: 1 } });
    for (const member of members)
      expect(await member.wire.sync()).toEqual([{ type: "message", channel, from: peerId, data: { n: 1 } }]);
    expect(await stranger.wire.sync()).toEqual([]);
    expect(await wire.sync()).toEqual([]);
  });

  // Messages with and without metadata use different topics; the sender must be left out of both.
  for (const own of [false, true])
    for (const others of [false, true])
      test(`is not echoed to its connection (metadata: sender ${own}, another ${others}), but to the peer's other connections`, async () => {
        const channel = fresh("room");
        const sub = fresh("peer");
        const peerMetadata = { a: 1 };
        const sender = await subscribed(channel, { sub, peerMetadata }, { includeSenderMetadata: own });
        const twin = await subscribed(channel, { sub, peerMetadata }, { includeSenderMetadata: others });
        const stranger = await subscribed(channel, {}, { includeSenderMetadata: others });
        await sender.wire.request({ type: "publish", channel, data: 1 });
        const expected: Frame<"message"> = {
          type: "message",
          channel,
          from: sub,
          ...(others && { fromMetadata: peerMetadata }),
          data: 1,
        };
        expect(await twin.wire.sync()).toEqual([expected]);
        expect(await stranger.wire.sync()).toEqual([expected]);
        expect(await sender.wire.sync()).toEqual([]);
        await twin.wire.request({ type: "publish", channel, data: 2 });
        expect(messageData(await sender.wire.sync())).toEqual([2]);
        expect(await twin.wire.sync()).toEqual([]);
      });

  test("is received from the subscribe's ack on, before the roster", async () => {
    const channel = fresh("room");
    const { wire } = await world.guest({}, { answersPings: false });
    await wire.request({ type: "subscribe", channel });
    const sender = await quiet();
    await sender.wire.request({ type: "publish", channel, data: 1 });
    expect(await wire.frame("message")).toMatchObject({ data: 1 });
    expect(await wire.frame("presence")).toMatchObject({ snapshot: true });
  });

  test("is no longer received after the unsubscribe's ack", async () => {
    const channel = fresh("room");
    const { wire } = await subscribed(channel);
    const sender = await quiet();
    await wire.request({ type: "unsubscribe", channel });
    await sender.wire.request({ type: "publish", channel, data: 1 });
    expect(await wire.sync()).toEqual([]);
  });

  test("is received once by a connection that subscribed twice", async () => {
    const channel = fresh("room");
    const { wire } = await subscribed(channel);
    await wire.request({ type: "subscribe", channel });
    const sender = await quiet();
    await sender.wire.request({ type: "publish", channel, data: 1 });
    expect(messageData(await wire.sync())).toEqual([1]);
    await wire.request({ type: "unsubscribe", channel });
    await sender.wire.request({ type: "publish", channel, data: 2 });
    expect(await wire.sync()).toEqual([]);
  });
});

/** A node may not know at once whether a peer that has just left is still online elsewhere: `backend_error` means retry. */
async function findOut(wire: Wire, to: string): Promise<unknown> {
  for (;;) {
    const answer = await wire.request({ type: "send", to, data: 1 });
    if (answer.type !== "error" || answer.code !== "backend_error") return answer;
  }
}

describe("send", () => {
  test("reaches all connections of the peer, once each", async () => {
    const sub = fresh("peer");
    const [one, two] = [await quiet({ sub }), await quiet({ sub })];
    const { wire, peerId } = await quiet();
    expect(await wire.request({ type: "send", to: sub, data: 1 })).toMatchObject({ type: "ack" });
    for (const guest of [one, two])
      expect(await guest.wire.sync()).toEqual([{ type: "direct", from: peerId, data: 1 }]);
  });

  test("to the sender's own peer reaches its other connections; peer_not_found if it has none", async () => {
    const { wire, peerId } = await quiet();
    expect(await wire.request({ type: "send", to: peerId, data: 1 })).toMatchObject({ code: "peer_not_found" });
    const twin = await quiet({ sub: peerId });
    expect(await wire.request({ type: "send", to: peerId, data: 2 })).toMatchObject({ type: "ack" });
    expect(messageData(await twin.wire.sync())).toEqual([2]);
    expect(await wire.sync()).toEqual([]);
    twin.wire.close();
    await twin.wire.closed();
    expect(await findOut(wire, peerId)).toMatchObject({ code: "peer_not_found" });
  });

  test("to a peer that has left is peer_not_found", async () => {
    const gone = await quiet();
    gone.wire.close();
    await gone.wire.closed();
    const { wire } = await quiet();
    expect(await findOut(wire, gone.peerId)).toMatchObject({ code: "peer_not_found" });
  });

  test("reaches a publishable key's peer by its random id", async () => {
    const { keyId } = await world.admin.createPublishable(world.app._id);
    const visitor = await world.visitor(keyId);
    const { wire, peerId } = await quiet();
    expect(await wire.request({ type: "send", to: visitor.peerId, data: 1 })).toMatchObject({ type: "ack" });
    expect(await visitor.wire.frame()).toEqual({ type: "direct", from: peerId, data: 1 });
  });
});

describe("order", () => {
  test("1,000 publish and send, interleaved, arrive in the order sent", async () => {
    const channel = fresh("room");
    const receivers = await Promise.all(Array.from({ length: 2 }, () => subscribed(channel)));
    const { wire } = await quiet();
    const expected = receivers.map((): number[] => []);
    for (let n = 0; n < 1000; n++) {
      const way = n % 3;
      if (way === 0) wire.send({ type: "publish", channel, data: n });
      else wire.send({ type: "send", to: receivers[way - 1]!.peerId, data: n });
      for (const [at, list] of expected.entries()) if (way === 0 || way - 1 === at) list.push(n);
    }
    expect(await wire.sync()).toEqual([]);
    for (const [at, { wire: receiver }] of receivers.entries())
      expect(messageData(await receiver.sync())).toEqual(expected[at]!);
  });

  test("acks of publishes come in the order of the requests, and so do those of sends", async () => {
    const { wire } = await quiet();
    const channel = fresh("room");
    wire.send(
      ...Array.from({ length: 300 }, (_, n) =>
        n % 2 === 0
          ? { type: "publish", channel, data: n, requestId: `publish ${n}` }
          : { type: "send", to: "nobody", data: n, requestId: `send ${n}` },
      ),
    );
    // A send may have to look for the peer on other nodes, which takes longer than to accept a publish.
    const answers: string[] = [];
    while (answers.length < 300) {
      const frame = await wire.frame();
      if ("requestId" in frame) answers.push(String(frame.requestId));
    }
    for (const [first, kind] of ["publish", "send"].entries())
      expect(answers.filter((id) => id.startsWith(kind))).toEqual(
        Array.from({ length: 150 }, (_, n) => `${kind} ${2 * n + first}`),
      );
  });

  test("the messages of each of several senders stay in order", async () => {
    const channel = fresh("room");
    const receiver = await subscribed(channel);
    const senders = await Promise.all(Array.from({ length: 4 }, () => quiet()));
    for (let n = 0; n < 100; n++)
      for (const { wire, peerId } of senders) wire.send({ type: "publish", channel, data: { peerId, n } });
    await Promise.all(senders.map(({ wire }) => wire.sync()));
    const data = messageData(await receiver.wire.sync()) as { peerId: string; n: number }[];
    for (const { peerId } of senders)
      expect(data.filter((one) => one.peerId === peerId).map(({ n }) => n)).toEqual(
        Array.from({ length: 100 }, (_, n) => n),
      );
  });
});

describe("applications are separate", () => {
  let other: World;
  beforeAll(async () => {
    other = await newApp(world.server);
  });
  afterEach(() => other.hangUp());

  test("in messages, direct messages and presence, with the same names in both", async () => {
    const channel = fresh("room");
    const sub = fresh("peer");
    const here = await world.member(channel, { sub });
    const there = await other.member(channel, { sub });
    expect(there.roster.joined).toEqual([]);
    const sender = await other.member(channel);
    expect(ids(sender.roster.joined)).toEqual([sub]);
    await there.wire.until("presence");
    await sender.wire.request({ type: "publish", channel, data: 1 });
    await sender.wire.request({ type: "send", to: sub, data: 2 });
    expect(messageData(await there.wire.sync())).toEqual([1, 2]);
    expect(await here.wire.sync()).toEqual([]);
    const alone = fresh("peer");
    await world.guest({ sub: alone });
    expect(await sender.wire.request({ type: "send", to: alone, data: 3 })).toMatchObject({ code: "peer_not_found" });
  });
});

describe("a peer's pending presence changes come before its messages", () => {
  test("a newcomer that publishes at once has joined before its message, and joins once", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire, peerId } = await world.guest({ peerMetadata: { a: 1 } }, { answersPings: false });
    wire.send({ type: "subscribe", channel }, { type: "publish", channel, data: 1 });
    const entry = { peerId, metadata: { a: 1 } };
    expect(await watcher.wire.frame()).toEqual({ type: "presence", channel, joined: [entry], left: [] });
    expect(await watcher.wire.frame()).toMatchObject({ type: "message", from: peerId });
    expect(ids((await wire.frame("presence")).joined)).toEqual([watcher.peerId]);
    // The next presence change is of another peer.
    const third = await world.member(channel);
    for (const other of [watcher.wire, wire])
      expect(await other.frame()).toEqual({ type: "presence", channel, joined: [{ peerId: third.peerId }], left: [] });
  });

  test("a newcomer that sends directly at once has joined before its direct message", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire, peerId } = await world.guest({}, { answersPings: false });
    wire.send({ type: "subscribe", channel }, { type: "send", to: watcher.peerId, data: 1 });
    expect(await watcher.wire.frame()).toMatchObject({ type: "presence", joined: [{ peerId }] });
    expect(await watcher.wire.frame()).toMatchObject({ type: "direct", from: peerId });
  });

  for (const [what, messageOf] of [
    ["sends", (to: string) => ({ type: "send", to, data: 1 })],
    ["publishes", (_to: string, channel: string) => ({ type: "publish", channel, data: 1 })],
  ] as const)
    test(`a peer that unsubscribes and then ${what} has left before the message`, async () => {
      const channel = fresh("room");
      const watcher = await world.member(channel);
      const { wire, peerId } = await world.member(channel);
      await watcher.wire.until("presence");
      wire.send({ type: "unsubscribe", channel }, messageOf(watcher.peerId, channel));
      expect(await watcher.wire.frame()).toEqual({ type: "presence", channel, joined: [], left: [{ peerId }] });
      expect(await watcher.wire.frame()).toMatchObject({ from: peerId, data: 1 });
      expect(await watcher.wire.sync()).toEqual([]);
    });

  test("for a message from any of its connections", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const sub = fresh("peer");
    const silent = await world.guest({ sub }, { answersPings: false });
    const speaker = await world.guest({ sub });
    await silent.wire.request({ type: "subscribe", channel });
    speaker.wire.send({ type: "send", to: watcher.peerId, data: 1 });
    expect(await watcher.wire.frame()).toMatchObject({ type: "presence", joined: [{ peerId: sub }] });
    expect(await watcher.wire.frame()).toMatchObject({ type: "direct", from: sub });
  });

  test("for a message that the backend publishes in its name", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire, peerId } = await world.guest({}, { answersPings: false });
    await wire.request({ type: "subscribe", channel });
    // A backend that publishes in a peer's name knows that the peer is online.
    const { body: present } = await world.rest<{ peers: { peerId: string }[] }>("GET", `/v1/channels/${channel}/peers`);
    expect(ids(present.peers)).toContain(peerId);
    const body = { data: 1, from: peerId };
    expect((await world.rest("POST", `/v1/channels/${channel}/publish`, { body })).status).toBe(200);
    expect(await watcher.wire.frame()).toMatchObject({ type: "presence", joined: [{ peerId }] });
    expect(await watcher.wire.frame()).toMatchObject({ type: "message", from: peerId });
  });

  test("for new metadata too", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const sub = fresh("peer");
    await world.member(channel, { sub, peerMetadata: { v: 1 } });
    await watcher.wire.until("presence");
    const newer = await world.guest({ sub, peerMetadata: { v: 2 } }, { answersPings: false });
    newer.wire.send({ type: "subscribe", channel }, { type: "publish", channel, data: 1 });
    expect(await watcher.wire.frame()).toEqual({
      type: "presence",
      channel,
      joined: [{ peerId: sub, metadata: { v: 2 } }],
      left: [],
    });
    expect(await watcher.wire.frame()).toMatchObject({ type: "message", from: sub });
  });

  test("in every channel that they concern", async () => {
    const channels = [fresh("room"), fresh("room")];
    const watcher = await world.member(channels[0]!);
    await join(watcher.wire, channels[1]!);
    const { wire, peerId } = await world.guest({}, { answersPings: false });
    wire.send(...channels.map((channel) => ({ type: "subscribe", channel })), {
      type: "send",
      to: watcher.peerId,
      data: 1,
    });
    const first = [await watcher.wire.frame("presence"), await watcher.wire.frame("presence")];
    expect(first.map(({ channel }) => channel).sort()).toEqual(channels.toSorted());
    for (const { joined } of first) expect(ids(joined)).toEqual([peerId]);
    expect(await watcher.wire.frame()).toMatchObject({ type: "direct" });
  });
});

describe("a client that does not read", () => {
  const BIG = "x".repeat(60_000);
  /** More than the kernel and the service together buffer for one connection. */
  const MOST = 2000;

  test("is closed, without a gap in what it received; other members continue and see it leave", async () => {
    const channel = fresh("room");
    const slow = await world.member(channel);
    const healthy = await world.member(channel);
    await slow.wire.until("presence");
    const sender = await quiet();
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
    const slow = await quiet();
    const sender = await quiet();
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
      const first = await quiet({ sub });
      const second = await quiet({ sub });
      const [slow, healthy] = order === "slow first" ? [first, second] : [second, first];
      const sender = await quiet();
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
      const { wire } = await quiet({}, paced);
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
      const { wire } = await quiet({}, paced);
      wire.send(...many(60, frame));
      const { answered, seconds } = await cut(wire, started);
      expect(answered).toBeGreaterThanOrEqual(PING_BURST);
      expect(answered).toBeLessThanOrEqual(PING_BURST + Math.ceil(seconds * PINGS_PER_SECOND));
    });

  test("pings and other frames have separate buckets", async () => {
    const { wire } = await quiet({}, paced);
    wire.send(
      ...many(PING_BURST / 2, () => ({ type: "ping" })),
      ...many(BURST, harmless),
      ...many(PING_BURST / 2, (n) => ({ type: "ping", requestId: `p${n}` })),
    );
    await wire.answerTo(`p${PING_BURST / 2 - 1}`);
    expect(wire.frames).toHaveLength(1 + BURST + PING_BURST);
    // Both buckets are nearly empty, so one more burst of frames exceeds the limit.
    wire.send(...many(BURST, harmless));
    expect((await wire.closed()).code).toBe(4011);
  });

  test("refills over time", async () => {
    const { wire } = await quiet({}, paced);
    wire.send(...many(BURST, harmless));
    await wire.answerTo(`n${BURST - 1}`);
    await Bun.sleep(600);
    wire.send(...many(50, (n) => harmless(1000 + n)));
    expect(await wire.answerTo("n1049")).toMatchObject({ type: "ack" });
    wire.send(...many(BURST, harmless));
    expect((await wire.closed()).code).toBe(4011);
  });

  test("does not refill beyond the burst", async () => {
    const { wire } = await quiet({}, paced);
    await Bun.sleep(300);
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
    const receiver = await paced.guest(QUIET);
    await receiver.wire.request({ type: "subscribe", channel });
    const { wire } = await quiet({}, paced);
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
      const receiver = await subscribed(channel);
      const { wire } = await quiet();
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
    const { wire } = await quiet();
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
    const { wire } = await quiet();
    wire.frameOf(OPCODE.binary, "x".repeat(MOST));
    expect(await wire.frame("error")).toMatchObject({ code: "malformed_message" });
    wire.frameOf(OPCODE.binary, "x".repeat(MOST + 1));
    expect((await wire.closed()).code).toBe(1009);
  });

  test("the largest data that welcome allows fits, with the longest channel and requestId", async () => {
    const channel = fresh("room").padEnd(256, "c");
    const receiver = await subscribed(channel);
    const { wire, welcome } = await quiet();
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
