/** protocol.md 5: rosters behind the pong, who is announced when, and what is told in one tick. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Frame, ids } from "./support/shapes.ts";
import { learn, Truth } from "./support/truth.ts";
import { isRosterPing, type Wire, type WireEvent } from "./support/wire.ts";
import { type Claims, fresh, type Guest, join, startWorld, type World } from "./support/world.ts";

setDefaultTimeout(60_000);

const SLOW_TICK_MS = 200;
const ROSTER_WAIT_MS = 500;
/** What a busy machine may add to a time. */
const LATE_MS = 250;

let world: World;
/** Ticks so far apart that what a test does in one go falls between two of them. */
let slow: World;

beforeAll(async () => {
  [world, slow] = await Promise.all([
    startWorld(),
    startWorld({ env: { PARLEY_PRESENCE_TICK_MS: String(SLOW_TICK_MS) } }),
  ]);
});
afterEach(() => {
  world.hangUp();
  slow.hangUp();
});
afterAll(() => Promise.all([world.stop(), slow.stop()]));

/** Types of text frames and kinds of the others; pings that only ask whether we are there may come at any time. */
const kinds = (events: readonly WireEvent[]): string[] =>
  events
    .filter((event) => event.kind !== "ping" || isRosterPing(event))
    .map((event) => (event.kind === "text" ? (JSON.parse(event.text) as { type: string }).type : event.kind));

const change = (channel: string, joined: object[], left: object[]): Frame<"presence"> =>
  ({ type: "presence", channel, joined, left }) as Frame<"presence">;

/** A peer that does not answer pings: its roster waits until `letIn`, or its time is up. */
const silent = (claims: Claims = {}, from = world): Promise<Guest> => from.guest(claims, { answersPings: false });

/** Subscribes, and gives the payload of the ping behind the ack. */
async function knock(wire: Wire, channel: string, fields: object = {}): Promise<string> {
  const answer = await wire.request({ type: "subscribe", channel, ...fields });
  expect(answer.type).toBe("ack");
  return wire.rosterPing();
}

/** Some ticks pass: another peer joins channels, and each join takes one at least. */
async function ticksPass(count = 3): Promise<void> {
  const { wire } = await world.guest();
  for (let i = 0; i < count; i++) await join(wire, fresh("elsewhere"));
}

