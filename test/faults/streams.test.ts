/**
 * Channels with history on one node with its embedded store: over crashes, restarts and slow links, every client that reconnects
 * gets what it missed, once and in order, or `recovered: false`. test/cluster does the same with several nodes.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Fleet, type FleetOptions, type Report } from "../../src/verify/fleet.ts";
import { flowing } from "../support/flowing.ts";
import { NetworkProxy } from "../support/network-proxy.ts";
import { type Server, startParley } from "../support/parley.ts";
import { RoundRobin } from "../support/round-robin.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(600_000);

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";
const CRASHES = IS_FULL ? 10 : 2;
const SETTLE_MS = IS_FULL ? 120_000 : 20_000;
const ENV = {
  PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
  PARLEY_DRAIN_SECONDS: "1",
  PARLEY_DEMO: "off",
};
const RULES = [{ pattern: "stored/**", history: { messages: 10_000, seconds: 3600 } }];

let data: string;
let server: Server;
let balancer: RoundRobin;
let secretKey: string;
beforeAll(async () => {
  data = tempFolder();
  server = await startParley({ env: ENV, data });
  balancer = await RoundRobin.over(port());
  const { _id } = await server.admin.createApp();
  await server.admin.must("PATCH", `/apps/${_id}`, { channelRules: RULES });
  secretKey = (await server.admin.createKey(_id)).credential;
});
afterAll(async () => {
  await balancer?.close();
  await server?.stop();
  removeFolder(data);
});

const port = (): number => Number(new URL(server.url).port);

const fleet = (more: Partial<FleetOptions> = {}): Promise<Fleet> =>
  Fleet.open({
    urls: [balancer.url.replace(/^http/, "ws")],
    secretKey,
    prefix: "stored",
    history: true,
    clients: 40,
    channels: 8,
    rate: 200,
    ...more,
  });

async function restart(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  await server.kill(signal);
  server = await startParley({ env: ENV, data });
  balancer.use(port());
}

const everyoneBack = (fleet: Fleet): Promise<number> =>
  until("a client has not returned", () => fleet.clients.every(({ isListening }) => isListening), SETTLE_MS);

async function settled(name: string, fleet: Fleet): Promise<Report["figures"]> {
  fleet.hush();
  const { problems, figures } = await fleet.settle(SETTLE_MS);
  console.log(`${name}: ${JSON.stringify(figures)}`);
  expect(problems).toEqual([]);
  return figures;
}

test("kill -9 under load, and again: every client recovers, nothing acked is lost, nothing is stored twice", async () => {
  await using clients = await fleet();
  for (let crash = 0; crash < CRASHES; crash++) {
    clients.talk();
    await flowing(clients);
    await restart("SIGKILL");
    await everyoneBack(clients);
    clients.hush();
  }
  await clients.talkFor(0.3);
  const { recoveries, unrecovered, replayed } = await settled("kill -9, one node", clients);
  expect({ recoveries, unrecovered }).toEqual({ recoveries: CRASHES * 40, unrecovered: 0 });
  expect(replayed).toBeGreaterThanOrEqual(0);
});

test("a restart: what was published until the end is replayed", async () => {
  await using clients = await fleet();
  clients.talk();
  await flowing(clients);
  await restart("SIGTERM");
  await everyoneBack(clients);
  const { unrecovered, closes } = await settled("restart, one node", clients);
  expect(unrecovered).toBe(0);
  expect(closes).toEqual({ "1001": 40 });
});

test("clients that cut their connections again and again recover each time", async () => {
  await using clients = await fleet({ clients: 80, channels: 16, cuts: IS_FULL ? 8 : 25 });
  await clients.talkFor(IS_FULL ? 30 : 2);
  await everyoneBack(clients);
  const { unrecovered, recoveries, replayed } = await settled("cuts, one node", clients);
  expect(unrecovered).toBe(0);
  expect(recoveries).toBeGreaterThan(20);
  expect(replayed).toBeGreaterThan(0);
});

/** In this time there are about 150 messages of 4 KB per channel: more than may wait in a socket at a time. */
const AWAY_MS = 1500;
/** In full, until the service cuts the link. */
const STALLED_MS = IS_FULL ? 15_000 : 1500;
test("slow readers: a link that stalls is cut, a long replay over a slow link is complete, and the others miss nothing", async () => {
  await using slow = await NetworkProxy.to(port());
  await using steady = await NetworkProxy.to(port());
  const urls = [slow, steady].map((link) => `ws://127.0.0.1:${link.port}`);
  await using clients = await fleet({ urls, staysPut: true, clients: 12, channels: 2, rate: 200, bytes: 4000 });
  clients.talk();
  await flowing(clients);
  slow.cut();
  await Bun.sleep(AWAY_MS);
  slow.delay(20);
  slow.mend();
  await everyoneBack(clients);
  slow.stall();
  await Bun.sleep(STALLED_MS);
  slow.mend();
  await everyoneBack(clients);
  const { recoveries, replayed } = await settled("slow readers", clients);
  expect(recoveries).toBeGreaterThanOrEqual(6);
  expect(replayed).toBeGreaterThan(100);
});
