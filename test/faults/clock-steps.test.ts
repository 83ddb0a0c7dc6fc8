/**
 * The clock on the wall of running services is set, back and forward by ten minutes, and those of two nodes differ by five seconds
 * (support/set-clock.ts). What waits for seconds must not wait for minutes, and nothing must be delivered twice.
 */
import { afterAll, afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { newRoom, ROOMS_ENV } from "../conformance/raw/support/rooms.ts";
import { fresh, join, startWorld, subscribe, tokenQuery, type World } from "../conformance/raw/support/world.ts";
import { Cluster, connect } from "../nodes/support/cluster.ts";
import { newApplication } from "../support/application.ts";
import { cookieOf, signIn, withCookie } from "../support/dashboard.ts";
import type { Json } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import { jointOf } from "../support/nodes.ts";
import { IS_FULL } from "../support/slack.ts";
import { until } from "../support/wait.ts";
import type { AnyFrame } from "../support/wire/shapes.ts";
import type { Wire } from "../support/wire/wire.ts";
import { CAN_SET_CLOCK, SetClock } from "./support/set-clock.ts";

setDefaultTimeout(120_000);

const STEP_MS = 600_000;
/** A service with a clock of its own is one process: these tests do not run against several. */
const CAN_RUN = CAN_SET_CLOCK && !jointOf(process.env);
const PUBLIC_URL = "https://realtime.example.com";
const RULES = [
  { pattern: "short/**", graceSec: 1 },
  { pattern: "kept/**", history: { messages: 100, seconds: 3600 } },
];

const hasLeft = (wire: Wire, peerId: string): Promise<AnyFrame> =>
  wire.until("presence", ({ left }) => left.some((one) => one.peerId === peerId));

const publish = (wire: Wire, channel: string, id: string): Promise<AnyFrame> =>
  wire.request({ type: "publish", channel, data: id, id });

describe.if(CAN_RUN)("one service", () => {
  let clock: SetClock;
  let world: World;
  const starting = CAN_RUN ? start() : undefined;
  async function start(): Promise<void> {
    clock = new SetClock();
    world = await startWorld({ env: { ...ROOMS_ENV, PARLEY_PUBLIC_URL: PUBLIC_URL, ...clock.env } });
    await world.admin.call("PATCH", `/apps/${world.app._id}`, { channelRules: RULES });
  }
  beforeEach(() => starting);
  afterEach(() => world.hangUp());
  afterAll(async () => {
    await world?.stop();
    clock?.[Symbol.dispose]();
  });

  /** Until the service has noticed it. */
  async function set(ms: number): Promise<void> {
    const lines = world.server.log.length;
    clock.by(ms);
    // A line about an earlier step may come later: this step would be noticed together with the next one, or not at all.
    const noticed = `this machine's clock was set ${ms > 0 ? "forward" : "back"}`;
    await world.server.logged(({ msg }) => msg.startsWith(noticed), lines);
  }

  /** A token by the clock of the service. */
  const tokenFor = (sub: string, seconds = 3600): string =>
    world.token({ sub, exp: Math.ceil(clock.nowMs / 1000) + seconds, iat: Math.floor(clock.nowMs / 1000) });
  const guest = (sub = fresh("peer"), seconds?: number) =>
    world.welcomed({ query: tokenQuery(tokenFor(sub, seconds)) });

  for (const [what, stepMs] of [["back", -STEP_MS] as const, ["forward", STEP_MS] as const])
    test(`a clock that is set ${what} by ten minutes lets no member linger, and makes no id new`, async () => {
      const [channel, kept] = [fresh("short/c"), fresh("kept/c")];
      const [watcher, lost] = [await guest(), await guest()];
      await join(watcher.wire, channel);
      await join(lost.wire, channel);
      await watcher.wire.until("presence");
      expect(await publish(watcher.wire, kept, "one")).not.toHaveProperty("duplicate");
      lost.wire.drop();
      clock.by(stepMs);
      expect(await publish(watcher.wire, kept, "one")).toMatchObject({ type: "ack", duplicate: true });
      expect(await publish(watcher.wire, kept, "two")).not.toHaveProperty("duplicate");
      expect(await publish(watcher.wire, kept, "two")).toMatchObject({ duplicate: true });
      await hasLeft(watcher.wire, lost.peerId);
      // Sends, and connects with tokens of the new time, go on.
      const other = await guest();
      expect(await watcher.wire.request({ type: "send", to: other.peerId, data: 1 })).toMatchObject({ type: "ack" });
      expect(await watcher.wire.request({ type: "send", to: lost.peerId, data: 1 })).toMatchObject({
        code: "peer_not_found",
      });
    });

  test.if(IS_FULL)("a peer whose token ends is held for ten seconds, whatever the clock does meanwhile", async () => {
    const channel = fresh("c");
    const watcher = await guest();
    const held = await guest(fresh("peer"), 3);
    await join(watcher.wire, channel);
    await join(held.wire, channel);
    await watcher.wire.until("presence");
    expect(await held.wire.closed()).toMatchObject({ code: 4002 });
    const began = performance.now();
    clock.by(-STEP_MS);
    // It waits for the peer, which does not come back.
    expect(await watcher.wire.request({ type: "send", to: held.peerId, data: 1 })).toMatchObject({
      code: "peer_not_found",
    });
    await hasLeft(watcher.wire, held.peerId);
    expect(performance.now() - began).toBeWithin(9000, 14_000);
  });

  test.if(IS_FULL)(
    "a direct message to a held peer arrives when it is back, also if it subscribes to nothing",
    async () => {
      const watcher = await guest();
      const held = await guest(fresh("peer"), 3);
      expect(await held.wire.closed()).toMatchObject({ code: 4002 });
      const sending = watcher.wire.request({ type: "send", to: held.peerId, data: 1 });
      clock.by(-STEP_MS);
      const began = performance.now();
      const back = await guest(held.peerId);
      expect(await back.wire.frame("direct")).toMatchObject({ from: watcher.peerId, data: 1 });
      expect(performance.now() - began).toBeLessThan(5000);
      expect(await sending).toMatchObject({ type: "ack" });
    },
  );

  test.if(IS_FULL)(
    "tokens end by the clock on the wall: set forward, those that have expired are closed at once",
    async () => {
      const [short, long] = [await guest(fresh("peer"), 300), await guest(fresh("peer"), 3600)];
      clock.by(STEP_MS);
      expect(await short.wire.closed()).toMatchObject({ code: 4002 });
      expect(await long.wire.sync()).toEqual([]);
    },
  );

  test.if(IS_FULL)("a request over its rate may be repeated as soon as before", async () => {
    const server = world.server;
    const wrong = (): Promise<Response> =>
      fetch(`${server.url}/api/internal/v1/apps`, { headers: { Authorization: "Bearer wrong" } });
    let refused = await wrong();
    for (let n = 0; n < 40 && refused.status !== 429; n++) refused = await wrong();
    expect(refused.status).toBe(429);
    clock.by(-STEP_MS);
    // The right token still passes, and the wait is as short as it was.
    expect((await world.admin.call("GET", "/apps")).status).toBe(200);
    await until("a wrong token is answered as such", async () => (await wrong()).status === 401);
  });

  test.if(IS_FULL)("a session of the dashboard lasts, and a block ends by the clock on the wall", async () => {
    const { url, adminToken } = world.server;
    const headers = { "X-Forwarded-Host": "realtime.example.com", "X-Forwarded-Proto": "https", Origin: PUBLIC_URL };
    const cookie = cookieOf(await signIn(url, adminToken, { headers }));
    const peer = await guest();
    const blocked = await world.rest("DELETE", `/v1/peers/${peer.peerId}?blockSec=300`);
    expect(blocked.status).toBe(200);
    expect(await peer.wire.closed()).toMatchObject({ code: 4020 });
    clock.by(-STEP_MS);
    await expect(guest(peer.peerId)).rejects.toThrow("401");
    // Noticed before the next test: a step and the opposite one together are none.
    const noticed = set(2 * STEP_MS);
    await guest(peer.peerId);
    expect((await withCookie(`${url}/dashboard/session`, cookie, { headers })).status).toBe(200);
    await noticed;
  });

  test.if(IS_FULL)(
    "in rooms: a lost stay and a declined visitor wait as long as ever, and a reload stays in",
    async () => {
      const app = await newApplication(world.server);
      const room = await newRoom(world.server, { privacy: "private" }, app);
      const admin = await room.inside({ token: await room.accessToken({ isAdmin: true }) });
      const visitor = await room.enter({ name: "Vic" });
      const { ticket } = visitor.join;
      const ann = await room.inside({ token: await room.accessToken({ name: "Ann" }) });
      const waitId = visitor.id;
      expect((await room.act(admin.token, { do: "decline", waitId })).status).toBe(200);
      ann.wire.drop();
      const began = performance.now();
      await set(-STEP_MS);
      const answer = await room.tryJoin({ name: "Vic", ticket });
      expect(answer.body.error.code).toBe("declined");
      expect(answer.body.retryAfterSec).toBeLessThanOrEqual(60);
      // A reload of the admin's page.
      const reloaded = await room.enter({ resume: admin.token });
      expect(await admin.wire.closed()).toMatchObject({ code: 4021, reason: "replaced" });
      expect(await reloaded.wire.sync()).toEqual([]);
      await until(
        "the lost stay has ended",
        async () => {
          const { participants } = await app.must<Json>("GET", `/meeting/${ann.join.meetingSession}`);
          return JSON.stringify(participants).includes('"lost"');
        },
        60_000,
      );
      expect(performance.now() - began).toBeWithin(25_000, 60_000);
      await until(
        "the visitor may ask again",
        async () => (await room.tryJoin({ name: "Vic", ticket })).status === 200,
        70_000,
      );
      expect(performance.now() - began).toBeLessThan(90_000);
      reloaded.wire.close(1000);
    },
  );

  test.if(IS_FULL)(
    "in rooms: people are put out by the server's clock, at once if it is set past their time",
    async () => {
      const app = await newApplication(world.server);
      const room = await newRoom(world.server, { ejectAfterElapsedTimeInSec: 590 }, app);
      const ann = await room.inside();
      clock.by(STEP_MS);
      expect(await ann.wire.closed()).toMatchObject({ code: 4021, reason: "time" });
    },
  );

  test.if(IS_FULL)("a clock that is a year ahead for a moment deletes no stored message", async () => {
    const channel = fresh("kept/c");
    const { wire } = await guest();
    await publish(wire, channel, "one");
    await set(365 * 86_400_000);
    expect(await world.server.logged(({ msg }) => msg.includes("nothing is deleted because of its age"))).toBeDefined();
    await set(-365 * 86_400_000);
    const reader = await guest();
    await subscribe(reader.wire, channel, { rewind: 10 });
    expect(await reader.wire.until("message")).toMatchObject({ data: "one", replay: true });
  });
});

describe.if(CAN_RUN && IS_FULL)("two nodes whose clocks differ by five seconds", () => {
  for (const skewMs of [-5000, 5000])
    test(`(${skewMs} ms): grace, the newest connection and ids are as with one clock`, async () => {
      using clock = new SetClock();
      const cluster = await Cluster.start({ nodes: 1 });
      try {
        await cluster.add(1, clock.env);
        clock.by(skewMs);
        const [one, other] = cluster.pair;
        const app = await one.admin.createApp();
        await one.admin.call("PATCH", `/apps/${app._id}`, {
          channelRules: [{ pattern: "calls/**", graceSec: 8, history: { messages: 100, seconds: 3600 } }],
        });
        const key = await one.admin.createKey(app._id);
        const token = (sub: string, n: number) =>
          tokenQuery(selfSigned(key.keyId, key.secret, { sub, peerMetadata: { n } }));
        const watcher = await connect(one, token("watcher", 0));
        await join(watcher, "calls/1");
        const first = await connect(other, token("ann", 1));
        await join(first, "calls/1");
        await watcher.until("presence", ({ joined }) => joined.some(({ peerId }) => peerId === "ann"));
        expect(await publish(first, "calls/1", "x")).toMatchObject({ type: "ack" });
        // On the other node, while the first connection is still there.
        const second = await connect(one, token("ann", 2));
        await join(second, "calls/1");
        const late = await connect(other, token("late", 0));
        const { joined } = await join(late, "calls/1");
        expect(joined).toContainEqual({ peerId: "ann", metadata: { n: 2 } });
        expect(await publish(second, "calls/1", "x")).toMatchObject({ duplicate: true });
        second.drop();
        first.drop();
        const began = performance.now();
        await other.kill();
        await watcher.until("presence", ({ left }) => left.some(({ peerId }) => peerId === "ann"));
        expect(performance.now() - began).toBeWithin(7000, 20_000);
      } finally {
        await cluster.stop();
      }
    });
});