describe("a subscribe", () => {
  test("brings the ack, a WebSocket ping, and after its pong the roster: in this order and nothing else", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire, peerId } = await world.guest();
    wire.send({ type: "subscribe", channel, requestId: "r" });
    await wire.until("presence");
    expect(kinds(wire.events)).toEqual(["welcome", "ack", "ping", "presence"]);
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId }], []));
    expect(await wire.sync()).toEqual([]);
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("without a requestId brings ping and roster all the same", async () => {
    const { wire } = await world.guest();
    wire.send({ type: "subscribe", channel: fresh("room") });
    await wire.until("presence");
    expect(kinds(wire.events)).toEqual(["welcome", "ping", "presence"]);
  });

  test("brings no roster before the pong, and brings it at once after it", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire, peerId } = await silent();
    const payload = await knock(wire, channel);
    await ticksPass();
    expect(await wire.sync()).toEqual([]);
    expect(await watcher.wire.sync()).toEqual([]);
    wire.pong(payload);
    expect(await wire.frame()).toEqual({
      type: "presence",
      channel,
      joined: [{ peerId: watcher.peerId }],
      left: [],
      snapshot: true,
    });
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId }], []));
  });

  test("brings the roster 500 ms after the ack at the latest, to a client that never answers pings", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire, peerId } = await silent();
    const started = performance.now();
    await knock(wire, channel);
    const roster = await wire.next((event) => event.kind === "text");
    expect(roster.kind === "text" && JSON.parse(roster.text)).toMatchObject({ type: "presence", snapshot: true });
    expect(roster.at - started).toBeLessThan(ROSTER_WAIT_MS + LATE_MS);
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId }], []));
    expect(await wire.sync()).toEqual([]);
  });

  test("brings the roster within 500 ms also where ticks are far apart", async () => {
    const channel = fresh("room");
    const { wire } = await slow.guest();
    const started = performance.now();
    wire.send({ type: "subscribe", channel });
    const roster = await wire.next((event) => event.kind === "text");
    expect(roster.at - started).toBeLessThan(ROSTER_WAIT_MS + LATE_MS);
  });

  test("is not answered by a pong that nobody asked for", async () => {
    const channel = fresh("room");
    const { wire } = await silent();
    await knock(wire, channel);
    for (const payload of ["", "x", "-1", "0"]) wire.pong(payload);
    await ticksPass();
    expect(await wire.sync()).toEqual([]);
  });

  test("waits for its own pong, not for that of an earlier one", async () => {
    const [one, two] = [fresh("room"), fresh("room")];
    const { wire } = await silent();
    const first = await knock(wire, one);
    const second = await knock(wire, two);
    wire.pong(first);
    expect(await wire.frame()).toMatchObject({ type: "presence", channel: one });
    await ticksPass(2);
    expect(await wire.sync()).toEqual([]);
    wire.pong(second);
    expect(await wire.frame()).toMatchObject({ type: "presence", channel: two });
  });

  test("of a channel held already waits for its own pong too", async () => {
    const channel = fresh("room");
    const { wire } = await silent();
    const first = await knock(wire, channel);
    wire.pong(first);
    expect(await wire.frame()).toMatchObject({ type: "presence", snapshot: true });
    const second = await knock(wire, channel);
    wire.pong(first);
    await ticksPass(2);
    expect(await wire.sync()).toEqual([]);
    wire.pong(second);
    expect(await wire.frame()).toMatchObject({ type: "presence", snapshot: true });
  });

  test("that is taken back before the roster brings none, and nobody hears of it", async () => {
    const [channel, later] = [fresh("room"), fresh("room")];
    const watcher = await world.member(channel);
    const { wire } = await silent();
    await knock(wire, channel);
    await knock(wire, later);
    expect(await wire.request({ type: "unsubscribe", channel })).toMatchObject({ type: "ack" });
    // Both would be due, this one last.
    expect(await wire.frame()).toMatchObject({ type: "presence", channel: later });
    expect(await wire.sync()).toEqual([]);
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("of somebody who goes before the roster is never heard of", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire } = await silent();
    await knock(wire, channel);
    wire.close();
    await wire.closed();
    await ticksPass();
    expect(await watcher.wire.sync()).toEqual([]);
  });
});

