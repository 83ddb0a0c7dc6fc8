/** The metrics of connections, presence and times, and their format: each one changes when it should, by the right amount. */
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "../../support/wait.ts";
import { attempt, refusal } from "../../support/wire/connect.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { metricChanges, readMetrics } from "./support/metrics.ts";
import { fresh, type Guest, newApp, ownWorldForTests, QUIET, tokenQuery } from "./support/world.ts";

setDefaultTimeout(60_000);

const CONNECTS = 200;

const world = await ownWorldForTests({
  env: { PARLEY_TRUSTED_PROXIES: "127.0.0.1", PARLEY_CONNECTS_PER_MINUTE_PER_IP: String(CONNECTS) },
});
/** Waits until nothing of the previous test is still in progress. */
afterEach(async () => {
  const open = async (): Promise<number> => (await readMetrics(world.server)).get("parley_connections");
  await until("no connection is open", async () => (await open()) === 0);
});

const framesOut = (type: string): string => `parley_frames_out_total{type="${type}"}`;

const closes = (code: number): string => `parley_closes_total{code="${code}"}`;

const refused = (code: string): string => `parley_connects_refused_total{code="${code}"}`;

describe("connections", () => {
  test("are counted while they are open, and when they are opened", async () => {
    const guests: Guest[] = [];
    const by = await metricChanges(world.server, async () => {
      for (let i = 0; i < 3; i++) guests.push(await world.quiet());
    });
    expect([by("parley_connections"), by("parley_connects_total")]).toEqual([3, 3]);
    const later = await metricChanges(
      world.server,
      async () => {
        guests[0]!.wire.close();
        guests[1]!.wire.drop();
      },
      (added) => added("parley_connections") === -2,
    );
    expect([later("parley_connections"), later("parley_connects_total")]).toEqual([-2, 0]);
  });

  test("that are refused are counted by reason, and under no other metric", async () => {
    const closed = await world.admin.createPublishable(world.app._id, { allowedOrigins: [] });
    const blocked = fresh("blocked");
    await world.rest("DELETE", `/v1/peers/${blocked}?blockSec=600`);
    for (const [code, query, headers] of [
      ["unauthorized", "", {}],
      ["unauthorized", "key=x", {}],
      ["unauthorized", tokenQuery(world.token({ sub: blocked })), {}],
      ["origin_not_allowed", `key=${closed.keyId}`, { Origin: "https://evil.example" }],
      ["invalid_token", "token=x", {}],
      ["token_expired", tokenQuery(world.token({ exp: 5 })), {}],
    ] as const) {
      const by = await metricChanges(world.server, () => refusal(world.url, { query, headers }));
      expect([code, by(refused(code)), by("parley_connects_total")]).toEqual([code, 1, 0]);
    }
  });

  test("that come too fast are counted as rate_limited", async () => {
    const headers = { "X-Forwarded-For": "203.0.113.50" };
    const by = await metricChanges(world.server, () =>
      Promise.all(Array.from({ length: CONNECTS + 20 }, () => attempt(world.url, { query: "key=x", headers }))),
    );
    expect(by(refused("rate_limited"))).toBeGreaterThan(0);
    expect(by(refused("rate_limited")) + by(refused("unauthorized"))).toBe(CONNECTS + 20);
  });
});

