/** The dashboard in Firefox, by hand: signing in, dialogs, a message that is sent and seen, and a keyboard alone. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { browserForTests, button, Dashboard, dialog, go, row, signInByForm, toast } from "../support/dashboard.ts";
import { launchFirefox } from "../support/firefox.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(120_000);

const browser = browserForTests(launchFirefox);
const server = await dashboardServer();
const { world } = await newShop(server, "shop");
afterEach(() => world.hangUp());

const signedIn = (): Promise<Dashboard> => Dashboard.open(browser(), server.url, { token: server.adminToken });

test("the form signs in, and an operator is created and revoked in dialogs", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url);
  const page = await dashboard.page();
  await signInByForm(page, server.adminToken);
  await go(page, "Operators");
  await button(page, "New operator").click();
  const form = dialog(page, "New operator");
  await form.getByLabel("Name").fill("Carol");
  await form.getByLabel("Role").selectOption("admin");
  await button(form, "Create").click();
  await button(dialog(page, "The token of Carol"), "I have copied it").click();
  await button(page, "Revoke Carol").click();
  await button(dialog(page, "Revoke Carol?"), "Revoke").click();
  await toast(page, "Carol has been revoked.").waitFor();
  await row(page, "Operators", "Carol").waitFor({ state: "detached" });
});

test("a message is published, reaches a client, and is in the live list", async () => {
  const { wire } = await world.member("chat/42", { sub: "alice" });
  await using dashboard = await signedIn();
  const page = await dashboard.page("/apps/shop/channels/chat%2F42");
  await page.getByLabel("Data (JSON)").fill('{"text":"from Firefox"}');
  await page.getByLabel("From").fill("support");
  await button(page, "Publish").click();
  expect(await wire.until("message")).toMatchObject({ from: "support", data: { text: "from Firefox" } });
  const list = page.getByRole("grid", { name: /^Messages/ });
  await list.getByRole("row").filter({ hasText: "support" }).waitFor();
});

test("Escape closes a dialog, and the focus returns to its button", async () => {
  await using dashboard = await signedIn();
  const page = await dashboard.page("/operators");
  const opener = button(page, "New operator");
  await opener.focus();
  await page.keyboard.press("Enter");
  await dialog(page, "New operator").waitFor();
  await page.keyboard.press("Escape");
  await dialog(page, "New operator").waitFor({ state: "detached" });
  expect(await opener.evaluate<boolean, undefined>((one) => one.matches(":focus"), undefined)).toBe(true);
});