describe("the roster", () => {
  test("comes also when it is empty", async () => {
    const channel = fresh("room");
    const { roster } = await world.member(channel);
    expect(roster).toEqual({ type: "presence", channel, joined: [], left: [], snapshot: true });
  });

  test("holds everybody, with metadata where they have it, but oneself", async () => {
    const channel = fresh("room");
    const one = await world.member(channel, { peerMetadata: { n: 1 } });
    const two = await world.member(channel, { peerMetadata: {} });
    const three = await world.member(channel);
    const { roster, peerId } = await world.member(channel, { peerMetadata: { n: 4 } });
    const sorted = roster.joined.toSorted((a, b) => (a.peerId < b.peerId ? -1 : 1));
    expect(sorted).toEqual(
      [
        { peerId: one.peerId, metadata: { n: 1 } },
        { peerId: two.peerId, metadata: {} },
        { peerId: three.peerId },
      ].toSorted((a, b) => (a.peerId < b.peerId ? -1 : 1)),
    );
    expect(ids(roster.joined)).not.toContain(peerId);
  });

  test("does not hold one's own other connections", async () => {
    const channel = fresh("room");
    const sub = fresh("peer");
    await world.member(channel, { sub, peerMetadata: { n: 1 } });
    const { roster } = await world.member(channel, { sub, peerMetadata: { n: 2 } });
    expect(roster.joined).toEqual([]);
  });

  test("comes again on a repeated subscribe, whole, and nobody else hears of that", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire } = await world.member(channel);
    await watcher.wire.until("presence");
    for (let i = 0; i < 3; i++) {
      const roster = await join(wire, channel);
      expect(roster).toMatchObject({ joined: [{ peerId: watcher.peerId }], left: [], snapshot: true });
    }
    expect(await watcher.wire.sync()).toEqual([]);
    expect(await wire.sync()).toEqual([]);
  });

  test("is the first presence frame of its channel behind the ack: what happens meanwhile is in it", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const leaver = await world.member(channel);
    await watcher.wire.until("presence");
    const { wire, peerId } = await silent();
    const payload = await knock(wire, channel);
    const joiner = await world.member(channel);
    await watcher.wire.until("presence", ({ joined }) => ids(joined).includes(joiner.peerId));
    leaver.wire.close();
    await watcher.wire.until("presence", ({ left }) => ids(left).includes(leaver.peerId));
    await watcher.wire.request({ type: "publish", channel, data: 1 });
    const meanwhile = await wire.sync();
    expect(meanwhile.map(({ type }) => type)).toEqual(["message"]);
    wire.pong(payload);
    const roster = await wire.frame("presence");
    expect(roster.snapshot).toBe(true);
    expect(ids(roster.joined)).toEqual([watcher.peerId, joiner.peerId].sort());
    expect(ids((await watcher.wire.frame("presence")).joined)).toEqual([peerId]);
  });

  test("is so for a repeated subscribe too", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire } = await silent();
    wire.pong(await knock(wire, channel));
    await wire.frame("presence");
    await watcher.wire.until("presence");
    const payload = await knock(wire, channel);
    const joiner = await world.member(channel);
    await watcher.wire.until("presence");
    watcher.wire.close();
    await joiner.wire.until("presence");
    expect(await wire.sync()).toEqual([]);
    wire.pong(payload);
    expect(await wire.frame("presence")).toMatchObject({
      joined: [{ peerId: joiner.peerId }],
      left: [],
      snapshot: true,
    });
    const last = await world.member(channel);
    expect(await wire.frame("presence")).toEqual(change(channel, [{ peerId: last.peerId }], []));
  });

  test("of one channel does not hold back presence of another", async () => {
    const [held, other] = [fresh("room"), fresh("room")];
    const { wire } = await silent();
    wire.pong(await knock(wire, other));
    await wire.frame("presence");
    await knock(wire, held);
    const { peerId } = await world.member(other);
    expect(await wire.frame("presence")).toEqual(change(other, [{ peerId }], []));
  });
});

describe("a member is a peer, not a connection", () => {
  test("it joins with its first and leaves after its last", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const sub = fresh("peer");
    const one = await world.member(channel, { sub });
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId: sub }], []));
    const two = await world.member(channel, { sub });
    const three = await world.member(channel, { sub });
    one.wire.close();
    await one.wire.closed();
    await two.wire.request({ type: "unsubscribe", channel });
    await ticksPass();
    expect(await watcher.wire.sync()).toEqual([]);
    three.wire.drop();
    expect(await watcher.wire.frame()).toEqual(change(channel, [], [{ peerId: sub }]));
  });

  test("its metadata is its newest connection's; a change is announced as joined again", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const sub = fresh("peer");
    const as = (v: number): Claims => ({ sub, peerMetadata: { v } });
    await world.member(channel, as(1));
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId: sub, metadata: { v: 1 } }], []));
    const two = await world.member(channel, as(2));
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId: sub, metadata: { v: 2 } }], []));
    const same = await world.member(channel, as(2));
    await ticksPass();
    expect(await watcher.wire.sync()).toEqual([]);
    same.wire.close();
    await same.wire.closed();
    two.wire.close();
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId: sub, metadata: { v: 1 } }], []));
  });

  test("the newest connection counts, not the newest subscription", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const sub = fresh("peer");
    const older = await world.guest({ sub, peerMetadata: { v: 1 } });
    await world.member(channel, { sub, peerMetadata: { v: 2 } });
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId: sub, metadata: { v: 2 } }], []));
    await join(older.wire, channel);
    await ticksPass();
    expect(await watcher.wire.sync()).toEqual([]);
    const { roster } = await world.member(channel);
    expect(roster.joined.find(({ peerId }) => peerId === sub)).toEqual({ peerId: sub, metadata: { v: 2 } });
  });

  test("metadata that comes or goes is a change too", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const sub = fresh("peer");
    await world.member(channel, { sub });
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId: sub }], []));
    const second = await world.member(channel, { sub, peerMetadata: {} });
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId: sub, metadata: {} }], []));
    second.wire.close();
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId: sub }], []));
  });

  test("who leaves is shown with the metadata it had", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire, peerId } = await world.member(channel, { peerMetadata: { n: 1 } });
    await watcher.wire.until("presence");
    wire.drop();
    expect(await watcher.wire.frame()).toEqual(change(channel, [], [{ peerId, metadata: { n: 1 } }]));
  });

  test("one's own other connections are told of one's changes like everybody's", async () => {
    const channel = fresh("room");
    const sub = fresh("peer");
    const { wire } = await world.member(channel, { sub, peerMetadata: { v: 1 } });
    const other = await world.member(channel);
    expect(await wire.frame()).toEqual(change(channel, [{ peerId: other.peerId }], []));
    expect(await wire.sync()).toEqual([]);
  });
});

