/** Thousands of channels and peers: the page draws a bounded number of rows, wherever one scrolls. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { tokenQuery } from "../../conformance/raw/support/world.ts";
import { selfSigned } from "../../support/jwt.ts";
import { until } from "../../support/wait.ts";
import { welcomed } from "../../support/wire/connect.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { browserForTests, Dashboard } from "../support/dashboard.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(90_000);

const PEERS = 1200;
/** Per connection at most. */
const CHANNELS_EACH = 100;
const SUBSCRIBERS = 20;
/** What fits into a high window, with a margin above and below. */
const ROWS_MAX = 120;

const browser = browserForTests();
const server = await dashboardServer();
const { world } = await newShop(server, "shop");
const wires: Wire[] = [];
afterAll(() => {
  for (const wire of wires) wire.drop();
});

const numbered = (stem: string, at: number): string => `${stem}-${String(at).padStart(5, "0")}`;

/** Resolves when its welcome has come. */
async function connected(at: number): Promise<void> {
  const { keyId, secret } = world.key;
  const token = selfSigned(keyId, secret, { sub: numbered("peer", at) });
  const wire = await welcomed(server.url, tokenQuery(token));
  wire.stopLooking();
  wires.push(wire);
}

test.each([
  ["channels", "Channels with subscribers", "channel", SUBSCRIBERS * CHANNELS_EACH],
  ["peers", "Connected peers", "peer", PEERS],
])("%s", async (page_, label, stem, count) => {
  if (wires.length === 0) {
    for (let at = 0; at < PEERS; at += 100)
      await Promise.all(Array.from({ length: 100 }, (_, offset) => connected(at + offset)));
    for (const [at, wire] of wires.slice(0, SUBSCRIBERS).entries())
      for (let each = 0; each < CHANNELS_EACH; each++)
        wire.send({ type: "subscribe", channel: numbered("channel", at * CHANNELS_EACH + each) });
  }
  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken });
  const page = await dashboard.page(`/apps/shop/${page_}`);
  const table = page.getByRole("table", { name: label });
  await table.getByText(numbered(stem, 0)).waitFor();
  const drawn = (): Promise<number> => page.locator("tbody tr").count();
  let most = await drawn();
  const last = table.getByText(numbered(stem, count - 1), { exact: true });
  await until("the last row is in view", async () => {
    await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
    most = Math.max(most, await drawn());
    return last.isVisible();
  });
  await page.getByText(new RegExp(`^${count.toLocaleString("en")} ${page_}\\.`)).waitFor();
  expect(await table.getAttribute("aria-rowcount")).toBe(String(count + 1));
  await page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)");
  await until("rows in the middle are drawn", async () => (await page.locator("tbody tr[aria-rowindex]").count()) > 10);
  most = Math.max(most, await drawn());
  expect(most).toBeLessThanOrEqual(ROWS_MAX);
  await page.getByRole("searchbox").fill(numbered(stem, count - 1));
  await until("only one is left", async () => (await drawn()) === 1);
});
