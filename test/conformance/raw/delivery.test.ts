/** protocol.md 4: which connections receive a message, and in which order. */
import { afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type AnyFrame, type Frame, ids } from "../../support/wire/shapes.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { fresh, join, newApp, type World, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

/** Rate limits are off: some tests here send a lot. */
const world = await worldForTests({ env: { PARLEY_FRAMES_PER_SECOND: "0" } });

const messageData = (frames: readonly AnyFrame[]): unknown[] =>
  frames.map((frame) => (frame.type === "message" || frame.type === "direct" ? frame.data : frame));

/** A node may not know at once whether a peer that has just left is still online elsewhere: `backend_error` means retry. */
async function findOut(wire: Wire, to: string): Promise<unknown> {
  for (;;) {
    const answer = await wire.request({ type: "send", to, data: 1 });
    if (answer.type !== "error" || answer.code !== "backend_error") return answer;
  }
}

describe("publish", () => {
  test("reaches every subscriber once, and no other peer", async () => {
    const channel = fresh("room");
    const members = await Promise.all(Array.from({ length: 5 }, () => world.subscriber(channel)));
    const stranger = await world.subscriber(fresh("room"));
    const { wire, peerId } = await world.quiet();
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
        const sender = await world.subscriber(channel, { sub, peerMetadata }, { includeSenderMetadata: own });
        const twin = await world.subscriber(channel, { sub, peerMetadata }, { includeSenderMetadata: others });
        const stranger = await world.subscriber(channel, {}, { includeSenderMetadata: others });
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
    const sender = await world.quiet();
    await sender.wire.request({ type: "publish", channel, data: 1 });
    expect(await wire.frame("message")).toMatchObject({ data: 1 });
    expect(await wire.frame("presence")).toMatchObject({ snapshot: true });
  });

  test("is no longer received after the unsubscribe's ack", async () => {
    const channel = fresh("room");
    const { wire } = await world.subscriber(channel);
    const sender = await world.quiet();
    await wire.request({ type: "unsubscribe", channel });
    await sender.wire.request({ type: "publish", channel, data: 1 });
    expect(await wire.sync()).toEqual([]);
  });

  test("is received once by a connection that subscribed twice", async () => {
    const channel = fresh("room");
    const { wire } = await world.subscriber(channel);
    await wire.request({ type: "subscribe", channel });
    const sender = await world.quiet();
    await sender.wire.request({ type: "publish", channel, data: 1 });
    expect(messageData(await wire.sync())).toEqual([1]);
    await wire.request({ type: "unsubscribe", channel });
    await sender.wire.request({ type: "publish", channel, data: 2 });
    expect(await wire.sync()).toEqual([]);
  });
});

describe("send", () => {
  test("reaches all connections of the peer, once each", async () => {
    const sub = fresh("peer");
    const [one, two] = [await world.quiet({ sub }), await world.quiet({ sub })];
    const { wire, peerId } = await world.quiet();
    expect(await wire.request({ type: "send", to: sub, data: 1 })).toMatchObject({ type: "ack" });
    for (const guest of [one, two])
      expect(await guest.wire.sync()).toEqual([{ type: "direct", from: peerId, data: 1 }]);
  });

  test("to the sender's own peer reaches its other connections; peer_not_found if it has none", async () => {
    const { wire, peerId } = await world.quiet();
    expect(await wire.request({ type: "send", to: peerId, data: 1 })).toMatchObject({ code: "peer_not_found" });
    const twin = await world.quiet({ sub: peerId });
    expect(await wire.request({ type: "send", to: peerId, data: 2 })).toMatchObject({ type: "ack" });
    expect(messageData(await twin.wire.sync())).toEqual([2]);
    expect(await wire.sync()).toEqual([]);
    twin.wire.close();
    await twin.wire.closed();
    expect(await findOut(wire, peerId)).toMatchObject({ code: "peer_not_found" });
  });

  test("to a peer that has left is peer_not_found", async () => {
    const gone = await world.quiet();
    gone.wire.close();
    await gone.wire.closed();
    const { wire } = await world.quiet();
    expect(await findOut(wire, gone.peerId)).toMatchObject({ code: "peer_not_found" });
  });

  test("reaches a publishable key's peer by its random id", async () => {
    const { keyId } = await world.admin.createPublishable(world.app._id);
    const visitor = await world.visitor(keyId);
    const { wire, peerId } = await world.quiet();
    expect(await wire.request({ type: "send", to: visitor.peerId, data: 1 })).toMatchObject({ type: "ack" });
    expect(await visitor.wire.frame()).toEqual({ type: "direct", from: peerId, data: 1 });
  });
});

describe("order", () => {
  test("1,000 publish and send, interleaved, arrive in the order sent", async () => {
    const channel = fresh("room");
    const receivers = await Promise.all(Array.from({ length: 2 }, () => world.subscriber(channel)));
    const { wire } = await world.quiet();
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
    const { wire } = await world.quiet();
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
    const receiver = await world.subscriber(channel);
    const senders = await Promise.all(Array.from({ length: 4 }, () => world.quiet()));
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
    // Its two connections may be on different nodes, which say to each other who has subscribed a moment after the ack.
    await world.rest("GET", `/v1/channels/${channel}/peers`);
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
