/** The dashboard by keyboard alone: signing in, choosing an application, opening a page, creating a key, confirming, closing. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../../support/wait.ts";
import { attempt } from "../../support/wire/connect.ts";
import { browserForTests, Dashboard, dialog, heading, toast } from "../support/dashboard.ts";
import { eventually } from "../support/eventually.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();
const server = await dashboardServer();
const { world, publishable } = await newShop(server, "shop");

interface Focused {
  readonly name: string;
  readonly role: string;
  /** Something around it shows that it has the focus. */
  readonly isVisible: boolean;
}

/** What has the focus: its name, and whether one can see that. Hidden radio buttons show it on their label. */
const FOCUSED = `(() => {
  const element = document.activeElement;
  const outlined = [element, element.closest("label")].some((one) => {
    if (!one) return false;
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one);
    return (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2) || boxShadow !== "none";
  });
  const name = element.getAttribute("aria-label") ?? element.labels?.[0]?.innerText ?? element.innerText ?? "";
  return { name: name.trim(), role: element.tagName.toLowerCase(), isVisible: outlined };
})()`;

const focused = (page: Page): Promise<Focused> => page.evaluate<Focused>(FOCUSED);

/** Presses Tab until the element with that name has the focus; each stop on the way must be visible. */
async function tabTo(page: Page, name: string | RegExp, key = "Tab"): Promise<void> {
  const seen: string[] = [];
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press(key);
    const now = await focused(page);
    // A new page puts the focus on its title, which is no stop of the Tab key.
    if (!["body", "h1"].includes(now.role)) expect({ ...now }).toEqual({ ...now, isVisible: true });
    seen.push(now.name);
    if (typeof name === "string" ? now.name === name : name.test(now.name)) return;
  }
  throw new Error(`the Tab key never came to ${name}: ${seen.join(" | ")}`);
}

/** Closed dialogs are taken out of the page a moment later; until then their buttons do nothing. */
const noDialog = (page: Page): Promise<void> => page.locator("dialog").waitFor({ state: "detached" });

test("from the sign-in form to a new key that works", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url);
  const page = await dashboard.page("/nodes");
  await page.getByLabel("Token").waitFor();
  if ((await focused(page)).name !== "Token") await tabTo(page, "Token");
  await page.keyboard.type(server.adminToken);
  await page.keyboard.press("Enter");
  await heading(page, "Nodes").waitFor();

  await tabTo(page, /^Application:/, "Shift+Tab");
  await page.keyboard.press("ArrowDown");
  await page.getByRole("option", { name: "All applications" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/apps\/shop$/);
  await heading(page, "Overview").waitFor();
  await tabTo(page, "Keys", "Shift+Tab");
  await page.keyboard.press("Enter");
  await heading(page, "Keys").waitFor();
  // The next Tab starts at the page, not at the navigation.
  await page.getByRole("button", { name: "Create key" }).waitFor();
  await tabTo(page, "Create key");
  await page.keyboard.press("Enter");
  await dialog(page, "Create a key").waitFor();
  await page.keyboard.press("Escape");
  await noDialog(page);
  expect((await focused(page)).name).toBe("Create key");
  await page.keyboard.press("Space");
  const form = dialog(page, "Create a key");
  await form.waitFor();

  await tabTo(page, "Publishable");
  await page.keyboard.press("ArrowRight");
  await eventually(() => form.getByRole("radio", { name: "Secret" }).isChecked(), true);
  await tabTo(page, "Label");
  await page.keyboard.type("By hand");
  await tabTo(page, "Channel patterns, one per line");
  await page.keyboard.type("hand/*");
  await tabTo(page, "publish");
  await page.keyboard.press("Space");
  await page.keyboard.press("Tab");
  await tabTo(page, "Create key");
  await page.keyboard.press("Enter");
  const created = dialog(page, "Key created");
  const [keyId = ""] = ((await created.locator("pre").textContent()) ?? "").split(":");
  expect(await server.admin.key(keyId)).toMatchObject({ label: "By hand", channelPatterns: ["hand/*"] });
  await tabTo(page, "I have copied it");
  await page.keyboard.press("Enter");
  await noDialog(page);

  await tabTo(page, "By hand");
  await page.keyboard.press("Enter");
  await heading(page, "By hand").waitFor();
  await page.getByRole("button", { name: "Revoke …" }).waitFor();
  await tabTo(page, "Revoke …");
  await page.keyboard.press("Enter");
  await dialog(page, "Revoke By hand").waitFor();
  await tabTo(page, "Cancel");
  await page.keyboard.press("Enter");
  await noDialog(page);
  expect((await focused(page)).name).toBe("Revoke …");
  await page.keyboard.press("Enter");
  await tabTo(page, "Revoke the key");
  await page.keyboard.press("Enter");
  await toast(page, "Key revoked.").waitFor();
  expect((await server.admin.key(keyId)).revoked).not.toBeNull();
});

