/** The service or the network is away, or what an address names is: pages say what happened, and go on by themselves. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { isInSample } from "../../support/sample.ts";
import { IS_FULL } from "../../support/slack.ts";
import { browserForTests, button, Dashboard, go, heading, link } from "../support/dashboard.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();
const server = await dashboardServer();
const { backend } = await newShop(server, "shop");
await backend.room("standup");
/** What browsers write about requests that fail. */
const FAILED = /ERR_|Failed to load|fetch/;
const open = (expected?: RegExp): Promise<Dashboard> =>
  Dashboard.open(browser(), server.url, { token: server.adminToken, ...(expected && { expected }) });

/** Pages that load once, and pages that load again and again. */
const PAGES: readonly (readonly [entry: string, shows: string])[] = [
  ["Rooms", "standup"],
  ["Meetings", "No meetings yet."],
  ["Recordings", "No recordings yet."],
  ["Keys", "Web shop"],
  ["Channel rules", "This application has no channel rules."],
  ["Operators", "No operators yet, only the admin token."],
  ["Settings", "PARLEY_ADMIN_TOKEN"],
  ["Audit log", "key created"],
];

test("pages that are opened while the browser is offline say so, and fill themselves when it is back", async () => {
  await using dashboard = await open(FAILED);
  const opened = await Promise.all(
    PAGES.filter((_, at) => isInSample(at, 2)).map(async ([entry, shows]) => {
      const page = await dashboard.page("/apps/shop/why-not");
      const ahead = page.waitForResponse(/\/assets\/service-/);
      await heading(page, "Why not?").waitFor();
      // All pages are loaded ahead, a moment after the first.
      await (await ahead).finished();
      return { page, entry, shows };
    }),
  );
  await dashboard.context.setOffline(true);
  await Promise.all(
    opened.map(async ({ page, entry, shows }) => {
      await go(page, entry);
      await page.getByText("This browser is offline.").waitFor();
      await button(page, "Try now").waitFor();
      // Nothing is said about what is not known.
      expect([entry, await page.getByText(shows).count()]).toEqual([entry, 0]);
    }),
  );
  await dashboard.context.setOffline(false);
  await Promise.all(
    opened.map(async ({ page, shows }) => {
      await page.locator("main").getByText(shows).first().waitFor();
      await button(page, "Try now").waitFor({ state: "detached" });
    }),
  );
});

test("a service that does not respond at all leaves no blank page", async () => {
  await using dashboard = await open(FAILED);
  const page = await dashboard.page("/apps/shop/why-not");
  await heading(page, "Why not?").waitFor();
  // The requests are neither answered nor refused.
  const held: (() => void)[] = [];
  await page.route("**/rooms?*", (route) => void held.push(() => void route.continue()));
  await go(page, "Rooms");
  await page.getByText("Loading …").waitFor();
  for (const answer of held) answer();
  await link(page, "standup").waitFor();
});

test.if(IS_FULL)("the dashboard itself waits for the service, also for the list of applications", async () => {
  await using dashboard = await open(FAILED);
  const page = await dashboard.context.newPage();
  await page.route("**/api/internal/**", (route) => route.abort("connectionrefused"));
  await page.goto(`${server.url}/dashboard/apps/shop/rooms`);
  await page.getByText("The service is not responding.").waitFor();
  await page.unroute("**/api/internal/**");
  await button(page, "Try now").click();
  await link(page, "standup").waitFor();
});

test.if(IS_FULL)("charts are drawn once they can be loaded", async () => {
  await using dashboard = await open(FAILED);
  const page = await dashboard.context.newPage();
  await page.route("**/assets/plot-*", (route) => route.abort("connectionrefused"));
  await page.goto(`${server.url}/dashboard/apps/shop`);
  await page.getByText("The chart cannot be drawn").first().waitFor();
  expect(await page.locator("canvas").count()).toBe(0);
  await page.unroute("**/assets/plot-*");
  await page.locator("canvas").first().waitFor();
  await page.getByText("The chart cannot be drawn").first().waitFor({ state: "detached" });
});

