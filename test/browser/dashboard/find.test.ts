/** Finding one's way: the application switcher, the command palette, tables that sort, lists as files, colours, and how fresh a page is. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { StreamCalls } from "../../support/stream-calls.ts";
import { violations } from "../support/axe.ts";
import { browserForTests, button, Dashboard, dialog, heading, toast } from "../support/dashboard.ts";
import { eventually } from "../support/eventually.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(90_000);

const APPS = 50;

const browser = browserForTests();
const server = await dashboardServer();
const { world, backend, publishable } = await newShop(server, "shop");
await Promise.all(Array.from({ length: APPS - 1 }, (_, at) => server.admin.createApp(`team-${at + 1}`)));
await backend.room("standup");
await server.admin.must("PATCH", `/apps/${world.app._id}`, {
  channelRules: [{ pattern: "answers/*", stream: { seconds: 60, bytes: 65_536 } }],
});
await new StreamCalls(server, `${world.key.keyId}:${world.key.secret}`).create("answers/42");
await world.member("chat/lobby", { sub: "alice", peerMetadata: { name: "Alice" } });
await server.admin.createKey(world.app._id, { label: '=HYPERLINK("https://evil.example")' });

const signedIn = (width = 1440): Promise<Dashboard> =>
  Dashboard.open(browser(), server.url, { token: server.adminToken, width });

test("one of fifty applications is found by typing, and the same page of it opens", async () => {
  await using dashboard = await signedIn();
  const page = await dashboard.page("/apps/shop/keys");
  await heading(page, "Keys").waitFor();
  await button(page, "Application: shop").click();
  const field = page.getByRole("combobox", { name: "Find an application" });
  await page.getByRole("option", { name: "shop current" }).waitFor();
  expect(await page.getByRole("option").count()).toBe(APPS + 1);
  expect(await violations(page)).toEqual([]);
  await field.press("Escape");
  await field.waitFor({ state: "detached" });
  await eventually(() => page.evaluate("document.activeElement.ariaLabel"), "Application: shop");
  await page.keyboard.press("ArrowDown");
  await field.fill("team-4");
  // Names that begin with it: team-4, team-40 to team-49.
  await eventually(() => page.getByRole("option").count(), 11);
  await field.press("ArrowDown");
  await field.press("Enter");
  await page.waitForURL(/\/apps\/team-40\/keys$/);
  await button(page, "Application: team-40").click();
  await field.fill("nowhere");
  await page.getByText("No application has this in its name.").waitFor();
  await heading(page, "Keys").click();
  await field.waitFor({ state: "detached" });
});

test.each([1440, 360])(
  "at %d px, the palette finds pages, applications, keys, channels, peers, streams and rooms",
  async (width) => {
    await using dashboard = await signedIn(width);
    const page = await dashboard.page("/apps/shop");
    await heading(page, "Overview").waitFor();
    if (width > 1000) await page.keyboard.press("Control+k");
    else await button(page, /^Search everything/).click();
    const palette = dialog(page, "Search everything");
    const field = palette.getByRole("combobox");
    for (const [typed, found] of [
      ["audi", /^Audit/],
      ["team-49", /^team-49 application/],
      [publishable.keyId, /^Web shop key of shop/],
      ["lobby", /^chat\/lobby channel of shop/],
      ["lic", /^Alice alice · peer of shop/],
      ["ALICE", /^Alice alice · peer of shop/],
      ["who spoke", /^Meetings shop/],
      ["kick", /^Peers shop/],
      ["invite", /^Operators service/],
      ["ers/42", /^answers\/42 stream of shop/],
      ["andu", /^standup room of shop/],
    ] as const) {
      await field.fill(typed);
      await palette.getByRole("option", { name: found }).first().waitFor();
    }
    expect(await violations(page)).toEqual([]);
    await field.press("Enter");
    await heading(page, "standup").waitFor();
    await palette.waitFor({ state: "detached" });
    await button(page, /^Search everything/).click();
    await palette
      .getByRole("group", { name: "Recent" })
      .getByRole("option", { name: /^standup/ })
      .click();
    await heading(page, "standup").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  },
);

test("with several applications, the dashboard starts with all of them", async () => {
  await using dashboard = await signedIn();
  const page = await dashboard.page();
  await button(page, "Application: All applications").waitFor();
  expect(new URL(page.url()).pathname).toBe("/dashboard");
});

test("the palette opens dialogs, publishes, switches the theme and signs out", async () => {
  // Its session ends here: that of the other tests goes on.
  const { token } = await server.admin.must<{ token: string }>("POST", "/operators", { name: "Ann", role: "admin" });
  await using dashboard = await Dashboard.open(browser(), server.url, { token, expected: /401/ });
  const page = await dashboard.page("/apps/shop/channels/chat%2Flobby");
  await heading(page, "chat/lobby").waitFor();
  const palette = dialog(page, "Search everything");
  const act = async (typed: string): Promise<void> => {
    await page.keyboard.press("Control+k");
    await palette.getByRole("combobox").fill(typed);
    await palette.getByRole("group", { name: "Actions" }).getByRole("option").first().waitFor();
    await page.keyboard.press("Enter");
    await palette.waitFor({ state: "detached" });
  };
  await act("publish");
  const message = dialog(page, "Publish a test message");
  // It was opened on the page of this channel.
  expect(await message.getByLabel("Channel").inputValue()).toBe("chat/lobby");
  await button(message, "Publish").click();
  await toast(page, "Published to chat/lobby.").waitFor();
  await message.waitFor({ state: "detached" });
  await act("new room");
  await heading(page, "New room").waitFor();
  for (const [typed, title] of [
    ["new key", "Create a key"],
    ["new webhook", "Create a webhook"],
    ["new operator", "New operator"],
  ] as const) {
    await act(typed);
    await page.getByRole("dialog", { name: title }).waitFor();
    await page.keyboard.press("Escape");
    await page.waitForURL(({ search }) => search === "");
  }
  await act("theme to dark");
  await eventually(() => page.getByRole("radio", { name: "Dark" }).isChecked(), true);
  await act("sign out");
  await page.getByLabel("Token").waitFor();
});

test("the palette offers an operator of role read only what that role may do", async () => {
  const { token } = await server.admin.must<{ token: string }>("POST", "/operators", { name: "Reader", role: "read" });
  await using dashboard = await Dashboard.open(browser(), server.url, { token });
  const page = await dashboard.page("/apps/shop");
  await heading(page, "Overview").waitFor();
  await page.keyboard.press("Control+k");
  const actions = dialog(page, "Search everything").getByRole("group", { name: "Actions" }).getByRole("option");
  await eventually(
    () => actions.locator(".pick-title").allTextContents(),
    ["Switch theme to light", "Switch theme to dark", "Sign out"],
  );
});

test.each(["mouse", "keyboard", "touch"] as const)("what a term means is shown by %s", async (means) => {
  await using dashboard = await signedIn(means === "touch" ? 360 : 1440);
  const page = await dashboard.page("/apps/shop");
  const term = button(page, "What is “Frame to publish”?");
  const meaning = page.getByRole("tooltip").filter({ hasText: "99 of 100 did" });
  await term.waitFor();
  await eventually(() => meaning.count(), 0);
  if (means === "mouse") await term.hover();
  else if (means === "keyboard") await term.focus();
  // As browsers report a finger: a click, without a pointer that stays.
  else await term.dispatchEvent("click");
  await meaning.waitFor();
  // All of it is in view, whatever is around the button.
  const box = await meaning.boundingBox();
  expect(box && box.x >= 0 && box.x + box.width <= (means === "touch" ? 360 : 1440)).toBe(true);
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await eventually(() => meaning.count(), 0);
});

test("a column sorts a table, both ways and not at all, and the address has it", async () => {
  await using dashboard = await signedIn();
  const page = await dashboard.page("/apps/shop/keys");
  const table = page.getByRole("table", { name: "Keys" });
  const names = (): Promise<string[]> => table.locator(".key-cell > a").allTextContents();
  await table.getByText("Web shop").waitFor();
  const given = await names();
  const head = table.getByRole("columnheader", { name: "Key" });
  await button(head, "Key").click();
  await page.waitForURL(/sort=key/);
  expect(await head.getAttribute("aria-sort")).toBe("ascending");
  expect(await names()).toEqual([...given].sort());
  await button(head, "Key").click();
  await page.waitForURL(/sort=-key/);
  expect(await names()).toEqual([...given].sort().reverse());
  await page.reload();
  await eventually(() => head.getAttribute("aria-sort"), "descending");
  await button(head, "Key").click();
  await eventually(() => head.getAttribute("aria-sort"), null);
  expect(await names()).toEqual(given);
  await page.getByRole("searchbox", { name: "Find keys by part of their name or id" }).fill("SHOP");
  await eventually(names, ["Web shop"]);
});

test("a list is downloaded as a file in which no cell is a formula", async () => {
  await using dashboard = await signedIn();
  const page = await dashboard.page("/apps/shop/keys");
  await page.getByText("Web shop").waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), button(page, "Download CSV").click()]);
  expect(download.suggestedFilename()).toBe("keys-shop.csv");
  const text = readFileSync(await download.path(), "utf8");
  const [head, ...lines] = text.replace("\uFEFF", "").trimEnd().split("\r\n");
  expect(head).toBe("Key id,Key,Type,Channels,Actions,Origins,Connections,Messages,State,Created");
  expect(lines.length).toBe(3);
  expect(text).toContain(`,"'=HYPERLINK(""https://evil.example"")",secret,`);
});

test("the theme is kept, comes before the first paint, and counts for other pages of the host", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url, {
    token: server.adminToken,
    expected: /ERR_FAILED/,
  });
  const page = await dashboard.page("/nodes");
  const colour = (): Promise<string> =>
    page.evaluate<string>("document.body ? getComputedStyle(document.body).backgroundColor : ''");
  const [light, dark] = ["rgb(247, 248, 250)", "rgb(15, 17, 20)"];
  await heading(page, "Nodes").waitFor();
  expect(await colour()).toBe(light);
  await page.getByText("Dark", { exact: true }).click();
  await eventually(colour, dark);
  await page.goto(`${server.url}/docs/api`);
  expect(await colour()).toBe(dark);
  // Scripts of the page itself are not loaded: the choice does not wait for them.
  await page.route("**/assets/dashboard-*.js", (route) => route.abort());
  await page.goto(`${server.url}/dashboard/nodes`, { waitUntil: "commit" });
  await eventually(colour, dark);
  await page.close();
  const reopened = await dashboard.page("/nodes");
  await reopened.getByText("System", { exact: true }).click();
  await eventually(() => reopened.evaluate("getComputedStyle(document.body).backgroundColor"), light);
});

test("a page says how fresh it is, and since when it is not", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url, {
    token: server.adminToken,
    expected: /ERR_FAILED|ERR_INTERNET_DISCONNECTED/,
  });
  const page = await dashboard.page("/settings");
  const mark = page.locator(".fresh");
  await mark.getByText(/^As of \d\d:\d\d:\d\d ·/).waitFor();
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.url().endsWith("/settings")),
    button(mark, "Refresh").click(),
  ]);
  expect(answer.status()).toBe(200);
  await page.goto(`${server.url}/dashboard/apps/shop/peers`);
  await mark.getByText("Updates every 3 s", { exact: true }).waitFor();
  await dashboard.context.setOffline(true);
  await mark.getByText(/^As of \d\d:\d\d:\d\d$/).waitFor();
  await page.locator("[aria-live]").getByText("This browser is offline.").waitFor();
  await dashboard.context.setOffline(false);
  await mark.getByText("Updates every 3 s", { exact: true }).waitFor();
});