describe("a peer that comes back before its old connection is gone never flaps", () => {
  async function setUp(): Promise<{ channel: string; watcher: Guest; old: Guest; again: Claims }> {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const again = { sub: fresh("peer"), peerMetadata: { a: 1 } };
    const old = await world.member(channel, again);
    await watcher.wire.until("presence");
    return { channel, watcher, old, again };
  }

  for (const [how, end] of [
    ["closes", (wire: Wire) => wire.close()],
    ["is dropped", (wire: Wire) => wire.drop()],
    ["unsubscribes", (wire: Wire, channel: string) => wire.send({ type: "unsubscribe", channel })],
  ] as const) {
    test(`when the old one ${how} after the new one's roster`, async () => {
      const { channel, watcher, old, again } = await setUp();
      const { roster, wire } = await world.member(channel, again);
      expect(ids(roster.joined)).toEqual([watcher.peerId]);
      end(old.wire, channel);
      await ticksPass();
      expect(await watcher.wire.sync()).toEqual([]);
      wire.close();
      expect(await watcher.wire.frame()).toMatchObject({ left: [{ peerId: again.sub as string }] });
    });

    test(`when the old one ${how} between the new one's ack and its roster`, async () => {
      const { channel, watcher, old, again } = await setUp();
      const { wire } = await silent(again);
      const payload = await knock(wire, channel);
      end(old.wire, channel);
      await ticksPass();
      wire.pong(payload);
      expect(ids((await wire.frame("presence")).joined)).toEqual([watcher.peerId]);
      await ticksPass(1);
      expect(await watcher.wire.sync()).toEqual([]);
    });
  }

  test("and with other metadata it only joins again", async () => {
    const { channel, watcher, old, again } = await setUp();
    const { wire } = await silent({ ...again, peerMetadata: { a: 2 } });
    const payload = await knock(wire, channel);
    old.wire.close();
    await ticksPass();
    wire.pong(payload);
    await wire.frame("presence");
    expect(await watcher.wire.frame()).toEqual(
      change(channel, [{ peerId: again.sub as string, metadata: { a: 2 } }], []),
    );
    expect(await watcher.wire.sync()).toEqual([]);
  });
});

describe("the action presence", () => {
  const BLIND = { permissions: ["subscribe", "publish", "send"] };

  test("missing: it gets no ping and no roster, and sees nobody join or leave", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire } = await world.guest(BLIND);
    wire.send({ type: "subscribe", channel, requestId: "r" });
    const other = await world.member(channel);
    await watcher.wire.until("presence");
    other.wire.close();
    await watcher.wire.until("presence", ({ left }) => left.length > 0);
    await wire.sync();
    expect(kinds(wire.events)).toEqual(["welcome", "ack", "ack"]);
  });

  test("missing: nobody sees it join or leave, nor is it in a roster", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire } = await world.guest(BLIND);
    await wire.request({ type: "subscribe", channel });
    const late = await world.member(channel);
    expect(ids(late.roster.joined)).toEqual([watcher.peerId]);
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId: late.peerId }], []));
    wire.send({ type: "publish", channel, data: 1 });
    expect(await watcher.wire.frame()).toMatchObject({ type: "message" });
    wire.close();
    await wire.closed();
    await ticksPass();
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("missing: messages flow all the same", async () => {
    const channel = fresh("room");
    const { wire } = await world.guest(BLIND);
    await wire.request({ type: "subscribe", channel });
    const sender = await world.guest();
    await sender.wire.request({ type: "publish", channel, data: 1 });
    expect(await wire.frame()).toMatchObject({ type: "message", data: 1 });
  });

  test("missing on one of a peer's connections: that one does not count", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const sub = fresh("peer");
    const blind = await world.guest({ sub, ...BLIND });
    await blind.wire.request({ type: "subscribe", channel });
    const seeing = await world.member(channel, { sub });
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId: sub }], []));
    seeing.wire.close();
    expect(await watcher.wire.frame()).toEqual(change(channel, [], [{ peerId: sub }]));
    expect(await blind.wire.sync()).toEqual([]);
  });
});

