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

test("refused connects of no application are counted apart, and lead to the service's overview", async () => {
  await attempt(server.url, { query: "key=pk_live_00000000000000000000000000000000" });
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop?range=3h");
  await page.getByText(/^\d+ for this application$/).waitFor();
  await page.getByText("15 min", { exact: true }).click();
  await link(page, /^[1-9]\d* with unknown credentials/).click();
  await page.waitForURL(/\/dashboard$/);
  await row(page, "Refused connects by reason", "unauthorized").waitFor();
  await link(page, /with unknown credentials/).click();
  await page.waitForURL(/\/console\?kind=refuse$/);
  await page.goBack();
  await page.goBack();
  await heading(page, "Overview").waitFor();
  await eventually(() => page.getByRole("radio", { name: "15 min" }).isChecked(), true);
  await page.goBack();
  await page.waitForURL(/range=3h/);
  await eventually(() => page.getByRole("radio", { name: "3 h" }).isChecked(), true);
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
