/** protocol.md 5: the roster after the pong, and the action presence. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { SLACK_MS } from "../../support/slack.ts";
import { ids } from "../../support/wire/shapes.ts";
import { isRosterPing, type WireEvent } from "../../support/wire/wire.ts";
import { presenceChange } from "./support/expected.ts";
import { fresh, type Guest, join, subscribeUntilPing, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const SLOW_TICK_MS = 200;

const ROSTER_WAIT_MS = 500;

/** Allowance for a busy machine. */
const LATE_MS = 250 + SLACK_MS;

const world = await worldForTests();

/** Ticks are far enough apart that everything a test does at once falls between two of them. */
const slow = await worldForTests({ env: { PARLEY_PRESENCE_TICK_MS: String(SLOW_TICK_MS) } });

/** Types of text frames and kinds of other events; liveness pings, which may come at any time, are left out. */
const kinds = (events: readonly WireEvent[]): string[] =>
  events
    .filter((event) => event.kind !== "ping" || isRosterPing(event))
    .map((event) => (event.kind === "text" ? (JSON.parse(event.text) as { type: string }).type : event.kind));

/** The machine is busy: the roster has come without a pong, because its time was over. */
class TooLate extends Error {}

/** Runs a test again that was too late. */
const inTime = (run: () => Promise<void>) => async (): Promise<void> => {
  for (;;)
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof TooLate)) throw error;
    }
};

/** `sinceMs`: before the subscribe. */
async function expectNoRoster({ wire }: Pick<Guest, "wire">, sinceMs: number): Promise<void> {
  const frames = await wire.sync();
  if (frames.length > 0 && performance.now() - sinceMs > ROSTER_WAIT_MS) throw new TooLate();
  expect(frames).toEqual([]);
}

describe("a subscribe", () => {
  test("brings the ack, a WebSocket ping, and after its pong the roster: in this order and nothing else", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire, peerId } = await world.guest();
    wire.send({ type: "subscribe", channel, requestId: "r" });
    await wire.until("presence");
    expect(kinds(wire.events)).toEqual(["welcome", "ack", "ping", "presence"]);
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [{ peerId }], []));
    expect(await wire.sync()).toEqual([]);
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("without a requestId still brings ping and roster", async () => {
    const { wire } = await world.guest();
    wire.send({ type: "subscribe", channel: fresh("room") });
    await wire.until("presence");
    expect(kinds(wire.events)).toEqual(["welcome", "ping", "presence"]);
  });

  test(
    "brings no roster before the pong, and brings it at once after it",
    inTime(async () => {
      const channel = fresh("room");
      const watcher = await world.member(channel);
      const { wire, peerId } = await world.silent();
      const sinceMs = performance.now();
      const payload = await subscribeUntilPing(wire, channel);
      await world.ticksPass();
      for (const one of [{ wire }, watcher]) await expectNoRoster(one, sinceMs);
      wire.pong(payload);
      expect(await wire.frame()).toEqual({
        type: "presence",
        channel,
        joined: [{ peerId: watcher.peerId }],
        left: [],
        snapshot: true,
      });
      expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [{ peerId }], []));
    }),
  );

  test("brings the roster within 500 ms of the ack to a client that never answers pings", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire, peerId } = await world.silent();
    const started = performance.now();
    await subscribeUntilPing(wire, channel);
    const roster = await wire.next((event) => event.kind === "text");
    expect(roster.kind === "text" && JSON.parse(roster.text)).toMatchObject({ type: "presence", snapshot: true });
    expect(roster.at - started).toBeLessThan(ROSTER_WAIT_MS + LATE_MS);
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [{ peerId }], []));
    expect(await wire.sync()).toEqual([]);
  });

  test("brings the roster within 500 ms even when ticks are far apart", async () => {
    const channel = fresh("room");
    const { wire } = await slow.guest();
    const started = performance.now();
    wire.send({ type: "subscribe", channel });
    const roster = await wire.next((event) => event.kind === "text");
    expect(roster.at - started).toBeLessThan(ROSTER_WAIT_MS + LATE_MS);
  });

  test(
    "does not accept an unsolicited pong as the answer",
    inTime(async () => {
      const channel = fresh("room");
      const { wire } = await world.silent();
      const sinceMs = performance.now();
      await subscribeUntilPing(wire, channel);
      for (const payload of ["", "x", "-1", "0"]) wire.pong(payload);
      await world.ticksPass();
      await expectNoRoster({ wire }, sinceMs);
    }),
  );

  test(
    "waits for its own pong, not for that of an earlier subscribe",
    inTime(async () => {
      const [one, two] = [fresh("room"), fresh("room")];
      const { wire } = await world.silent();
      const sinceMs = performance.now();
      const first = await subscribeUntilPing(wire, one);
      const second = await subscribeUntilPing(wire, two);
      wire.pong(first);
      expect(await wire.frame()).toMatchObject({ type: "presence", channel: one });
      await world.ticksPass(2);
      await expectNoRoster({ wire }, sinceMs);
      wire.pong(second);
      expect(await wire.frame()).toMatchObject({ type: "presence", channel: two });
    }),
  );

  test(
    "to a channel already subscribed waits for its own pong too",
    inTime(async () => {
      const channel = fresh("room");
      const { wire } = await world.silent();
      const first = await subscribeUntilPing(wire, channel);
      wire.pong(first);
      expect(await wire.frame()).toMatchObject({ type: "presence", snapshot: true });
      const sinceMs = performance.now();
      const second = await subscribeUntilPing(wire, channel);
      wire.pong(first);
      await world.ticksPass(2);
      await expectNoRoster({ wire }, sinceMs);
      wire.pong(second);
      expect(await wire.frame()).toMatchObject({ type: "presence", snapshot: true });
    }),
  );

  test("that is undone before the roster brings none, and is not announced", async () => {
    const [channel, later] = [fresh("room"), fresh("room")];
    const watcher = await world.member(channel);
    const { wire } = await world.silent();
    await subscribeUntilPing(wire, channel);
    await subscribeUntilPing(wire, later);
    expect(await wire.request({ type: "unsubscribe", channel })).toMatchObject({ type: "ack" });
    // Both rosters would be due by then, this one last.
    expect(await wire.frame()).toMatchObject({ type: "presence", channel: later });
    expect(await wire.sync()).toEqual([]);
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("of a peer that disconnects before the roster is never announced", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire } = await world.silent();
    await subscribeUntilPing(wire, channel);
    wire.close();
    await wire.closed();
    await world.ticksPass();
    expect(await watcher.wire.sync()).toEqual([]);
  });
});