test("the skip link leads past the navigation", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken });
  const page = await dashboard.page("/apps/shop/keys");
  await page.getByRole("button", { name: "Create key" }).waitFor();
  await page.evaluate("document.activeElement.blur()");
  await tabTo(page, "Skip to the page");
  await page.keyboard.press("Enter");
  await tabTo(page, "Create key");
  expect(page.url()).toContain("/apps/shop/keys");
});

test("events of the console are chosen by arrow keys", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken });
  const page = await dashboard.page("/apps/shop/console");
  await page.getByRole("main").getByText("Live", { exact: true }).waitFor();
  await world.member("chat/1", { sub: "alice" });
  await attempt(server.url, { query: `key=${publishable.keyId}`, headers: { Origin: "https://elsewhere.example" } });
  await page.getByRole("row").filter({ hasText: "origin_not_allowed" }).waitFor();
  await tabTo(page, /^Events, newest last/);
  await page.keyboard.press("ArrowUp");
  const details = page.getByRole("region", { name: "Details of the event" });
  await details.getByRole("heading", { name: "refuse" }).waitFor();
  await page.keyboard.press("Home");
  await details.getByRole("heading", { name: "connect" }).waitFor();
  await page.keyboard.press("Escape");
  await details.waitFor({ state: "detached" });
  world.hangUp();
});

test("at 360 px the menu opens and closes by keyboard, and closes when a page opens", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken, width: 360 });
  const page = await dashboard.page("/nodes");
  await heading(page, "Nodes").waitFor();
  await tabTo(page, "Menu", "Shift+Tab");
  await page.keyboard.press("Enter");
  await tabTo(page, "Operators");
  await page.keyboard.press("Escape");
  expect([
    (await focused(page)).name,
    await page.getByRole("button", { name: "Menu" }).getAttribute("aria-expanded"),
  ]).toEqual(["Menu", "false"]);
  await page.keyboard.press("Enter");
  await tabTo(page, "Operators");
  await page.keyboard.press("Enter");
  await heading(page, "Operators").waitFor();
  await eventually(() => page.getByRole("button", { name: "Menu" }).getAttribute("aria-expanded"), "false");
});

test("every page of the navigation opens, and the focus is then on its title", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken });
  const page = await dashboard.page("/apps/shop");
  await heading(page, "Overview").waitFor();
  const inApp = ["Channels", "Peers", "Console", "Keys", "Channel rules", "Rooms", "Recordings", "Usage", "Why not?"];
  for (const name of [...inApp, "Nodes", "Audit log", "Operators", "Settings"]) {
    await tabTo(page, name, "Shift+Tab");
    await page.keyboard.press("Enter");
    await heading(page, name).waitFor();
    await until(`the focus on the title ${name}`, async () => {
      const now = await focused(page);
      return now.role === "h1" && now.name === name;
    });
  }
});
