/**
 * Rules that each process applies by itself. With several nodes they hold on each of them: the rate of connects from an address is
 * counted by the node that takes the connect, each node has its own ticks, and messages that other nodes have accepted count against
 * the cap within five seconds.
 */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { attempt, type ConnectOptions, type Refused, refusal } from "../../support/wire/connect.ts";
import { type Frame, ids } from "../../support/wire/shapes.ts";
import { Wire } from "../../support/wire/wire.ts";
import { watchMembers } from "./support/members-seen.ts";
import { codeOf, outcome, PLAIN_GET } from "./support/outcome.ts";
import { type Claims, fresh, type Guest, join, newApp, startWorld, tokenQuery, type World } from "./support/world.ts";

setDefaultTimeout(60_000);

describe("the rate of connects from one address", () => {
  const LIMIT = 3;
  let strict: World;
  beforeAll(async () => {
    const env = { PARLEY_TRUSTED_PROXIES: "127.0.0.1,10.0.0.0/8", PARLEY_CONNECTS_PER_MINUTE_PER_IP: String(LIMIT) };
    strict = await startWorld({ env });
  });
  afterEach(() => strict.hangUp());
  afterAll(() => strict.stop());

  let used = 0;
  /** An address that no other test uses. */
  const address = (): string => `198.51.${100 + Math.floor(++used / 250)}.${(used % 250) + 1}`;
  const from = (forwardedFor: string, rest: ConnectOptions = {}): Promise<string> =>
    outcome(strict.url, {
      query: tokenQuery(strict.token()),
      headers: { "X-Forwarded-For": forwardedFor },
      ...rest,
    });
  const exhaust = async (forwardedFor: string): Promise<void> => {
    for (let i = 0; i < LIMIT; i++) expect(await from(forwardedFor)).toBe("in");
    expect(await from(forwardedFor)).toBe("429 rate_limited");
  };

  test("accepts a minute's worth at once, then responds 429 with Retry-After", async () => {
    const ip = address();
    await exhaust(ip);
    const answer = await refusal(strict.url, {
      query: tokenQuery(strict.token()),
      headers: { "X-Forwarded-For": ip },
    });
    expect(codeOf(answer)).toBe("429 rate_limited");
    const seconds = Number(answer.headers.get("retry-after"));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(60 / LIMIT);
  });

  test("refills over time: a bucket, not a window", async () => {
    const quick = await startWorld({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "60" } });
    const query = (): ConnectOptions => ({ query: tokenQuery(quick.token()) });
    const started = performance.now();
    let admitted = 0;
    let last: Wire | Refused = await attempt(quick.url, query());
    for (; last instanceof Wire; last = await attempt(quick.url, query())) {
      admitted++;
      last.drop();
    }
    const most = 60 + Math.ceil((performance.now() - started) / 1000);
    expect(admitted).toBeGreaterThanOrEqual(60);
    expect(admitted).toBeLessThanOrEqual(most);
    expect(codeOf(last)).toBe("429 rate_limited");
    expect(last.headers.get("retry-after")).toBe("1");
    await Bun.sleep(1000 * Number(last.headers.get("retry-after")));
    expect(await outcome(quick.url, query())).toBe("in");
    await quick.stop();
  });

  test("counts refused connects and plain GETs too", async () => {
    const ip = address();
    const headers = { "X-Forwarded-For": ip };
    for (let i = 0; i < LIMIT - 1; i++)
      expect(await from(ip, { headers: { ...PLAIN_GET, ...headers } })).toBe("426 upgrade_required");
    expect(await from(ip, { query: "token=x", headers })).toBe("401 invalid_token");
    expect(await from(ip)).toBe("429 rate_limited");
    expect(await from(ip, { headers: { ...PLAIN_GET, ...headers } })).toBe("429 rate_limited");
  });

  test("counts a refused credential as ten connects", async () => {
    // After two there is a debt of five, so it takes 24 seconds until the address may connect again.
    const guessed = await startWorld({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "15" } });
    expect(await outcome(guessed.url, { query: "key=pk_live_x" })).toBe("401 unauthorized");
    expect(await outcome(guessed.url, { query: "token=x" })).toBe("401 invalid_token");
    expect(await outcome(guessed.url, { query: tokenQuery(guessed.token()) })).toBe("429 rate_limited");
    await guessed.stop();
  });

  test("is checked after the path and before the credential", async () => {
    const ip = address();
    await exhaust(ip);
    const headers = { "X-Forwarded-For": ip };
    expect(await from(ip, { path: "/v2", headers })).toBe("404 not_found");
    expect(await from(ip, { query: "", headers })).toBe("429 rate_limited");
    expect(await from(ip, { query: "token=x", headers })).toBe("429 rate_limited");
  });

  test("is counted per address", async () => {
    await exhaust(address());
    expect(await from(address())).toBe("in");
  });

  test("uses the right-most entry that is no trusted proxy: entries to its left can be forged", async () => {
    const ip = address();
    await exhaust(ip);
    expect(await from(`${address()}, ${ip}`)).toBe("429 rate_limited");
    expect(await from(`${address()},${ip}, 10.1.2.3`)).toBe("429 rate_limited");
    expect(await from(`${ip}, ${address()}`)).toBe("in");
    const twice = [
      ["X-Forwarded-For", address()],
      ["X-Forwarded-For", ip],
    ] as const;
    expect(await from("", { headers: twice })).toBe("429 rate_limited");
  });

  test("recognises an address with a port, and IPv4-mapped IPv6 addresses", async () => {
    const ip = address();
    await exhaust(ip);
    expect(await from(`${ip}:4711`)).toBe("429 rate_limited");
    expect(await from(`::ffff:${ip}`)).toBe("429 rate_limited");
  });

  test("counts requests without a forwarded address for the proxy itself", async () => {
    await exhaust("nonsense");
    expect(await from("unknown")).toBe("429 rate_limited");
    expect(await from(`${address()}, nonsense`)).toBe("429 rate_limited");
  });

  test("counts IPv6 by /64", async () => {
    const net = `2001:db8:${(++used).toString(16)}`;
    await exhaust(`${net}:1::1`);
    expect(await from(`${net}:1:ffff:ffff:ffff:ffff`)).toBe("429 rate_limited");
    expect(await from(`[${net}:1::2]:443`)).toBe("429 rate_limited");
    expect(await from(`${net}:2::1`)).toBe("in");
  });

  test("ignores X-Forwarded-For from clients that are no trusted proxy", async () => {
    const direct = await startWorld({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "2" } });
    const asked = (ip: string): Promise<string> =>
      outcome(direct.url, { query: tokenQuery(direct.token()), headers: { "X-Forwarded-For": ip } });
    expect(await asked(address())).toBe("in");
    expect(await asked(address())).toBe("in");
    expect(await asked(address())).toBe("429 rate_limited");
    await direct.stop();
  });
});

