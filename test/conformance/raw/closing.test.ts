/** protocol.md 6: how connections end, and what other members see. 1001 is in shutdown.test.ts, 4011 in connection-limits.test.ts. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { SLACK_MS } from "../../support/slack.ts";
import { attempt } from "../../support/wire/connect.ts";
import { closePayload, OPCODE } from "../../support/wire/frames.ts";
import { ids } from "../../support/wire/shapes.ts";
import { Wire } from "../../support/wire/wire.ts";
import { leaveOf } from "./support/expected.ts";
import { fresh, type Guest, newApp, tokenQuery, World, worldForTests } from "./support/world.ts";

/** The pace of a connection that keeps sending. */
const FRAME_EVERY_MS = 20;

setDefaultTimeout(60_000);

const world = await worldForTests();

/** At least four seconds from now: a token with less than one second left is refused, and connecting takes time on a busy machine. */
const soon = (): number => Math.floor((Date.now() + 4700) / 1000);

describe("4002: the token has expired", () => {
  // All connections wait at the same time, so they are kept out of the clean-up after each test.
  let own: World;
  let exp: number;
  let channel: string;
  let watcher: Guest;
  let member: Guest;
  let early: Guest;
  let busy: Guest;
  let lasting: Guest;
  let others: { readonly guest: Guest; readonly exp: number }[];

  beforeAll(async () => {
    own = new World(world.server, world.app, world.key);
    channel = fresh("room");
    watcher = await own.member(channel);
    exp = soon();
    member = await own.member(channel, { exp });
    await watcher.wire.until("presence");
    early = await own.guest({ exp: exp + 600, iat: exp - 86_400 });
    busy = await own.guest({ exp });
    lasting = await own.guest({ exp: exp + 600 });
    others = await Promise.all(
      [0, 1, 0, 1, 0].map(async (more) => ({ guest: await own.guest({ exp: exp + more }), exp: exp + more })),
    );
  });
  afterAll(() => own.hangUp());

  /** Closed with 4002, about 250 ms before that expiry (Unix seconds); a client without a free core sees it later. Returns when. */
  async function closedAtEnd({ wire }: Guest, expiry: number): Promise<number> {
    const { code, at } = await wire.closed();
    expect(code).toBe(4002);
    const leftMs = expiry * 1000 - (performance.timeOrigin + at);
    expect(leftMs).toBeLessThanOrEqual(260);
    expect(leftMs).toBeGreaterThan(-SLACK_MS);
    return at;
  }

  test("closes a connection that keeps sending", async () => {
    const { wire } = busy;
    while (!wire.events.some(({ kind }) => kind === "close")) {
      wire.send({ type: "unsubscribe", channel: "x" });
      await Bun.sleep(FRAME_EVERY_MS);
    }
    await closedAtEnd(busy, exp);
  });

  test("closes about 250 ms before exp and never after it; other members see it leave when it is not back after 10 s", async () => {
    expect(member.welcome.expiresAt).toBe(exp);
    const closedAt = await closedAtEnd(member, exp);
    expect(await watcher.wire.sync()).toEqual([]);
    const leave = await watcher.wire.next(({ kind }) => kind === "text");
    expect(leave.kind === "text" && JSON.parse(leave.text)).toEqual(leaveOf(channel, member.peerId));
    // Both are seen late by a client without a free core.
    expect(leave.at - closedAt).toBeGreaterThan(9900 - SLACK_MS);
    expect(leave.at - closedAt).toBeLessThan(11_500 + SLACK_MS);
    expect(member.wire.frames.filter(({ type }) => type === "error")).toEqual([]);
  });

  test("closes at the effective expiry when that is earlier than exp", async () => {
    expect(early.welcome.expiresAt).toBe(exp);
    await closedAtEnd(early, exp);
  });

  test("closes each connection at its own expiry, while those with longer tokens stay", async () => {
    for (const { guest, exp: own } of others) await closedAtEnd(guest, own);
    expect(await lasting.wire.sync()).toEqual([]);
  });
});