describe("channels and presence", () => {
  test("the number of channels is that of channels with subscribers", async () => {
    const { wire } = await world.quiet();
    const by = await metricChanges(world.server, async () => {
      for (const channel of ["one", "two", "two"]) await wire.request({ type: "subscribe", channel });
    });
    expect(by("parley_channels")).toBe(2);
    const later = await metricChanges(world.server, () => wire.request({ type: "unsubscribe", channel: "one" }));
    expect(later("parley_channels")).toBe(-1);
  });

  test("each join and leave is one change, and each frame that announces it counts as one of type presence", async () => {
    const channel = fresh("room");
    const [one, two] = [await world.member(channel), await world.member(channel)];
    await one.wire.until("presence");
    let guest: Guest | undefined;
    const joined = await metricChanges(world.server, async () => {
      guest = await world.member(channel);
      for (const { wire } of [one, two]) await wire.until("presence");
    });
    expect(joined("parley_presence_changes_total")).toBe(1);
    // The newcomer's roster, and one frame to each of the two members.
    expect(joined(framesOut("presence"))).toBe(3);
    const left = await metricChanges(world.server, async () => {
      guest!.wire.close();
      for (const { wire } of [one, two]) await wire.until("presence");
    });
    expect(left("parley_presence_changes_total")).toBe(1);
    expect(left(framesOut("presence"))).toBe(2);
  });

  test("a subscribe that is repeated at once does not make later presence frames count twice", async () => {
    const channel = fresh("room");
    const { wire } = await world.guest();
    for (let i = 0; i < 5; i++) {
      wire.send({ type: "subscribe", channel });
      await wire.rosterPing();
    }
    await wire.until("presence");
    await world.member(fresh("elsewhere"));
    await wire.sync();
    const by = await metricChanges(world.server, async () => {
      await world.member(channel);
      await wire.until("presence", ({ joined }) => joined.length === 1);
    });
    // The newcomer's roster, and the one frame that announces it to us.
    expect(by(framesOut("presence"))).toBe(2);
  });
});

describe("how connections end", () => {
  const closedWith = async (code: number, work: () => Promise<unknown>): Promise<void> => {
    const by = await metricChanges(world.server, work, (added) => added(closes(code)) > 0);
    expect([code, by(closes(code))]).toEqual([code, 1]);
  };

  test("is counted by close code", async () => {
    const client = await world.quiet();
    await closedWith(1000, async () => client.wire.close(1000));
    const kicked = await world.quiet();
    await closedWith(4020, () => world.rest("DELETE", `/v1/peers/${kicked.peerId}`));
    const key = await world.admin.createKey(world.app._id);
    const revoked = await world.guest(QUIET, {}, key);
    await closedWith(4001, () => world.admin.revoke(key.keyId));
    expect((await revoked.wire.closed()).code).toBe(4001);
    const retired = await world.admin.createKey(world.app._id);
    await world.guest(QUIET, {}, retired);
    await closedWith(4002, () => world.admin.rotate(retired.keyId, { graceSec: 0 }));
    const full = await newApp(world.server);
    await world.admin.must("PATCH", `/apps/${full.app._id}`, { plan: { maxConcurrentConnections: 0 } });
    await closedWith(4010, () => attempt(world.url, { query: tokenQuery(full.token()) }));
  });

  test("connections closed for their rate are counted, each once", async () => {
    const { wire } = await world.quiet();
    const by = await metricChanges(
      world.server,
      async () => {
        wire.send(...Array.from({ length: 900 }, () => ({ type: "unsubscribe", channel: "x" })));
        await wire.closed();
      },
      (added) => added(closes(4011)) > 0,
    );
    expect([by("parley_rate_cuts_total"), by(closes(4011))]).toEqual([1, 1]);
  });

  for (const [way, frame] of [
    ["messages", (channel: string, _to: string, data: string) => ({ type: "publish", channel, data })],
    ["direct messages", (_channel: string, to: string, data: string) => ({ type: "send", to, data })],
  ] as const)
    test(`closes of clients that do not read ${way} are counted, each once; ordinary ends are not`, async () => {
      const channel = fresh("room");
      const slow = await world.subscriber(channel);
      const sender = await world.quiet();
      const big = "x".repeat(60_000);
      const isCut = async (): Promise<boolean> => (await readMetrics(world.server)).get("parley_connections") === 1;
      const by = await metricChanges(world.server, async () => {
        slow.wire.stopReading();
        for (let sent = 0; sent < 400 && !(await isCut()); sent++)
          await sender.wire.request(frame(channel, slow.peerId, big));
      });
      expect(by("parley_slow_cuts_total")).toBe(1);
      const later = await metricChanges(
        world.server,
        async () => {
          const other: Wire = (await world.quiet()).wire;
          other.close();
          await other.closed();
        },
        (added) => added(closes(1000)) > 0,
      );
      expect(later("parley_slow_cuts_total")).toBe(0);
    });
});

