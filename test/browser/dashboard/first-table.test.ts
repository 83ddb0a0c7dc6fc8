/** How soon the first table is there over a slow line, on a slow device: with fifty applications and a thousand keys. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Server } from "../../support/parley.ts";
import { browserForTests, Dashboard } from "../support/dashboard.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(180_000);

const APPS = 50;
const KEYS = 1000;
/** One less than an application may have: the last are made and revoked. */
const LIVE = 49;
/** Chromium's "Slow 4G": 1.6 Mbit/s down, 750 kbit/s up, 150 ms there and back. */
const SLOW_4G = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 };
const SLOWER_CPU = 4;
/** The bound is 2 s on a machine with nothing else to do. The tests share theirs: the best of three tries counts. */
const SHOWN_WITHIN_MS = 2000 * 1.75;
const SHIFT_MAX = 0.001;

const SHOWN = `new MutationObserver(() => {
  if (globalThis.shownAt === undefined && document.querySelector("tbody tr")) globalThis.shownAt = performance.now();
}).observe(document, { childList: true, subtree: true });`;

const browser = browserForTests();

test("the first table over slow 4G with a four times slower CPU, without a layout shift", async () => {
  const server = await dashboardServer();
  const { world } = await newShop(server, "shop");
  for (let at = 1; at < APPS; at++) await server.admin.createApp(`team-${at}`);
  for (let at = 2; at < KEYS; at++) {
    const { keyId } = await server.admin.createKey(world.app._id, { label: `key ${at}` });
    if (at >= LIVE) await server.admin.must("DELETE", `/signalling/keys/${keyId}`);
  }
  const tries = [await shownAfterMs(server), await shownAfterMs(server), await shownAfterMs(server)];
  expect(Math.min(...tries)).toBeLessThan(SHOWN_WITHIN_MS);
});

async function shownAfterMs(server: Server): Promise<number> {
  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken, width: 390 });
  await dashboard.context.addInitScript(SHOWN);
  const page = await dashboard.context.newPage();
  const line = await dashboard.context.newCDPSession(page);
  await line.send("Network.enable");
  await line.send("Network.emulateNetworkConditions", SLOW_4G);
  await line.send("Emulation.setCPUThrottlingRate", { rate: SLOWER_CPU });
  await page.goto(`${server.url}/dashboard/apps/shop/keys`, { waitUntil: "commit" });
  await page.getByRole("table", { name: "Keys" }).waitFor();
  expect(await page.evaluate<number>("shifts.reduce((sum, { value }) => sum + value, 0)")).toBeLessThan(SHIFT_MAX);
  return await page.evaluate<number>("shownAt");
}