describe("4001: the key is revoked", () => {
  test("all connections of the key end within a second; those of other keys stay", async () => {
    const key = await world.admin.createKey(world.app._id);
    const publishable = await world.admin.createPublishable(world.app._id);
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const one = await world.member(channel, {}, key);
    const two = await world.guest({}, {}, key);
    const visitor = await world.visitor(publishable.keyId);
    await watcher.wire.until("presence");
    const started = performance.now();
    await world.admin.revoke(key.keyId);
    for (const { wire } of [one, two]) {
      const { code, at } = await wire.closed();
      expect(code).toBe(4001);
      expect(at - started).toBeLessThan(1000 + SLACK_MS);
    }
    expect(await watcher.wire.frame()).toEqual(leaveOf(channel, one.peerId));
    expect(await visitor.wire.sync()).toEqual([]);
    await world.admin.revoke(publishable.keyId);
    expect((await visitor.wire.closed()).code).toBe(4001);
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("all connections of a deleted application end", async () => {
    const other = await newApp(world.server);
    const publishable = await world.admin.createPublishable(other.app._id);
    const [one, two] = [await other.guest(), await other.visitor(publishable.keyId)];
    const stays = await world.guest();
    await world.admin.must("DELETE", `/apps/${other.app._id}`);
    for (const { wire } of [one, two]) expect((await wire.closed()).code).toBe(4001);
    expect(await stays.wire.sync()).toEqual([]);
  });
});

describe("4010: the concurrent cap", () => {
  let small: World;
  beforeAll(async () => {
    small = await newApp(world.server);
    await world.admin.must("PATCH", `/apps/${small.app._id}`, { plan: { maxConcurrentConnections: 2 } });
  });
  afterEach(() => small.hangUp());

  test("the upgrade succeeds, and the close comes before any welcome", async () => {
    await small.guest();
    await small.guest();
    const wire = await attempt(world.url, { query: tokenQuery(small.token()) });
    expect(wire).toBeInstanceOf(Wire);
    if (!(wire instanceof Wire)) return;
    expect(await wire.event()).toMatchObject({ kind: "close", code: 4010 });
    await wire.gone();
    expect(wire.frames).toEqual([]);
  });
});

describe("4020: kicked by the backend", () => {
  test("all connections of the peer end, and no others; the response counts them", async () => {
    const { channel, watcher, guest } = await world.pair();
    const twin = await world.guest({ sub: guest.peerId });
    const { status, body } = await world.rest("DELETE", `/v1/peers/${guest.peerId}`);
    expect([status, body]).toEqual([200, { peerId: guest.peerId, closed: 2 } as never]);
    for (const { wire } of [guest, twin]) expect((await wire.closed()).code).toBe(4020);
    expect(await watcher.wire.frame()).toEqual(leaveOf(channel, guest.peerId));
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("the peer may reconnect at once if it is not blocked", async () => {
    const { guest } = await world.pair();
    await world.rest("DELETE", `/v1/peers/${guest.peerId}?blockSec=0`);
    expect((await guest.wire.closed()).code).toBe(4020);
    const { peerId } = await world.guest({ sub: guest.peerId });
    expect(peerId).toBe(guest.peerId);
  });
});

describe("closes by the client", () => {
  test("a close is answered with its code, and other members see it leave", async () => {
    for (const code of [1000, 1001, 3000, 4999]) {
      const { channel, watcher, guest } = await world.pair();
      guest.wire.close(code, "bye");
      expect((await guest.wire.closed()).code).toBe(code);
      await guest.wire.gone();
      expect(await watcher.wire.frame()).toEqual(leaveOf(channel, guest.peerId));
    }
  });

  test("a connection that breaks without a close leaves presence too", async () => {
    const { channel, watcher, guest } = await world.pair();
    guest.wire.drop();
    expect(await watcher.wire.frame()).toEqual(leaveOf(channel, guest.peerId));
  });

  test("frames after a close are ignored", async () => {
    const channel = fresh("room");
    const receiver = await world.guest({ permissions: ["subscribe"] });
    await receiver.wire.request({ type: "subscribe", channel });
    const { wire } = await world.guest();
    wire.close();
    wire.send({ type: "publish", channel, data: "late" });
    await wire.closed();
    expect(await receiver.wire.sync()).toEqual([]);
  });
});

describe("invalid WebSocket frames", () => {
  for (const [what, expected, offend] of [
    ["an unmasked frame", 1002, (wire: Wire) => wire.frameOf(OPCODE.text, '{"type":"ping"}', { masked: false })],
    ["a frame with reserved bits", 1002, (wire: Wire) => wire.frameOf(OPCODE.text | 0x40, "x")],
    ["an unknown opcode", 1002, (wire: Wire) => wire.frameOf(3, "x")],
    ["a continuation of nothing", 1002, (wire: Wire) => wire.frameOf(OPCODE.continuation, "x")],
    ["a ping over 125 bytes", 1002, (wire: Wire) => wire.frameOf(OPCODE.ping, "x".repeat(126))],
    ["text that is not UTF-8", 1007, (wire: Wire) => wire.frameOf(OPCODE.text, '{"type":"\u00ff\u00fe"}')],
    ["a close code that must not be sent", 1002, (wire: Wire) => wire.frameOf(OPCODE.close, closePayload(1005))],
  ] as const)
    test(`${what} ends the connection, and other members see it leave`, async () => {
      const { channel, watcher, guest } = await world.pair();
      offend(guest.wire);
      const end = await guest.wire.next(({ kind }) => kind === "close" || kind === "end");
      // The service may end the connection without a close frame; a close frame that it does send must carry the right code.
      if (end.kind === "close") expect(end.code).toBe(expected);
      expect(await watcher.wire.frame()).toEqual(leaveOf(channel, guest.peerId));
    });
});

describe("after the service's close frame", () => {
  test("no text frame follows, and the connection ends", async () => {
    const { guest } = await world.pair();
    await world.rest("DELETE", `/v1/peers/${guest.peerId}`);
    await guest.wire.closed();
    await guest.wire.gone();
    expect(guest.wire.events.slice(-2).map(({ kind }) => kind)).toEqual(["close", "end"]);
  });

  test("the connection ends even if the client does not answer the close", async () => {
    // The raw client never answers a close, so the service has to end the connection.
    const { guest } = await world.pair();
    await world.rest("DELETE", `/v1/peers/${guest.peerId}`);
    const { at } = await guest.wire.closed();
    await guest.wire.gone();
    expect(guest.wire.events.at(-1)!.at - at).toBeLessThan(3000 + SLACK_MS);
  });
});

test("each close code has its own reason", async () => {
  const { guest } = await world.pair();
  await world.rest("DELETE", `/v1/peers/${guest.peerId}`);
  const { reason } = await guest.wire.closed();
  expect(reason.length).toBeGreaterThan(0);
  expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(123);
});

describe.if(process.env.PARLEY_TEST_LONG !== undefined)("liveness", () => {
  test("pings every 30 s; a peer that answers stays, one silent for 60 s leaves presence even while messages are sent to it", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const lively = await world.member(channel);
    const talker = await world.guest({}, { answersPings: false });
    const mute = await world.guest({}, { answersPings: false });
    await mute.wire.request({ type: "subscribe", channel });
    await mute.wire.until("presence");
    await watcher.wire.until("presence", ({ joined }) => ids(joined).includes(mute.peerId));
    const started = performance.now();
    const talking = setInterval(() => {
      watcher.wire.send({ type: "publish", channel, data: 1 });
      talker.wire.send({ type: "ping" });
    }, 5000);
    const gone = await watcher.wire.next(
      (event) => event.kind === "text" && event.text.includes('"presence"') && event.text.includes(mute.peerId),
      100_000,
    );
    clearInterval(talking);
    expect(gone.at - started).toBeGreaterThan(55_000);
    expect(gone.at - started).toBeLessThan(95_000);
    expect(gone.kind === "text" && JSON.parse(gone.text)).toEqual(leaveOf(channel, mute.peerId));
    const pings = lively.wire.events.filter(({ kind, at }) => kind === "ping" && at > started);
    expect(pings.length).toBeGreaterThanOrEqual(1);
    expect(pings.length).toBeLessThanOrEqual(4);
    await mute.wire.gone();
    for (const { wire } of [lively, talker]) await wire.sync();
  }, 120_000);
});