describe("the roster", () => {
  test("is sent even when it is empty", async () => {
    const channel = fresh("room");
    const { roster } = await world.member(channel);
    expect(roster).toEqual({ type: "presence", channel, joined: [], left: [], snapshot: true });
  });

  test("holds all other members, with metadata where they have it", async () => {
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

  test("does not hold the peer's own other connections", async () => {
    const channel = fresh("room");
    const sub = fresh("peer");
    await world.member(channel, { sub, peerMetadata: { n: 1 } });
    const { roster } = await world.member(channel, { sub, peerMetadata: { n: 2 } });
    expect(roster.joined).toEqual([]);
  });

  test("is sent in full again on a repeated subscribe, and nothing is announced to other members", async () => {
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

  test("is the first presence frame of its channel after the ack: changes in between are part of it", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const leaver = await world.member(channel);
    await watcher.wire.until("presence");
    const { wire, peerId } = await world.silent();
    const payload = await subscribeUntilPing(wire, channel);
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

  test("is the first presence frame after a repeated subscribe too", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire } = await world.silent();
    wire.pong(await subscribeUntilPing(wire, channel));
    await wire.frame("presence");
    await watcher.wire.until("presence");
    const payload = await subscribeUntilPing(wire, channel);
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
    expect(await wire.frame("presence")).toEqual(presenceChange(channel, [{ peerId: last.peerId }], []));
  });

  test("of one channel does not delay presence of another", async () => {
    const [held, other] = [fresh("room"), fresh("room")];
    const { wire } = await world.silent();
    wire.pong(await subscribeUntilPing(wire, other));
    await wire.frame("presence");
    await subscribeUntilPing(wire, held);
    const { peerId } = await world.member(other);
    expect(await wire.frame("presence")).toEqual(presenceChange(other, [{ peerId }], []));
  });
});

describe("the action presence", () => {
  const BLIND = { permissions: ["subscribe", "publish", "send"] };

  test("missing: it gets no ping and no roster, and receives no joins or leaves", async () => {
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

  test("missing: its joins and leaves are not announced, and it is in no roster", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire } = await world.guest(BLIND);
    await wire.request({ type: "subscribe", channel });
    const late = await world.member(channel);
    expect(ids(late.roster.joined)).toEqual([watcher.peerId]);
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [{ peerId: late.peerId }], []));
    wire.send({ type: "publish", channel, data: 1 });
    expect(await watcher.wire.frame()).toMatchObject({ type: "message" });
    wire.close();
    await wire.closed();
    await world.ticksPass();
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("missing: messages are still delivered", async () => {
    const channel = fresh("room");
    const { wire } = await world.guest(BLIND);
    await wire.request({ type: "subscribe", channel });
    const sender = await world.guest();
    await sender.wire.request({ type: "publish", channel, data: 1 });
    expect(await wire.frame()).toMatchObject({ type: "message", data: 1 });
  });

  test("missing on one of a peer's connections: that connection does not count", async () => {
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const sub = fresh("peer");
    const blind = await world.guest({ sub, ...BLIND });
    await blind.wire.request({ type: "subscribe", channel });
    const seeing = await world.member(channel, { sub });
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [{ peerId: sub }], []));
    seeing.wire.close();
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [], [{ peerId: sub }]));
    expect(await blind.wire.sync()).toEqual([]);
  });
});
