/**
 * Streams over HTTP through proxies that collect answers, end every connection that lasts, or break all at once: nothing that a producer sends
 * is stored twice or lost, and readers of each kind go on where they were. deploy/nginx-streams does the same through nginx.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { HostileProxy, type Hostility } from "../support/hostile-proxy.ts";
import { type Server, startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { StreamLoad, type StreamLoadOptions, streamApp } from "../support/streams/load.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(600_000);

const SEED = Number(process.env.PARLEY_TEST_SEED ?? 37_400);
const SIZE: Omit<StreamLoadOptions, "seed"> = IS_FULL
  ? { streams: 2, producers: 3, plain: 2, readers: 2 }
  : { streams: 1, producers: 2, plain: 1, readers: 1 };
const BREAKS = IS_FULL ? 30 : 6;
const BREAK_EVERY_MS = 400;
const ENDED = IS_FULL ? 200 : 30;
const ENV = {
  PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
  PARLEY_REST_REQUESTS_PER_SECOND: "0",
  // Shorter than the time after which the proxy with a whole answer would be given up on.
  PARLEY_STREAM_POLL_SECONDS: "2",
  PARLEY_DRAIN_SECONDS: "1",
  PARLEY_DEMO: "off",
};

interface Case {
  readonly hostility: Hostility;
  /** How often all connections break at once. */
  readonly breaks: number;
  /** Connections that have ended by then, most of them event streams. */
  readonly ended?: number;
  readonly kinds?: StreamLoadOptions["kinds"];
}

const CASES: Readonly<Record<string, Case>> = {
  "collects answers for a while": { hostility: { bufferMs: 300 }, breaks: 0 },
  "ends every connection after a second": { hostility: { cutAfterMs: 1000 }, breaks: 0, ended: ENDED },
  "does both, and breaks all connections at once": {
    hostility: { bufferMs: 50, cutAfterMs: 800 },
    breaks: BREAKS,
    ended: ENDED,
  },
  // An EventSource has the data then.
  "ends an event stream between data and control": {
    hostility: { cutBefore: "event: control" },
    breaks: 0,
    ended: ENDED,
    kinds: "event sources",
  },
  // An event stream would end after a minute.
  "keeps every answer until it is whole": { hostility: { bufferMs: "whole" }, breaks: 0, kinds: "without events" },
};

let server: Server;
beforeAll(async () => {
  server = await startParley({ env: ENV });
});
afterAll(() => server.stop());

for (const [name, { hostility, breaks, ended = 0, kinds = "all" }] of Object.entries(CASES))
  test(`a proxy that ${name}: each value once, in order, for every reader (seed ${SEED})`, async () => {
    await using proxy = await HostileProxy.to(Number(new URL(server.url).port), hostility);
    const app = await streamApp(server.admin, () => [proxy.url]);
    await using load = await StreamLoad.on(app, { seed: SEED, ...SIZE, kinds });
    await load.flowing();
    for (let broken = 0; broken < breaks; broken++) {
      proxy.cut();
      await Bun.sleep(BREAK_EVERY_MS);
    }
    await until("connections have ended", () => proxy.ended >= ended);
    await load.flowing();
    await load.settle(`a proxy that ${name}`);
    expect(server.log.filter(({ level }) => level === "error")).toEqual([]);
  });
