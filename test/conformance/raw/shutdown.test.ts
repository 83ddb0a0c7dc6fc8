/** Drain on SIGTERM and SIGINT: readyz fails, upgrades are refused, connections get going_away and a close, then exit 0. */
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect as connectTcp } from "node:net";
import { call } from "../../support/http.ts";
import { SLACK_MS } from "../../support/slack.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";
import { attempt, connect, refusal } from "../../support/wire/connect.ts";
import type { Frame } from "../../support/wire/shapes.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { fresh, type Guest, startWorld, tokenQuery, type World } from "./support/world.ts";

/** One Ctrl-C can arrive as two signals, this far apart. */
const SOON_AFTER_MS = 2;
/** From a second on, another signal is a second one. */
const SECOND_SIGNAL_MS = 1100;

setDefaultTimeout(60_000);

const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) {
    world.hangUp();
    await world.server.kill();
    removeFolder(world.server.data);
  }
});

async function start(env: Record<string, string> = {}): Promise<World> {
  const world = await startWorld({ env });
  worlds.push(world);
  return world;
}

/** Enough connections that a drain takes a while: a small service drains at once. */
const CROWD = 200;
const crowd = (world: World, count = CROWD): Promise<Guest[]> =>
  Promise.all(Array.from({ length: count }, () => world.guest({ permissions: ["subscribe"] })));

