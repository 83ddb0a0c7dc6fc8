/** Broken links are no fault of the service, if clients on working links miss nothing. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { Fleet, FleetError, type FleetOptions } from "../../src/verify/fleet.ts";
import { flowing } from "../support/flowing.ts";
import { NetworkProxy } from "../support/network-proxy.ts";
import { type Server, startParley } from "../support/parley.ts";
import { until } from "../support/wait.ts";

/** Messages of several hundred milliseconds wait in the link. */
const STALLED_MS = 700;

const SETTLE_MS = 15_000;

let server: Server;
let port: number;
beforeAll(async () => {
  server = await startParley({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0" } });
  port = Number(new URL(server.url).port);
});
afterAll(() => server.stop());

const plan = (links: readonly NetworkProxy[], more: Partial<FleetOptions> = {}): FleetOptions => ({
  urls: links.map((link) => `ws://127.0.0.1:${link.port}`),
  secretKey: server.keys.secretKey,
  clients: 12,
  channels: 3,
  rate: 300,
  ...more,
});

test("clients whose link is cut reconnect, over another link if there is one, and the others miss nothing", async () => {
  await using good = await NetworkProxy.to(port);
  await using bad = await NetworkProxy.to(port);
  await using fleet = await Fleet.open(plan([good, bad]));
  fleet.talk();
  await flowing(fleet);
  bad.cut();
  // Half of the clients were on this link, and their next attempt uses the other one.
  await until("all are on the other link", () => good.open >= 12);
  bad.mend();
  await flowing(fleet);
  fleet.hush();
  const { problems, figures } = await fleet.settle(SETTLE_MS);
  expect(problems).toEqual([]);
  expect(figures).toMatchObject({ reconnects: 6, closes: { "1006": 6 } });
  expect(figures.deliveries).toBeGreaterThan(0);
});

test("a link that stalls and resumes loses nothing and duplicates nothing", async () => {
  await using link = await NetworkProxy.to(port);
  await using steady = await NetworkProxy.to(port);
  await using fleet = await Fleet.open(plan([link, steady]));
  fleet.talk();
  await flowing(fleet);
  link.stall();
  await Bun.sleep(STALLED_MS);
  link.resume();
  link.delay(40);
  await flowing(fleet);
  fleet.hush();
  const { problems, figures } = await fleet.settle(SETTLE_MS);
  expect(problems).toEqual([]);
  expect(figures).toMatchObject({ reconnects: 0, unknown: 0, closes: {} });
});

test("a client that cannot reconnect is named", async () => {
  await using link = await NetworkProxy.to(port);
  await using fleet = await Fleet.open(plan([link], { reconnect: false }));
  await fleet.talkFor(0.2);
  link.cut();
  const { problems } = await fleet.settle(300);
  expect(problems).toMatchObject([{ kind: "absent", count: 12 }]);
});

test("a kicked peer does not reconnect, and other members see it leave", async () => {
  await using link = await NetworkProxy.to(port);
  await using fleet = await Fleet.open(plan([link]));
  fleet.talk();
  const [victim] = fleet.clients;
  const answer = await fetch(`${server.url}/v1/peers/${victim?.peer}`, {
    method: "DELETE",
    headers: { authorization: `Bearer ${server.keys.secretKey}` },
  });
  expect(await answer.json()).toMatchObject({ closed: 1 });
  await flowing(fleet);
  fleet.hush();
  const { problems, figures } = await fleet.settle(500);
  expect(problems.map(({ kind, examples }) => [kind, examples])).toEqual([
    ["absent", [`${victim?.peer} is not connected: the service closed it permanently: 4020`]],
  ]);
  expect(figures.closes).toEqual({ "4020": 1 });
});

test("a service that accepts no client is reported, without the token", async () => {
  await using link = await NetworkProxy.to(port);
  const [keyId] = server.keys.secretKey.split(":");
  const refused = await Fleet.open(plan([link], { secretKey: `${keyId}:sk_secret_wrong` })).catch((error) => error);
  expect(refused).toBeInstanceOf(FleetError);
  expect(refused.message).toMatch(/^ws:\/\/127\.0\.0\.1:\d+ refused a connection: invalid_token: [^?]+$/);
  link.cut();
  const cut = await Fleet.open(plan([link])).catch((error) => error);
  expect(cut).toBeInstanceOf(FleetError);
  expect(cut.message).toMatch(/^ws:\/\/127\.0\.0\.1:\d+ cannot be reached: [^?]+$/);
});