test.if(IS_FULL)("the API reference is drawn once its document can be loaded", async () => {
  await using dashboard = await open(FAILED);
  const page = await dashboard.context.newPage();
  await page.route("**/openapi.json", (route) => route.abort("connectionrefused"));
  await page.goto(`${server.url}/docs/api`);
  await page.getByText("could not be loaded").waitFor();
  await page.unroute("**/openapi.json");
  await page.getByRole("heading", { name: /^API reference version \d/ }).waitFor();
  await page.getByText("could not be loaded").waitFor({ state: "detached" });
});

/** A node of another release has other names: those of this page are gone. */
const gone = (page: Page, names: string): Promise<unknown> =>
  page.route(names, (route) => route.fulfill({ status: 404 }));

test("a page whose scripts are of another release is loaded again once, and then says what happened", async () => {
  await using dashboard = await open(FAILED);
  const page = await dashboard.context.newPage();
  let loads = 0;
  page.on("request", (request) => {
    if (request.isNavigationRequest()) loads++;
  });
  await gone(page, "**/assets/dashboard-*.js");
  await page.goto(`${server.url}/dashboard/nodes`);
  await page.waitForEvent("load");
  await page.getByText("This page could not be loaded completely.").waitFor();
  await page.unroute("**/assets/dashboard-*.js");
  expect(loads).toBe(2);
  await button(page, "Reload").click();
  await heading(page, "Nodes").waitFor();
});

test.if(IS_FULL)("a page that was opened before a release loads itself again when a part of it is gone", async () => {
  await using dashboard = await open(FAILED);
  const page = await dashboard.page("/nodes");
  await heading(page, "Nodes").waitFor();
  await gone(page, "**/assets/plot-*");
  const reloaded = page.waitForEvent("load");
  await go(page, "Overview");
  await reloaded;
  await page.unroute("**/assets/plot-*");
  await heading(page, "Overview").waitFor();
  await page.locator("canvas").first().waitFor();
});

test.if(IS_FULL)("an address that names nothing says what is missing, with a way to the others", async () => {
  await using dashboard = await open(/40[04]/);
  const page = await dashboard.page();
  const missing: readonly (readonly [path: string, says: string, way: string, to: string])[] = [
    ["/apps/nowhere/keys", "No application is named “nowhere”.", "shop", "Overview"],
    ["/apps/shop/rooms/nowhere", "No room is named “nowhere”.", "All rooms", "Rooms"],
    ["/apps/shop/meetings/0123456789abcdef01234567", "Meeting not found", "All meetings", "Meetings"],
    ["/apps/shop/meetings/nowhere", "Meeting not found", "All meetings", "Meetings"],
    ["/apps/shop/recordings/0123456789abcdef01234567", "Recording not found", "All recordings", "Recordings"],
    ["/apps/shop/recordings/nowhere", "Recording not found", "All recordings", "Recordings"],
    ["/apps/shop/keys/pk_nowhere", "No key has the id “pk_nowhere”.", "All keys", "Keys"],
    ["/apps/shop/peers/nowhere", "This peer is not connected", "Find similar ids", "Peers"],
    ["/nowhere", "Check the address for typing errors.", "Go to the overview", "Overview"],
  ];
  for (const [path, says, way, to] of missing) {
    await page.goto(`${server.url}/dashboard${path}`);
    const main = page.getByRole("main");
    await main.getByText(says).waitFor();
    // Nothing can be done to what does not exist.
    for (const act of [/^Delete/, "Join as host", "Try now"]) expect(await button(main, act).count()).toBe(0);
    await link(main, way).first().click();
    await heading(page, to).waitFor();
  }
});

test.if(IS_FULL)(
  "an application that is deleted elsewhere is gone from its page, and one that is created appears",
  async () => {
    await using dashboard = await open(/404/);
    const page = await dashboard.page("/apps/cinema/rooms");
    await page.getByText("No application is named “cinema”.").waitFor();
    expect(await link(page.getByRole("navigation"), "Rooms").count()).toBe(0);
    await server.admin.createApp("cinema");
    await page.getByText("This application has no rooms yet.").waitFor();
    await server.admin.must("DELETE", "/apps/cinema");
    await page.getByText("No application is named “cinema”.").waitFor();
    await link(page.getByRole("main"), "shop").waitFor();
  },
);
