/** Every page in Firefox, wide and light, narrow and dark: it opens without an error or a violation of its policy, and does not scroll sideways. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { type Server, startParley } from "../../support/parley.ts";
import { Dashboard, NARROW_DARK, WIDE } from "../support/dashboard.ts";
import { launchDarkFirefox, launchFirefox } from "../support/firefox.ts";
import { fill, pagesOf, settled } from "../support/pages.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";
import { Visitor } from "../support/visitor.ts";

setDefaultTimeout(300_000);

/** Pages that are open at the same time: most of them wait for their next refresh. */
const AT_A_TIME = 4;

const shopServer = await dashboardServer();
const shop = await newShop(shopServer, "shop");
const PAGES = pagesOf(shop, await fill(shopServer, shop));

const sidewaysOf = (page: Page): Promise<number> =>
  page.evaluate<number>("Math.max(0, document.documentElement.scrollWidth - innerWidth)");

describe.each([
  [WIDE, launchFirefox],
  [NARROW_DARK, launchDarkFirefox],
] as const)("%o", (look, launch) => {
  let browser: Browser;
  let server: Server;
  beforeAll(async () => {
    [browser, server] = await Promise.all([launch(), startParley()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test("the start page and every page of the documentation", async () => {
    const visitor = await Visitor.open(browser, look);
    const { page, complaints } = visitor;
    await visitor.goto(`${server.url}/docs`);
    // On a phone the list is behind a button.
    const links = await page.locator("#pages a").all();
    const listed = await Promise.all(links.map(async (link) => (await link.getAttribute("href")) ?? ""));
    expect(listed.length).toBeGreaterThan(30);
    const faults: Record<string, unknown> = {};
    for (const path of new Set(["/", "/docs", "/docs/api", ...listed])) {
      await page.goto(new URL(path, `${server.url}/docs`).href);
      await page.getByRole("heading", { level: 1 }).first().waitFor();
      const sideways = await sidewaysOf(page);
      const found = complaints.splice(0);
      if (sideways > 0 || found.length > 0) faults[path] = { sideways, found };
    }
    await visitor.close();
    expect(faults).toEqual({});
  });

  test("every page of the dashboard", async () => {
    const faults: Record<string, unknown> = {};
    const waiting = [...PAGES];
    const visit = async (): Promise<void> => {
      for (let one = waiting.shift(); one; one = waiting.shift()) {
        await using dashboard = await Dashboard.open(browser, shopServer.url, {
          ...look,
          token: shopServer.adminToken,
        });
        const page = await dashboard.page(one.path);
        await settled(page, one);
        const sideways = await sidewaysOf(page);
        const found = dashboard.complaints.splice(0);
        if (sideways > 0 || found.length > 0) faults[one.name] = { sideways, found };
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, visit));
    expect(faults).toEqual({});
  });
});