describe("channels do not mix", () => {
  test("presence is told only in the channel it happens in", async () => {
    const [one, two] = [fresh("room"), fresh("room")];
    const first = await world.member(one);
    const second = await world.member(two);
    const { wire, peerId } = await world.member(one);
    expect(await first.wire.frame()).toEqual(change(one, [{ peerId }], []));
    await join(wire, two);
    expect(await second.wire.frame()).toEqual(change(two, [{ peerId }], []));
    wire.close();
    expect(await first.wire.frame()).toEqual(change(one, [], [{ peerId }]));
    expect(await second.wire.frame()).toEqual(change(two, [], [{ peerId }]));
    expect(await first.wire.sync()).toEqual([]);
    expect(await second.wire.sync()).toEqual([]);
  });

  test("a channel that everybody has left begins anew", async () => {
    const channel = fresh("room");
    const { wire } = await world.member(channel, { peerMetadata: { n: 1 } });
    await wire.request({ type: "unsubscribe", channel });
    const { roster } = await world.member(channel);
    expect(roster.joined).toEqual([]);
  });
});

describe("a crowd", () => {
  test("30 that join at the same moment know exactly the other 29, each told once", async () => {
    const channel = fresh("room");
    const guests = await Promise.all(Array.from({ length: 30 }, (_, n) => world.guest({ peerMetadata: { n } })));
    const all = guests.map(({ peerId }) => peerId);
    for (const { wire } of guests) wire.send({ type: "subscribe", channel });
    const truths = await Promise.all(
      guests.map(({ wire }) => learn(wire, channel, ({ members }) => members.size === 29)),
    );
    for (const [at, truth] of truths.entries()) {
      expect(truth.peerIds).toEqual(all.filter((_, i) => i !== at).sort());
      expect(truth.rosters).toBe(1);
      expect(truth.noise).toEqual([]);
    }
    await ticksPass();
    for (const { wire } of guests) expect(await wire.sync()).toEqual([]);
  });
});