/** A request whose body never ends: a drain waits for it up to its timeout. */
function hangingRequest(world: World): Promise<{ end: () => void }> {
  const { hostname, port, host } = new URL(world.url);
  return new Promise((resolve, reject) => {
    const socket = connectTcp(Number(port), hostname);
    socket.on("error", reject);
    const head = [
      "POST /v1/tokens HTTP/1.1",
      `Host: ${host}`,
      `Authorization: Bearer ${world.key.credential}`,
      "Content-Length: 1000",
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n{`, () => resolve({ end: () => socket.destroy() }));
  });
}

/** going_away with its fields, then 1001, and nothing in between or after. */
async function expectSentAway(wire: Wire): Promise<void> {
  const { code } = await wire.closed();
  expect(code).toBe(1001);
  const frames = wire.frames;
  const last = frames.at(-1) as Frame<"going_away">;
  expect(last.type).toBe("going_away");
  expect(Object.keys(last).sort()).toEqual(["retryAfterMs", "type"]);
  expect(Number.isInteger(last.retryAfterMs) && last.retryAfterMs > 0).toBe(true);
  expect(frames.filter(({ type }) => type === "going_away")).toHaveLength(1);
}

// Both are handled alike: in the sample, one of them says so.
for (const signal of process.env.PARLEY_TEST_FULL ? (["SIGTERM", "SIGINT"] as const) : (["SIGTERM"] as const))
  describe(signal, () => {
    test("every connection gets going_away, then 1001; the process exits 0 and logs it, also if a client does not read", async () => {
      const world = await start();
      const channel = fresh("room");
      const [one, two] = [await world.member(channel), await world.member(channel)];
      const idle = await world.guest();
      const mute = await world.guest({}, { answersPings: false });
      mute.wire.stopReading();
      const started = performance.now();
      world.server.signal(signal);
      for (const { wire } of [one, two, idle]) await expectSentAway(wire);
      expect(await world.server.exited).toBe(0);
      // A small service does not use the whole ten seconds.
      expect(performance.now() - started).toBeLessThan(4000 + SLACK_MS);
      expect(world.server.log.at(-1)?.msg).toBe("stopped");
      await expect(connect(world.url, { query: tokenQuery(world.token()) })).rejects.toThrow();
    });

    test("a second signal within milliseconds is ignored: no connection is closed early", async () => {
      const world = await start();
      const guests = await crowd(world, 60);
      world.server.signal(signal);
      await Bun.sleep(SOON_AFTER_MS);
      world.server.signal(signal);
      await Promise.all(guests.map(({ wire }) => expectSentAway(wire)));
      expect(await world.server.exited).toBe(0);
    });

    test("a signal one second later ends the process at once", async () => {
      const world = await start({ PARLEY_DRAIN_SECONDS: "30" });
      const hanging = await hangingRequest(world);
      const { wire } = await world.guest();
      world.server.signal(signal);
      await expectSentAway(wire);
      await Bun.sleep(SECOND_SIGNAL_MS);
      const started = performance.now();
      world.server.signal(signal);
      expect(await world.server.exited).toBe(1);
      expect(performance.now() - started).toBeLessThan(2000 + SLACK_MS);
      hanging.end();
    });
  });

describe("a drain", () => {
  test("fails readyz and refuses connects with 503 and Retry-After, after the path check and before all others", async () => {
    const world = await start({
      PARLEY_TRUSTED_PROXIES: "127.0.0.1",
      PARLEY_CONNECTS_PER_MINUTE_PER_IP: String(CROWD + 10),
    });
    const guests = await crowd(world);
    const limited = { "X-Forwarded-For": "203.0.113.9" };
    // An address that has used up its connects, to see which of the two refusals comes first.
    const used = await Promise.all(
      Array.from({ length: CROWD + 11 }, () => attempt(world.url, { query: "key=x", headers: limited })),
    );
    expect(used.some((one) => "status" in one && one.status === 429)).toBe(true);
    const { body: before, status } = await call<{ ready: boolean }>(`${world.url}/readyz`);
    expect([status, before.ready]).toEqual([200, true]);
    world.server.signal("SIGTERM");
    // The first connection gets going_away at once: from then on the drain is running.
    await Promise.any(guests.map(({ wire }) => wire.until("going_away")));
    const [ready, good, bad, over, plain, elsewhere] = await Promise.all([
      call<{ ready: boolean }>(`${world.url}/readyz`),
      refusal(world.url, { query: tokenQuery(world.token()) }),
      refusal(world.url, { query: "key=a&key=b" }),
      refusal(world.url, { query: tokenQuery(world.token()), headers: limited }),
      refusal(world.url, {
        query: tokenQuery(world.token()),
        headers: { Upgrade: null, Connection: null, "Sec-WebSocket-Key": null },
      }),
      refusal(world.url, { path: "/v2", query: tokenQuery(world.token()) }),
    ]);
    expect([ready.status, ready.body.ready]).toEqual([503, false]);
    for (const answer of [good, bad, over, plain]) {
      expect([answer.status, answer.body.error]).toEqual([503, "internal_error"]);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    }
    expect(elsewhere.status).toBe(404);
    await Promise.all(guests.map(({ wire }) => expectSentAway(wire)));
    expect(await world.server.exited).toBe(0);
  });

  test("spreads many closes over time, within its timeout", async () => {
    const world = await start({ PARLEY_DRAIN_SECONDS: "1" });
    const guests = await crowd(world, 300);
    const started = performance.now();
    world.server.signal("SIGTERM");
    const closes = await Promise.all(guests.map(async ({ wire }) => (await wire.closed()).at - started));
    const [first, last] = [Math.min(...closes), Math.max(...closes)];
    expect(last - first).toBeGreaterThan(200);
    expect(last).toBeLessThan(3000 + SLACK_MS);
    expect(await world.server.exited).toBe(0);
  });

  test("waits for a request in progress up to its timeout, and still exits 0", async () => {
    const world = await start({ PARLEY_DRAIN_SECONDS: "1" });
    const hanging = await hangingRequest(world);
    const { wire } = await world.guest();
    const started = performance.now();
    world.server.signal("SIGTERM");
    await expectSentAway(wire);
    expect(await world.server.exited).toBe(0);
    expect(performance.now() - started).toBeGreaterThan(800);
    expect(performance.now() - started).toBeLessThan(4000 + SLACK_MS);
    hanging.end();
  });

  test("continues to serve REST and connections that are not closed yet", async () => {
    const world = await start();
    const channel = fresh("room");
    const guests = await crowd(world, 150);
    await Promise.all(guests.map(({ wire }) => wire.request({ type: "subscribe", channel })));
    world.server.signal("SIGTERM");
    await Promise.any(guests.map(({ wire }) => wire.until("going_away")));
    const answer = await world.rest("POST", `/v1/channels/${channel}/publish`, { body: { data: "late" } });
    expect(answer.status).toBe(200);
    await Promise.all(guests.map(({ wire }) => wire.closed()));
    const reached = guests.filter(({ wire }) => wire.frames.some(({ type }) => type === "message"));
    expect(reached.length).toBeGreaterThan(0);
    expect(await world.server.exited).toBe(0);
  });

  test("loses no usage counts", async () => {
    const data = tempFolder();
    const before = await startWorld({ data });
    const { wire } = await before.guest();
    for (let i = 0; i < 7; i++) await wire.request({ type: "publish", channel: "c", data: i });
    await before.server.kill("SIGTERM");
    const after = await startWorld({ data });
    const usage = await after.rest("GET", "/v1/usage", { credential: before.key.credential });
    expect(usage.body.messagesUsed).toBe(7);
    await after.stop();
    removeFolder(data);
  });
});