/**
 * Ticks are far enough apart that everything a test does at once falls between two of them. They are below the 500 ms after which
 * a roster is written without its tick: a watcher that has its roster knows that the next tick is this far away.
 */
const SLOW_TICK_MS = 400;
let slow: World;
beforeAll(async () => {
  slow = await startWorld({ env: { PARLEY_PRESENCE_TICK_MS: String(SLOW_TICK_MS) } });
});
afterEach(() => slow.hangUp());
afterAll(() => slow.stop());

const change = (channel: string, joined: object[], left: object[]): Frame<"presence"> =>
  ({ type: "presence", channel, joined, left }) as Frame<"presence">;

describe("in one tick", () => {
  /** A watcher and that many members, all known to each other; a tick has just passed, so the test's changes share the next one. */
  async function setUp(
    count: number,
    claims: Claims = {},
  ): Promise<{ channel: string; watcher: Guest; members: Guest[] }> {
    const channel = fresh("room");
    const watcher = await slow.member(channel);
    const members = await Promise.all(Array.from({ length: count }, () => slow.member(channel, claims)));
    await watchMembers(watcher.wire, channel, ({ members: known }) => known.size === count);
    return { channel, watcher, members };
  }

  test("newcomers are in each other's rosters, are not announced to each other, and share one frame to other members", async () => {
    const { channel, watcher } = await setUp(0);
    const newcomers = await Promise.all(Array.from({ length: 3 }, () => slow.guest()));
    const all = newcomers.map(({ peerId }) => peerId);
    const rosters = await Promise.all(newcomers.map(({ wire }) => join(wire, channel)));
    for (const [at, roster] of rosters.entries())
      expect(ids(roster.joined)).toEqual([watcher.peerId, ...all.filter((_, i) => i !== at)].sort());
    expect(ids((await watcher.wire.frame("presence")).joined)).toEqual(all.toSorted());
    const last = await slow.member(channel);
    for (const { wire } of [...newcomers, watcher])
      expect(await wire.frame()).toEqual(change(channel, [{ peerId: last.peerId }], []));
  });

  test("several peers that leave share one frame", async () => {
    const { channel, watcher, members } = await setUp(3);
    members[0]!.wire.send({ type: "unsubscribe", channel });
    members[1]!.wire.close();
    members[2]!.wire.drop();
    const { joined, left } = await watcher.wire.frame("presence");
    expect(joined).toEqual([]);
    expect(ids(left)).toEqual(members.map(({ peerId }) => peerId).sort());
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("peers that leave and peers that join share one frame", async () => {
    const { channel, watcher, members } = await setUp(1, { peerMetadata: { old: true } });
    const newcomer = await slow.guest({ peerMetadata: { young: true } });
    members[0]!.wire.send({ type: "unsubscribe", channel });
    newcomer.wire.send({ type: "subscribe", channel });
    expect(await watcher.wire.frame()).toEqual(
      change(
        channel,
        [{ peerId: newcomer.peerId, metadata: { young: true } }],
        [{ peerId: members[0]!.peerId, metadata: { old: true } }],
      ),
    );
  });

  test("a leave and a join of the same peer cancel out if its metadata is the same", async () => {
    const { channel, watcher, members } = await setUp(1, { peerMetadata: { a: 1 } });
    const { wire } = members[0]!;
    wire.send({ type: "unsubscribe", channel }, { type: "subscribe", channel });
    expect(await wire.frame("presence")).toMatchObject({ joined: [{ peerId: watcher.peerId }], snapshot: true });
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("a leave and a join over a new connection cancel out too", async () => {
    const { channel, watcher, members } = await setUp(1, { peerMetadata: { a: 1 } });
    const { wire, peerId } = members[0]!;
    wire.close();
    await wire.closed();
    const { roster } = await slow.member(channel, { sub: peerId, peerMetadata: { a: 1 } });
    expect(ids(roster.joined)).toEqual([watcher.peerId]);
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("a leave and a join with other metadata are announced as joined only", async () => {
    const { channel, watcher, members } = await setUp(1, { peerMetadata: { a: 1 } });
    const { wire, peerId } = members[0]!;
    wire.close();
    await wire.closed();
    await slow.member(channel, { sub: peerId, peerMetadata: { a: 2 } });
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId, metadata: { a: 2 } }], []));
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("a join and a leave of the same newcomer are not announced", async () => {
    const { channel, watcher } = await setUp(0);
    const { wire } = await slow.guest();
    wire.send({ type: "subscribe", channel, requestId: "in" }, { type: "unsubscribe", channel, requestId: "out" });
    for (const requestId of ["in", "out"]) expect(await wire.answerTo(requestId)).toEqual({ type: "ack", requestId });
    const { peerId } = await slow.member(channel);
    expect(await watcher.wire.frame()).toEqual(change(channel, [{ peerId }], []));
    expect(await wire.sync()).toEqual([]);
  });
});

test("the message cap counts the socket and REST together; beyond it messages are refused and not delivered", async () => {
  const world = await newApp(slow.server);
  await world.admin.must("PATCH", `/apps/${world.app._id}`, { plan: { maxMessagesPerPeriod: 4 } });
  const receiver = await world.guest({ permissions: ["subscribe"] });
  await receiver.wire.request({ type: "subscribe", channel: "c" });
  const { wire } = await world.guest();
  const toChannel = { type: "publish", channel: "c", data: 1 };
  const toReceiver = { type: "send", to: receiver.peerId, data: 1 };
  const restPublish = async (): Promise<string> => {
    const { status, body } = await world.rest("POST", "/v1/channels/c/publish", { body: { data: 1 } });
    return `${status} ${body.error}`;
  };
  const restSend = async (): Promise<string> => {
    const { status, body } = await world.rest("POST", `/v1/peers/${receiver.peerId}/send`, { body: { data: 1 } });
    return `${status} ${body.error}`;
  };
  expect(await wire.request(toChannel)).toMatchObject({ type: "ack" });
  expect(await wire.request(toReceiver)).toMatchObject({ type: "ack" });
  expect(await restPublish()).toBe("200 undefined");
  expect(await restSend()).toBe("200 undefined");
  expect(await receiver.wire.sync()).toHaveLength(4);
  expect(await wire.request(toChannel)).toMatchObject({ code: "over_message_quota" });
  expect(await wire.request(toReceiver)).toMatchObject({ code: "over_message_quota" });
  expect(await restPublish()).toBe("429 over_message_quota");
  expect(await restSend()).toBe("429 over_message_quota");
  expect(await receiver.wire.sync()).toEqual([]);
  expect((await world.rest<{ messagesUsed: number }>("GET", "/v1/usage")).body.messagesUsed).toBe(4);
  world.hangUp();
});