describe("a roster over 960,000 characters", () => {
  const PART_MAX = 960_000;
  const MEMBERS = 260;
  const METADATA = { about: "m".repeat(4096 - '{"about":""}'.length) };
  let crowd: World;
  let channel: string;
  let members: Guest[];
  /** The first one there; knows everybody. */
  let host: Guest;

  beforeAll(async () => {
    // Nobody is cut here: what is told about so many to so many is more than usual.
    const env = { PARLEY_MAX_PENDING_BYTES: String(512 * 1024 * 1024), PARLEY_FRAMES_PER_SECOND: "0" };
    crowd = await startWorld({ env });
    channel = fresh("room");
    host = await crowd.member(channel);
    members = await Promise.all(Array.from({ length: MEMBERS }, () => crowd.guest({ peerMetadata: METADATA })));
    // All at once, and none looks at its own roster: they are there to be seen.
    await Promise.all(
      members.map(async ({ wire }) => {
        await knock(wire, channel);
        wire.stopLooking();
      }),
    );
    await learn(host.wire, channel, ({ members: known }) => known.size === MEMBERS);
  });
  afterAll(() => crowd.stop());

  const extras: Guest[] = [];
  const extra = async (): Promise<Guest> => {
    const guest = await crowd.guest();
    extras.push(guest);
    return guest;
  };
  /** Whoever a test has brought goes, and only the crowd is left. */
  afterEach(async () => {
    for (const { wire } of extras.splice(0)) if (!wire.isOver) wire.drop();
    const there = members.map(({ peerId }) => peerId).sort();
    while (!Bun.deepEquals(knownTo(host).peerIds, there)) await host.wire.sync();
  });

  const presenceFrames = (wire: Wire): { text: string; frame: Frame<"presence"> }[] =>
    wire.events.flatMap((event) => {
      if (event.kind !== "text") return [];
      const frame = JSON.parse(event.text) as Frame<"presence">;
      return frame.type === "presence" ? [{ text: event.text, frame }] : [];
    });

  const knownTo = ({ wire }: Guest): Truth => {
    const truth = new Truth();
    for (const { frame } of presenceFrames(wire)) truth.take(frame);
    return truth;
  };

  test("comes in parts, each a roster and none too long, that hold everybody once", async () => {
    const { wire } = await extra();
    wire.send({ type: "subscribe", channel });
    const truth = await learn(wire, channel, ({ members: known }) => known.size > MEMBERS);
    expect(truth.peerIds).toEqual([host, ...members].map(({ peerId }) => peerId).sort());
    expect(truth.noise).toEqual([]);
    const parts = presenceFrames(wire).filter(({ frame }) => frame.snapshot);
    expect(parts.length).toBeGreaterThanOrEqual(2);
    expect(parts.flatMap(({ frame }) => frame.joined)).toHaveLength(MEMBERS + 1);
    for (const { text, frame } of parts) {
      expect(frame.left).toEqual([]);
      expect(text.length).toBeLessThan(PART_MAX + 500);
    }
    expect(parts[0]!.text.length).toBeGreaterThan(PART_MAX - 5000);
  });

  test("is followed by what happens later, and by nothing about oneself or about those who came in the same tick", async () => {
    const newcomers = await Promise.all(Array.from({ length: 3 }, extra));
    for (const { wire } of newcomers) wire.send({ type: "subscribe", channel });
    await Promise.all(
      newcomers.map(({ wire }) => learn(wire, channel, ({ members: known }) => known.size >= MEMBERS + 3)),
    );
    const late = await extra();
    late.wire.send({ type: "subscribe", channel });
    const there = [host, late, ...members, ...newcomers].map(({ peerId }) => peerId);
    for (const guest of newcomers) {
      await guest.wire.until("presence", ({ joined }) => ids(joined).includes(late.peerId));
      const truth = knownTo(guest);
      expect(truth.noise).toEqual([]);
      expect(truth.peerIds).toEqual(there.filter((id) => id !== guest.peerId).sort());
    }
  });

  test("that its reader does not take: later presence waits behind the last part", async () => {
    const { wire, peerId } = await extra();
    const filler = await extra();
    wire.stopReading();
    // More than the kernel holds: from here on bytes wait in the service.
    for (let i = 0; i < 400; i++) filler.wire.send({ type: "send", to: peerId, data: "f".repeat(60_000) });
    await filler.wire.sync();
    wire.send({ type: "subscribe", channel });
    const announced = (id: string) => (frame: Frame<"presence">) => ids(frame.joined).includes(id);
    await host.wire.until("presence", announced(peerId));
    const joiner = await extra();
    await join(joiner.wire, channel);
    await host.wire.until("presence", announced(joiner.peerId));
    const leaver = members.pop()!;
    leaver.wire.drop();
    await host.wire.until("presence", ({ left }) => ids(left).includes(leaver.peerId));
    wire.goOnReading();
    const there = [host, joiner, ...members].map((guest) => guest.peerId).sort();
    const truth = await learn(wire, channel, ({ peerIds }) => Bun.deepEquals(peerIds, there));
    expect(truth.noise).toEqual([]);
    const order = presenceFrames(wire).map(({ frame }) => frame.snapshot === true);
    expect(order.filter(Boolean).length).toBeGreaterThanOrEqual(2);
    expect(order.lastIndexOf(true)).toBeLessThan(order.indexOf(false));
  });
});
