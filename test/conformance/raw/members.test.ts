/** protocol.md 5: members with several connections, reconnects, crowds, and rosters in parts. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Frame, ids } from "../../support/wire/shapes.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { presenceChange } from "./support/expected.ts";
import { MembersSeen, watchMembers } from "./support/members-seen.ts";
import {
  type Claims,
  fresh,
  type Guest,
  join,
  startWorld,
  subscribeUntilPing,
  type World,
  worldForTests,
} from "./support/world.ts";

setDefaultTimeout(60_000);

const world = await worldForTests();

describe("a member is a peer, not a connection", () => {
  test("it joins with its first connection and leaves after its last", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const sub = fresh("peer");
    const one = await world.member(channel, { sub });
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [{ peerId: sub }], []));
    const two = await world.member(channel, { sub });
    const three = await world.member(channel, { sub });
    one.wire.close();
    await one.wire.closed();
    await two.wire.request({ type: "unsubscribe", channel });
    await world.ticksPass();
    expect(await watcher.wire.sync()).toEqual([]);
    three.wire.drop();
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [], [{ peerId: sub }]));
  });

  test("its metadata is its newest connection's; a change is announced as joined again, but not to itself", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const sub = fresh("peer");
    const as = (v: number): Claims => ({ sub, peerMetadata: { v } });
    const one = await world.member(channel, as(1));
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [{ peerId: sub, metadata: { v: 1 } }], []));
    const two = await world.member(channel, as(2));
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [{ peerId: sub, metadata: { v: 2 } }], []));
    const same = await world.member(channel, as(2));
    await world.ticksPass();
    expect(await watcher.wire.sync()).toEqual([]);
    same.wire.close();
    await same.wire.closed();
    two.wire.close();
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [{ peerId: sub, metadata: { v: 1 } }], []));
    expect(await one.wire.sync()).toEqual([]);
  });

  test("the newest connection counts, not the newest subscription", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const sub = fresh("peer");
    const older = await world.guest({ sub, peerMetadata: { v: 1 } });
    await world.member(channel, { sub, peerMetadata: { v: 2 } });
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [{ peerId: sub, metadata: { v: 2 } }], []));
    await join(older.wire, channel);
    await world.ticksPass();
    expect(await watcher.wire.sync()).toEqual([]);
    const { roster } = await world.member(channel);
    expect(roster.joined.find(({ peerId }) => peerId === sub)).toEqual({ peerId: sub, metadata: { v: 2 } });
  });

  test("metadata that comes or goes is a change too", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const sub = fresh("peer");
    await world.member(channel, { sub });
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [{ peerId: sub }], []));
    const second = await world.member(channel, { sub, peerMetadata: {} });
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [{ peerId: sub, metadata: {} }], []));
    second.wire.close();
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [{ peerId: sub }], []));
  });

  test("a member that leaves is shown with the metadata it had", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire, peerId } = await world.member(channel, { peerMetadata: { n: 1 } });
    await watcher.wire.until("presence");
    wire.drop();
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [], [{ peerId, metadata: { n: 1 } }]));
  });

  test("a peer's other connections receive its changes like every member", async () => {
    const channel = fresh("room");
    const sub = fresh("peer");
    const { wire } = await world.member(channel, { sub, peerMetadata: { v: 1 } });
    const other = await world.member(channel);
    expect(await wire.frame()).toEqual(presenceChange(channel, [{ peerId: other.peerId }], []));
    expect(await wire.sync()).toEqual([]);
  });
});

describe("a peer that reconnects before its old connection ends is not announced", () => {
  async function setUp(): Promise<{ channel: string; watcher: Guest; old: Guest; claims: Claims }> {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const claims = { sub: fresh("peer"), peerMetadata: { a: 1 } };
    const old = await world.member(channel, claims);
    await watcher.wire.until("presence");
    return { channel, watcher, old, claims };
  }

  for (const [how, end] of [
    ["closes", (wire: Wire) => wire.close()],
    ["is dropped", (wire: Wire) => wire.drop()],
    ["unsubscribes", (wire: Wire, channel: string) => wire.send({ type: "unsubscribe", channel })],
  ] as const) {
    test(`when the old one ${how} after the new one's roster`, async () => {
      const { channel, watcher, old, claims } = await setUp();
      const { roster, wire } = await world.member(channel, claims);
      expect(ids(roster.joined)).toEqual([watcher.peerId]);
      end(old.wire, channel);
      await world.ticksPass();
      expect(await watcher.wire.sync()).toEqual([]);
      wire.close();
      expect(await watcher.wire.frame()).toMatchObject({ left: [{ peerId: claims.sub as string }] });
    });

    test(`when the old one ${how} between the new one's ack and its roster`, async () => {
      const { channel, watcher, old, claims } = await setUp();
      const { wire } = await world.silent(claims);
      const payload = await subscribeUntilPing(wire, channel);
      end(old.wire, channel);
      await world.ticksPass();
      wire.pong(payload);
      expect(ids((await wire.frame("presence")).joined)).toEqual([watcher.peerId]);
      await world.ticksPass(1);
      expect(await watcher.wire.sync()).toEqual([]);
    });
  }

  test("but with other metadata it is announced as joined", async () => {
    const { channel, watcher, old, claims } = await setUp();
    const { wire } = await world.silent({ ...claims, peerMetadata: { a: 2 } });
    const payload = await subscribeUntilPing(wire, channel);
    old.wire.close();
    await world.ticksPass();
    wire.pong(payload);
    await wire.frame("presence");
    expect(await watcher.wire.frame()).toEqual(
      presenceChange(channel, [{ peerId: claims.sub as string, metadata: { a: 2 } }], []),
    );
    expect(await watcher.wire.sync()).toEqual([]);
  });
});

describe("channels do not mix", () => {
  test("presence is announced only in its own channel", async () => {
    const [one, two] = [fresh("room"), fresh("room")];
    const first = await world.member(one);
    const second = await world.member(two);
    const { wire, peerId } = await world.member(one);
    expect(await first.wire.frame()).toEqual(presenceChange(one, [{ peerId }], []));
    await join(wire, two);
    expect(await second.wire.frame()).toEqual(presenceChange(two, [{ peerId }], []));
    wire.close();
    expect(await first.wire.frame()).toEqual(presenceChange(one, [], [{ peerId }]));
    expect(await second.wire.frame()).toEqual(presenceChange(two, [], [{ peerId }]));
    expect(await first.wire.sync()).toEqual([]);
    expect(await second.wire.sync()).toEqual([]);
  });

  test("a channel that all members have left starts empty", async () => {
    const channel = fresh("room");
    const { wire } = await world.member(channel, { peerMetadata: { n: 1 } });
    await wire.request({ type: "unsubscribe", channel });
    const { roster } = await world.member(channel);
    expect(roster.joined).toEqual([]);
  });
});

describe("a crowd", () => {
  test("30 peers that join at the same moment each see the other 29 exactly once", async () => {
    const channel = fresh("room");
    const guests = await Promise.all(Array.from({ length: 30 }, (_, n) => world.guest({ peerMetadata: { n } })));
    const all = guests.map(({ peerId }) => peerId);
    for (const { wire } of guests) wire.send({ type: "subscribe", channel });
    const views = await Promise.all(
      guests.map(({ wire }) => watchMembers(wire, channel, ({ members }) => members.size === 29)),
    );
    for (const [at, seen] of views.entries()) {
      expect(seen.peerIds).toEqual(all.filter((_, i) => i !== at).sort());
      expect(seen.rosters).toBe(1);
      expect(seen.redundant).toEqual([]);
    }
    await world.ticksPass();
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
  /** The first member; it has seen all others join. */
  let host: Guest;

  beforeAll(async () => {
    // No connection is closed for not reading: presence of this many members to this many members exceeds the usual limits.
    const env = { PARLEY_MAX_PENDING_BYTES: String(512 * 1024 * 1024), PARLEY_FRAMES_PER_SECOND: "0" };
    crowd = await startWorld({ env });
    channel = fresh("room");
    host = await crowd.member(channel);
    members = await Promise.all(Array.from({ length: MEMBERS }, () => crowd.guest({ peerMetadata: METADATA })));
    // All connect at once, and none reads its own roster: they only have to be members.
    await Promise.all(
      members.map(async ({ wire }) => {
        await subscribeUntilPing(wire, channel);
        wire.stopLooking();
      }),
    );
    await watchMembers(host.wire, channel, ({ members: known }) => known.size === MEMBERS);
  });
  afterAll(() => crowd.stop());

  const extras: Guest[] = [];
  const extra = async (): Promise<Guest> => {
    const guest = await crowd.guest();
    extras.push(guest);
    return guest;
  };
  /** Ends the connections that a test has opened, so that only the crowd is left. */
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

  const knownTo = ({ wire }: Guest): MembersSeen => {
    const seen = new MembersSeen();
    for (const { frame } of presenceFrames(wire)) seen.take(frame);
    return seen;
  };

  test("comes in parts, each a roster within the limit, that together hold every member once", async () => {
    const { wire } = await extra();
    wire.send({ type: "subscribe", channel });
    const seen = await watchMembers(wire, channel, ({ members: known }) => known.size > MEMBERS);
    expect(seen.peerIds).toEqual([host, ...members].map(({ peerId }) => peerId).sort());
    expect(seen.redundant).toEqual([]);
    const parts = presenceFrames(wire).filter(({ frame }) => frame.snapshot);
    expect(parts.length).toBeGreaterThanOrEqual(2);
    expect(parts.flatMap(({ frame }) => frame.joined)).toHaveLength(MEMBERS + 1);
    for (const { text, frame } of parts) {
      expect(frame.left).toEqual([]);
      expect(text.length).toBeLessThan(PART_MAX + 500);
    }
    expect(parts[0]!.text.length).toBeGreaterThan(PART_MAX - 5000);
  });

  test("is followed by later changes, but not by the peer itself or by newcomers of the same tick", async () => {
    const newcomers = await Promise.all(Array.from({ length: 3 }, extra));
    for (const { wire } of newcomers) wire.send({ type: "subscribe", channel });
    await Promise.all(
      newcomers.map(({ wire }) => watchMembers(wire, channel, ({ members: known }) => known.size >= MEMBERS + 3)),
    );
    const late = await extra();
    late.wire.send({ type: "subscribe", channel });
    const there = [host, late, ...members, ...newcomers].map(({ peerId }) => peerId);
    for (const guest of newcomers) {
      await guest.wire.until("presence", ({ joined }) => ids(joined).includes(late.peerId));
      const seen = knownTo(guest);
      expect(seen.redundant).toEqual([]);
      expect(seen.peerIds).toEqual(there.filter((id) => id !== guest.peerId).sort());
    }
  });

  test("later presence waits behind the last part when the client does not read", async () => {
    const { wire, peerId } = await extra();
    const filler = await extra();
    wire.stopReading();
    // More than the kernel buffers: from here on bytes wait in the service.
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
    const seen = await watchMembers(wire, channel, ({ peerIds }) => Bun.deepEquals(peerIds, there));
    expect(seen.redundant).toEqual([]);
    const order = presenceFrames(wire).map(({ frame }) => frame.snapshot === true);
    expect(order.filter(Boolean).length).toBeGreaterThanOrEqual(2);
    expect(order.lastIndexOf(true)).toBeLessThan(order.indexOf(false));
  });
});
