/** Channel rules, the history of a channel, streams and what its members say about themselves, by clicking. Each change is checked in the API. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import type { ChannelRule } from "../../../src/protocol/patterns/channel-rules.ts";
import { StreamCalls } from "../../support/stream-calls.ts";
import { until } from "../../support/wait.ts";
import { browserForTests, button, Dashboard, dialog, go, heading, link, row, toast } from "../support/dashboard.ts";
import { eventually } from "../support/eventually.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();
const server = await dashboardServer();
const { world } = await newShop(server, "shop");
afterEach(() => world.hangUp());

const open = (token = server.adminToken, expected?: RegExp): Promise<Dashboard> =>
  Dashboard.open(browser(), server.url, { token, ...(expected && { expected }) });

const app = `/apps/${world.app._id}`;
const rulesNow = async (): Promise<readonly ChannelRule[]> =>
  (await server.admin.must<{ channelRules: ChannelRule[] }>("GET", app)).channelRules;
const setRules = (...channelRules: ChannelRule[]) => server.admin.must("PATCH", app, { channelRules });
const CHAT: ChannelRule = { pattern: "chat/*", history: { messages: 100, seconds: 3600 }, graceSec: 0 };

async function addRule(page: Page, pattern: string): Promise<void> {
  await button(page, "Add rule").click();
  const form = dialog(page, "Add a rule");
  await form.getByLabel("Pattern").fill(pattern);
  await button(form, "Add").click();
  await row(page, "Channel rules", pattern).waitFor();
}

test("rules are added, changed, ordered by keyboard and saved as one list", async () => {
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop");
  await go(page, "Channel rules");
  await page.getByText("This application has no channel rules.").waitFor();
  await button(page, "Add rule").click();
  const form = dialog(page, "Add a rule");
  await form.getByLabel("Pattern").fill("chat/***");
  await form.getByText("must not contain '***'").waitFor();
  expect(await button(form, "Add").isDisabled()).toBe(true);
  await form.getByLabel("Pattern").fill("chat/*");
  await form.getByLabel("Newest messages kept").fill("50");
  await form.getByLabel("Kept for").fill("2");
  await form.getByLabel("Unit").selectOption("hours");
  await button(form, "Add").click();
  await row(page, "Channel rules", "chat/*").getByText("50 messages, 2 hours").waitFor();

  await addRule(page, "**");
  await button(page, "Edit **").click();
  const edited = dialog(page, "Edit the rule");
  await edited.getByLabel("Pattern").fill("chat/*");
  await edited.getByText("Another rule already has this pattern.").waitFor();
  await edited.getByLabel("Pattern").fill("**");
  await edited.getByLabel("Messages", { exact: true }).selectOption("Not stored");
  await edited.getByLabel("Grace in seconds").fill("30");
  await button(edited, "Change").click();
  expect(await rulesNow()).toEqual([]);

  // The focus goes with the rule that is moved.
  await button(page, "Move ** up").focus();
  await page.keyboard.press("Enter");
  await page.getByText("Never applies: rule 1 matches all of its channels.").waitFor();
  await page.getByRole("status").getByText("** is now rule 1 of 2.").waitFor({ state: "attached" });
  await page.locator("[aria-label='Move ** down']:focus").waitFor();
  await page.keyboard.press("Enter");
  await page.locator("[aria-label='Move ** up']:focus").waitFor();
  await button(page, "Save rules").click();
  await toast(page, "Rules saved.").waitFor();
  expect(await rulesNow()).toEqual([
    { pattern: "chat/*", history: { messages: 50, seconds: 7200 }, graceSec: 0 },
    { pattern: "**", graceSec: 30 },
  ]);
});

test("the tester says which rule and which keys cover a channel, with and without what is not saved", async () => {
  await setRules(CHAT);
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/rules");
  await page.getByRole("searchbox", { name: "Channel" }).fill("orders/7");
  await page.getByText("No rule applies: nothing is stored.").waitFor();
  await page.getByText("2 keys of this application cover it.").waitFor();
  await page.waitForURL(/channel=orders/);
  await addRule(page, "orders/**");
  await page.getByText("With your changes: Rule 2, orders/**: keeps 500 messages, 7 days.").waitFor();
  await page.getByRole("searchbox", { name: "Channel" }).fill("chat/42");
  await page.getByText("Now: Rule 1, chat/*: keeps 100 messages, 1 hour.").waitFor();
  await page.getByRole("searchbox", { name: "Channel" }).fill("chat/*");
  await page.getByText("A channel has no * in its name").waitFor();
});

test("a change that ends history says what it does, and asks first", async () => {
  await setRules(CHAT);
  await world.member("chat/1");
  await world.member("news");
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/rules");
  await button(page, "Delete chat/*").click();
  await page.getByText("Of the 2 channels in use now, 1 would lose their history.").waitFor();
  await button(page, "Cancel").click();
  await row(page, "Channel rules", "chat/*").waitFor();
  await button(page, "Delete chat/*").click();
  await button(page, "Save rules").click();
  const asked = dialog(page, "Save rules that may delete messages");
  await asked.getByText("1 would lose their history").waitFor();
  await button(asked, "Save the rules").click();
  await toast(page, "Rules saved.").waitFor();
  expect(await rulesNow()).toEqual([]);
});

test("streams have a size and a time, a limit together, and are deleted with their rule", async () => {
  await setRules();
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/rules");
  await button(page, "Add rule").click();
  const form = dialog(page, "Add a rule");
  await form.getByLabel("Pattern").fill("runs/*");
  await form.getByLabel("Messages", { exact: true }).selectOption("Streams");
  await form.getByLabel("Largest stream (MiB)").fill("300");
  await form.getByText("At least 64 KiB and at most 256 MiB.").waitFor();
  await form.getByLabel("Largest stream (MiB)").fill("8");
  await form.getByLabel("Deleted when unused for").fill("3");
  await button(form, "Add").click();
  await row(page, "Channel rules", "runs/*")
    .getByText("streams of up to 8 MiB, deleted when unused for 3 days")
    .waitFor();
  await button(page, "Save rules").click();
  await toast(page, "Rules saved.").waitFor();
  expect(await rulesNow()).toEqual([
    { pattern: "runs/*", stream: { seconds: 259_200, bytes: 8_388_608 }, graceSec: 0 },
  ]);
  await page.getByText("0 messages in 0 streams.").waitFor();
  const limit = page.getByLabel("Limit of all streams (MiB)");
  await limit.fill("2");
  await limit.press("Enter");
  await toast(page, "The limit of all streams is now 2 MiB.").waitFor();
  expect(await server.admin.must("GET", app)).toMatchObject({ maxStreamBytes: 2_097_152 });

  await world.member("runs/1");
  await button(page, "Delete runs/*").click();
  await page.getByText("1 would lose their stream").waitFor();
  await button(page, "Save rules").click();
  await dialog(page, "Save rules that may delete messages").getByText("1 would lose their stream").waitFor();
});

test("a refusal is shown at its rule, and rules that were changed elsewhere are not overwritten", async () => {
  await setRules(CHAT);
  await using dashboard = await open(server.adminToken, /400/);
  const page = await dashboard.page("/apps/shop/rules");
  await addRule(page, "news");
  const message = "channelRules.1.pattern: is not to the taste of this test";
  await page.route(`**${app}`, (route) =>
    route.request().method() === "PATCH"
      ? route.fulfill({ status: 400, json: { error: "invalid_request", message } })
      : route.fallback(),
  );
  await button(page, "Save rules").click();
  await row(page, "Channel rules", "news").getByText(message).waitFor();
  await page.unroute(`**${app}`);
  const elsewhere = { pattern: "elsewhere/*", graceSec: 5 };
  await setRules(elsewhere);
  await button(page, "Save rules").click();
  await page.getByRole("alert").getByText("changed elsewhere").waitFor();
  await button(page, "Cancel").click();
  await row(page, "Channel rules", "elsewhere/*").waitFor();
  expect(await rulesNow()).toEqual([elsewhere]);
});

test("history is read by page, shows payloads where that is allowed, and can be deleted", async () => {
  await setRules(CHAT);
  const { wire } = await world.member("chat/1", { sub: "alice" });
  for (let at = 1; at <= 60; at++) await wire.request({ type: "publish", channel: "chat/1", data: { order: at } });
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/channels/chat%2F1");
  await page.getByText("It keeps 100 messages, 1 hour").waitFor();
  await page.getByText("History", { exact: true }).click();
  const rows = page.getByRole("table", { name: "History" }).locator("tbody").getByRole("row");
  await until("a page is there", async () => (await rows.count()) === 50);
  await eventually(async () => (await page.content()).includes("order"), false);
  await link(page, "Older").click();
  await until("the rest is there", async () => (await rows.count()) === 10);
  await eventually(() => link(page, "Older").count(), 0);
  await page.goBack();
  await until("the newest are there", async () => (await rows.count()) === 50);

  await server.admin.must("PATCH", app, { consolePayloads: true });
  await page.reload();
  await button(rows.first(), '{"order":60}').click();
  await button(dialog(page, "Message from alice"), "Close").click();
  await button(page, "Delete history …").click();
  await button(dialog(page, "Delete the history of chat/1"), "Delete the history").click();
  await page.getByText("This channel has kept no message yet.").waitFor();
  const { body } = await server.admin.call<{ messages: unknown[] }>("GET", `${app}/channels/chat%2F1/history`);
  expect(body.messages).toEqual([]);
});

test("members show their state, and whether they were lost", async () => {
  await setRules({ pattern: "chat/*", graceSec: 60 });
  const { wire } = await world.member("chat/1", { sub: "alice" });
  const bob = await world.member("chat/1", { sub: "bob" });
  await wire.request({ type: "state", channel: "chat/1", state: { typing: true } });
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/channels/chat%2F1");
  await page.getByText("It keeps no history").waitFor();
  await button(row(page, "Members", "alice"), '{"typing":true}').click();
  await button(dialog(page, "State of alice"), "Close").click();
  bob.wire.drop();
  await row(page, "Members", "bob").getByText("lost", { exact: true }).waitFor();
});

test("an operator who may only read sees rules and history, and cannot change them", async () => {
  await setRules(CHAT);
  const { token } = await server.admin.must<{ token: string }>("POST", "/operators", { name: "Reader", role: "read" });
  await using dashboard = await open(token);
  const page = await dashboard.page("/apps/shop/rules");
  await row(page, "Channel rules", "chat/*").getByText("100 messages, 1 hour").waitFor();
  await page.getByRole("heading", { name: "Stored history" }).waitFor();
  for (const name of ["Add rule", "Edit chat/*", "Delete chat/*", "Save"])
    await eventually(() => button(page, name).count(), 0);
  await page.goto(`${server.url}/dashboard/apps/shop/channels/chat%2F1?view=history`);
  await heading(page, "chat/1").waitFor();
  await page.getByText("This channel has kept no message yet.").waitFor();
  await eventually(() => button(page, "Delete history …").count(), 0);
});

test("streams are found, read, followed and deleted; with readers, only after their name is typed", async () => {
  const streams = new StreamCalls(server, `${world.key.keyId}:${world.key.secret}`);
  await using dashboard = await open(server.adminToken, /404/);
  const page = await dashboard.page("/apps/shop");
  await setRules(CHAT);
  await go(page, "Streams");
  await page.getByText("This application has no streams.").waitFor();
  await link(page, "channel rule").waitFor();
  await setRules({ pattern: "docs/**", stream: { seconds: 3600, bytes: 65_536 }, graceSec: 0 });
  await server.admin.must("PATCH", app, { consolePayloads: true });
  await streams.create("docs/logo", { type: "image/png", body: Uint8Array.of(1, 2, 3) });
  await streams.create("docs/page", { type: "text/plain", body: "first line\nsecond line" });
  await go(page, "Channels");
  await go(page, "Streams");
  await row(page, "Streams", "docs/logo").getByText("image/png").waitFor();
  await page.getByRole("searchbox").fill("page");
  await row(page, "Streams", "docs/logo").waitFor({ state: "detached" });
  await link(page, "docs/page").click();
  await heading(page, "docs/page").waitFor();
  await button(row(page, "Messages", "server"), "first line second line").click();
  expect(await dialog(page, "Message from server").locator("pre").textContent()).toBe("first line\nsecond line");
  await button(dialog(page, "Message from server"), "Close").click();

  const numbered = { "Producer-Id": "worker-1", "Producer-Epoch": "0", "Producer-Seq": "0" };
  await streams.append("docs/page", { type: "text/plain", body: "third", headers: numbered });
  await row(page, "Messages", "third").waitFor();
  await row(page, "Producers", "worker-1").getByText(world.key.keyId).waitFor();
  await page.getByText("/v1/stream/docs/page?offset=-1&live=sse").waitFor();
  await page.getByText("EventSource", { exact: true }).click();
  await page.getByText("new EventSource(url)").waitFor();

  const reading = new AbortController();
  await streams.follow("docs/page", reading.signal);
  const readers = page.locator(".stat").filter({ hasText: "HTTP readers" });
  await readers.getByText("1", { exact: true }).waitFor();
  await button(page, "Delete …").click();
  const asked = dialog(page, "Delete the stream docs/page");
  await asked.getByText("1 client reads it now.").waitFor();
  expect(await button(asked, "Delete the stream").isDisabled()).toBe(true);
  await asked.getByLabel(/^Type/).fill("docs/page");
  await button(asked, "Delete the stream").click();
  await toast(page, "docs/page is deleted.").waitFor();
  reading.abort();
  await link(page, "docs/logo").click();
  await row(page, "Messages", "base64").getByText("AQID").waitFor();
  await button(page, "Delete …").click();
  await button(dialog(page, "Delete the stream docs/logo"), "Delete the stream").click();
  await page.getByText("This application has no streams.").waitFor();
  await page.goBack();
  await page.getByText("There is no stream named “docs/logo”.").waitFor();
});
