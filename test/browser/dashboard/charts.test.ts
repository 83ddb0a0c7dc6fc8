/** Charts in a browser: one moment in all of them, refusals of no application, the traffic of a key, and the range in the address. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { attempt } from "../../support/wire/connect.ts";
import { browserForTests, Dashboard, heading, link, row } from "../support/dashboard.ts";
import { eventually } from "../support/eventually.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();
const server = await dashboardServer();
const { world } = await newShop(server, "shop");
afterEach(() => world.hangUp());

const open = (): Promise<Dashboard> => Dashboard.open(browser(), server.url, { token: server.adminToken });
const chart = (page: Page, name: RegExp) => page.getByRole("slider", { name });
/** The time that it shows; "" if it shows the newest values. */
const timeOf = async (page: Page, name: RegExp): Promise<string> =>
  /^(\d\d:\d\d:\d\d): /.exec((await chart(page, name).getAttribute("aria-valuetext")) ?? "")?.[1] ?? "";

test("a moment in one chart is shown in all, by keyboard, mouse and touch", async () => {
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop");
  const times = (): Promise<string[]> =>
    Promise.all([/^Connections/, /^Messages/, /^Errors/].map((name) => timeOf(page, name)));
  const all = async (test: (time: string) => boolean): Promise<boolean> => {
    const [one = "", ...others] = await times();
    return test(one) && others.every((other) => other === one);
  };
  await chart(page, /^Messages/)
    .locator(".u-over")
    .waitFor();
  expect(await times()).toEqual(["", "", ""]);
  await chart(page, /^Messages/).focus();
  await page.keyboard.press("End");
  await page.keyboard.press("PageDown");
  await eventually(() => all((time) => time !== ""), true);
  const [before] = await times();
  await page.keyboard.press("ArrowRight");
  await eventually(() => all((time) => time !== "" && time !== before), true);
  await page.keyboard.press("Escape");
  await eventually(times, ["", "", ""]);

  await chart(page, /^Errors/)
    .locator(".u-over")
    .hover();
  await eventually(() => all((time) => time !== ""), true);
  expect(
    await chart(page, /^Errors/)
      .locator(".chart-tip")
      .isVisible(),
  ).toBe(true);
  expect(
    await chart(page, /^Messages/)
      .locator(".chart-tip")
      .isVisible(),
  ).toBe(false);
  await heading(page, "Overview").hover();
  await eventually(times, ["", "", ""]);

  // A finger leaves it where it was.
  await chart(page, /^Messages/)
    .locator(".u-over")
    .dispatchEvent("pointerdown", { pointerType: "touch", clientX: 700 });
  await chart(page, /^Messages/)
    .locator(".u-over")
    .dispatchEvent("pointerleave", { pointerType: "touch" });
  await eventually(() => all((time) => time !== ""), true);
});

test("refused connects of no application are counted apart, and lead to the list of them", async () => {
  await attempt(server.url, { query: "key=pk_live_00000000000000000000000000000000" });
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop?range=3h");
  await page.getByText(/^\d+ for this application$/).waitFor();
  await page.getByText("15 min", { exact: true }).click();
  await link(page, /^[1-9]\d* with unknown credentials/).click();
  await page.waitForURL(/\/refusals\?credentials=unknown$/);
  await row(page, "Refusals", "unauthorized").getByTitle("Unknown credentials").waitFor();
  await page.goBack();
  await heading(page, "Overview").waitFor();
  await eventually(() => page.getByRole("radio", { name: "15 min" }).isChecked(), true);
  await page.goBack();
  await page.waitForURL(/range=3h/);
  await eventually(() => page.getByRole("radio", { name: "3 h" }).isChecked(), true);
});

test("what was refused before the page was opened is listed, explained, and filtered by the address", async () => {
  const { keyId } = await server.admin.createPublishable(world.app._id, {
    allowedOrigins: ["https://shop.example"],
    label: "shop page",
  });
  const Origin = "https://elsewhere.example";
  for (let n = 0; n < 2; n++) await attempt(server.url, { query: `key=${keyId}`, headers: { Origin } });
  const { wire } = await world.member("chat/1", { sub: "alice" });
  wire.send({ type: "publish", channel: "_system/x", data: 1 });
  await wire.sync();
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop");
  await row(page, "Refused connects by reason", "origin_not_allowed").getByRole("link").click();
  await page.waitForURL(/\/apps\/shop\/refusals\?kind=refuse&code=origin_not_allowed$/);
  const refused = row(page, "Refusals", "origin_not_allowed");
  await refused.getByText(Origin, { exact: true }).filter({ visible: true }).waitFor();
  await refused.getByRole("cell", { name: "2", exact: true }).waitFor();
  await refused.getByText("shop page", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.waitForURL(/\/refusals$/);
  await row(page, "Refusals", "channel_reserved").getByRole("link", { name: "alice" }).waitFor();
  await page.getByLabel("From", { exact: true }).fill("elsewhere");
  await row(page, "Refusals", "channel_reserved").waitFor({ state: "detached" });
  await refused.getByRole("link", { name: "Why?" }).click();
  await page.waitForURL(/\/why-not\?/);
  await eventually(() => page.getByLabel("Origin of the web page").inputValue(), Origin);
  await eventually(() => page.getByLabel("Publishable key or connect token").inputValue(), keyId);
});

test("an application without refusals says what the page would list, and for how long", async () => {
  await server.admin.must("POST", "/apps", { name: "quiet" });
  await using dashboard = await open();
  const page = await dashboard.page("/apps/quiet/refusals");
  await page.getByText("No refusals in the last 24 hours.").waitFor();
  await page.getByText(/keeps the newest 100 connects and 100 frames .* its restart clears them/).waitFor();
});

test("the traffic of each key is in the list and on its page", async () => {
  const { wire } = await world.member("chat/1", { sub: "alice" });
  for (let n = 0; n < 5; n++) wire.send({ type: "publish", channel: "chat/1", data: n });
  await wire.sync();
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/keys");
  const cells = row(page, "Keys", world.key.keyId).getByRole("cell");
  await eventually(() => cells.nth(5).innerText(), "1");
  await cells.nth(6).getByText("5", { exact: true }).waitFor();
  await cells.nth(0).getByRole("link").click();
  await page.getByText("3 h", { exact: true }).click();
  await page.waitForURL(/range=3h/);
  await chart(page, /^Messages/)
    .locator(".u-over")
    .waitFor();
  await link(page, "Watch its refusals live").click();
  await page.waitForURL(new RegExp(`key=${world.key.keyId}`));
});
