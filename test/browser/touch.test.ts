/**
 * Phones: every control can be hit with a finger, and none exists only under a mouse. `npm test` looks at the pages of rooms and at every third state of the
 * meeting page; with PARLEY_TEST_FULL at all pages.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { browserForTests, Dashboard } from "./support/dashboard.ts";
import { meetingStates } from "./support/meeting-states.ts";
import { fill, pagesOf } from "./support/pages.ts";
import { dashboardServer, newShop } from "./support/seeds.ts";
import { leastOf, smallTargets } from "./support/targets.ts";
import { Visitor } from "./support/visitor.ts";

setDefaultTimeout(120_000);

const PHONE = { width: 390, height: 844, hasTouch: true } as const;
/** The least for controls that are used in a hurry. */
const COMFORTABLE_PX = 44;
const isFull = process.env.PARLEY_TEST_FULL !== undefined;

const browser = browserForTests();
const server = await dashboardServer();
const shop = await newShop(server, "shop");
const PAGES = pagesOf(shop, await fill(server, shop));
const states = meetingStates();

test("the meeting page: nothing is too small, and the bar has room for a thumb", async () => {
  const visitor = await Visitor.open(browser(), { ...PHONE, expected: /AudioContext/ });
  const faults: Record<string, string[]> = {};
  for (const [at, state] of (await states.names(visitor)).entries()) {
    if (!isFull && at % 3 !== 0) continue;
    await states.open(visitor, state);
    const found = await smallTargets(visitor.page);
    if (found.length > 0) faults[state] = found;
  }
  expect(faults).toEqual({});
  await states.open(visitor, "presenting");
  expect(await leastOf(visitor.page, ".controls button")).toBeGreaterThanOrEqual(COMFORTABLE_PX);
  // Without a mouse over the tile.
  expect(await visitor.page.locator(".tile-pin").count()).toBeGreaterThan(1);
  const hidden = `[...document.querySelectorAll(".tile-pin")].filter((one) => getComputedStyle(one).opacity !== "1").length`;
  expect(await visitor.page.evaluate<number>(hidden)).toBe(0);
  await visitor.close();
});

test("the dashboard: nothing is too small", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url, {
    ...PHONE,
    token: server.adminToken,
    expected: /404/,
  });
  const page = await dashboard.page();
  const faults: Record<string, string[]> = {};
  for (const { name, path, ready } of PAGES) {
    if (!isFull && !/room|meeting|recording|playback/.test(name)) continue;
    await page.goto(`${server.url}/dashboard${path}`);
    await page.locator("main").getByText(ready).first().waitFor();
    const found = await smallTargets(page);
    if (found.length > 0) faults[name] = found;
  }
  expect(faults).toEqual({});
});