describe("times", () => {
  test("a publish is one observation, with a time above zero", async () => {
    const { wire } = await world.quiet();
    const by = await metricChanges(world.server, async () => {
      for (let i = 0; i < 5; i++) await wire.request({ type: "publish", channel: "x", data: 1 });
      await wire.request({ type: "publish", channel: "x" });
    });
    expect(by("parley_publish_seconds_count")).toBe(5);
    expect(by("parley_publish_seconds_sum")).toBeGreaterThan(0);
    expect(by('parley_publish_seconds_bucket{le="+Inf"}')).toBe(5);
  });

  test("the event loop's lag is measured continuously", async () => {
    const by = await metricChanges(
      world.server,
      async () => undefined,
      (added) => added("parley_event_loop_lag_seconds_count") >= 2,
    );
    expect(by("parley_event_loop_lag_seconds_count")).toBeGreaterThanOrEqual(2);
    expect(by("parley_event_loop_lag_seconds_sum")).toBeGreaterThanOrEqual(0);
  });

  test("buckets are cumulative and end in +Inf", async () => {
    const metrics = await readMetrics(world.server);
    for (const name of ["parley_publish_seconds", "parley_event_loop_lag_seconds"]) {
      const counts = metrics.of(`${name}_bucket`).map((series) => metrics.get(series));
      expect(counts).toEqual(counts.toSorted((a, b) => a - b));
      expect(counts.at(-1)).toBe(metrics.get(`${name}_count`));
      expect(counts.length).toBeGreaterThan(5);
    }
  });
});

test("no metric contains the name of a channel, peer, key or application", async () => {
  const mark = fresh("needle");
  const own = await newApp(world.server);
  const publishable = await world.admin.createPublishable(own.app._id, { label: mark });
  const channel = `${mark}/room`;
  const sub = `${mark}-peer`;
  const watcher = await own.member(channel, { sub });
  const { wire, peerId } = await own.visitor(publishable.keyId, { headers: { Origin: `https://${mark}.example` } });
  await wire.request({ type: "subscribe", channel });
  await wire.request({ type: "publish", channel, data: mark });
  await wire.request({ type: "send", to: sub, data: mark });
  await wire.request({ type: mark });
  await own.rest("POST", `/v1/channels/${encodeURIComponent(channel)}/publish`, { body: { data: 1, from: mark } });
  await own.rest("GET", `/v1/channels/${channel}/peers`);
  await own.rest(mark.replace(/\W/g, "").toUpperCase(), `/v1/${mark}`);
  await own.rest("POST", `/v1/peers/${sub}/send`, { body: { data: 1 } });
  await refusal(world.url, { query: `key=${mark}` });
  await own.rest("DELETE", `/v1/peers/${sub}`);
  await watcher.wire.closed();
  const { text } = await readMetrics(world.server);
  for (const name of [
    mark,
    mark.replace(/\W/g, "").toUpperCase(),
    peerId,
    own.app._id,
    own.app.name,
    own.key.keyId,
    publishable.keyId,
  ])
    expect([name, text.includes(name)]).toEqual([name, false]);
  own.hangUp();
});

test("Prometheus can read every line, and every name has its help and type", async () => {
  const { text } = await readMetrics(world.server);
  const described = new Set<string>();
  for (const line of text.trimEnd().split("\n")) {
    const meta = /^# (HELP|TYPE) ([a-z_]+) (.+)$/.exec(line);
    if (meta) {
      described.add(`${meta[1]} ${meta[2]}`);
      continue;
    }
    const sample = /^([a-z_]+)(\{[a-z]+="[^"\n]*"(,[a-z]+="[^"\n]*")*\})? (-?[0-9.e+-]+|NaN|[+-]Inf)$/.exec(line);
    expect([line, sample !== null]).toEqual([line, true]);
    const name = sample![1]!.replace(/_(bucket|sum|count)$/, "");
    const known = [name, sample![1]!].some((one) => described.has(`HELP ${one}`) && described.has(`TYPE ${one}`));
    expect([line, known]).toEqual([line, true]);
  }
});
