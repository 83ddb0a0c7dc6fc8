/** The live pages by clicking, from the sign-in form on: each action is seen by a real client, or in the control plane. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../../support/wait.ts";
import { attempt, welcomed } from "../../support/wire/connect.ts";
import { Wire } from "../../support/wire/wire.ts";
import {
  browserForTests,
  button,
  chooseApp,
  Dashboard,
  dialog,
  go,
  heading,
  link,
  row,
  signInByForm,
  toast,
} from "../support/dashboard.ts";
import { eventually } from "../support/eventually.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();
const server = await dashboardServer();
const { world, publishable } = await newShop(server, "shop");
afterEach(() => world.hangUp());

const open = (expected?: RegExp): Promise<Dashboard> =>
  Dashboard.open(browser(), server.url, { token: server.adminToken, ...(expected && { expected }) });

const live = (page: Page) => page.getByRole("main").getByText("Live", { exact: true });
const events = (page: Page) => page.getByRole("grid", { name: /^Events/ }).getByRole("row");

test("a wrong token is refused with a sentence; the right one opens the only application, and the switcher all of them", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url, { expected: /401/ });
  const page = await dashboard.page();
  await page.getByLabel("Token").fill("admin_wrong");
  await button(page, "Sign in").click();
  await page.getByRole("alert").filter({ hasText: /\w+/ }).waitFor();
  for (const [pasted, name] of [
    [`pk_live_${"0".repeat(32)}`, "a publishable key"],
    [`sk_id_${"0".repeat(32)}:sk_secret_x`, "a secret key"],
  ] as const) {
    await page.getByLabel("Token").fill(pasted);
    await button(page, "Sign in").click();
    const alert = page.getByRole("alert").filter({ hasText: `This is ${name}` });
    await alert.filter({ hasText: "admin token" }).waitFor();
    expect(await alert.textContent()).not.toContain("000");
  }
  await signInByForm(page, server.adminToken);
  // The only application is what one has come for. All of them are a choice, which a reload does not take back.
  await page.waitForURL(/\/dashboard\/apps\/shop$/);
  await button(page, "Application: shop").click();
  await page.getByRole("option", { name: "All applications", exact: true }).click();
  await row(page, "Nodes", "ok").waitFor();
  await page.reload();
  await row(page, "Nodes", "ok").waitFor();
  await page.waitForURL(/\/dashboard$/);
  await chooseApp(page, "shop");
  await page.waitForURL(/\/dashboard\/apps\/shop$/);
  await page.getByRole("heading", { name: "Connect your first client" }).waitFor();
  await world.member("chat/1", { sub: "alice" });
  await page.getByRole("heading", { name: "Your first client is connected" }).waitFor();
  await row(page, "Busiest channels", "chat/1").waitFor();
  await page.getByText("24 h", { exact: true }).click();
  await page.waitForURL(/range=24h/);
  await page.reload();
  await eventually(() => page.getByRole("radio", { name: "24 h" }).isChecked(), true);
});

test("a channel is found, shows its members, and a test message reaches a client", async () => {
  const { wire } = await world.member("chat/42", { sub: "alice", peerMetadata: { name: "Alice", tier: "gold" } });
  await world.member("news", { sub: "bob" });
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop");
  await go(page, "Channels");
  await row(page, "Channels with subscribers", "news").waitFor();
  await page.getByRole("searchbox").fill("chat/");
  await row(page, "Channels with subscribers", "news").waitFor({ state: "detached" });
  await link(page, "chat/42").click();
  await heading(page, "chat/42").waitFor();
  await button(row(page, "Members", "alice"), /gold/).click();
  await dialog(page, "Metadata of alice").getByText('"tier": "gold"').waitFor();
  await button(dialog(page, "Metadata of alice"), "Close").click();
  await live(page).waitFor();
  await page.getByLabel("Data (JSON)").fill("{ broken");
  await page.getByText(/^This is not valid JSON/).waitFor();
  expect(await button(page, "Publish").isDisabled()).toBe(true);
  await page.getByLabel("Data (JSON)").fill('{"text":"from the dashboard"}');
  await page.getByLabel("From").fill("support");
  await button(page, "Publish").click();
  await toast(page, "Published to chat/42.").waitFor();
  const message = await wire.until("message");
  expect(message).toMatchObject({ channel: "chat/42", from: "support", data: { text: "from the dashboard" } });
  await page
    .getByRole("grid", { name: /^Messages/ })
    .getByRole("row")
    .filter({ hasText: "support" })
    .waitFor();
});

test("a peer is found, gets a direct message, is disconnected and then kept out", async () => {
  const { wire } = await world.member("chat/42", { sub: "mallory", peerMetadata: { name: "Mallory M." } });
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop");
  await go(page, "Peers");
  await page.getByRole("searchbox").fill("LORY m.");
  const listed = row(page, "Connected peers", "mallory");
  await listed.filter({ hasText: "Mallory M." }).filter({ hasText: "never" }).waitFor();
  wire.send({ type: "publish", channel: "chat/42", data: 1 });
  await listed.getByText("now", { exact: true }).nth(1).waitFor();
  await link(page, "Mallory M.").click();
  await heading(page, "Mallory M.").waitFor();
  await page.getByText(/^All peers · mallory · Last message (now|\d+ s ago)$/).waitFor();
  await row(page, "Connections", world.key.keyId).getByText("1 channel").click();
  await link(page, "chat/42").waitFor();
  await page.getByText("Subscribed to “chat/42”.").waitFor();

  await button(page, "Send a message").click();
  await button(dialog(page, "Send a message to Mallory M."), "Send").click();
  expect(await wire.until("direct")).toMatchObject({ from: "server", data: { text: "Hello from the dashboard" } });

  await button(page, "Disconnect").click();
  await button(dialog(page, "Disconnect Mallory M.?"), "Disconnect").click();
  expect((await wire.closed()).code).toBe(4020);
  await toast(page, "1 connection was closed.").waitFor();
  await page.getByText("This peer is not connected now.").waitFor();
  await page.getByText(/^All peers · mallory · Offline since \d\d:\d\d:\d\d \((just now|\d+ s ago)\)$/).waitFor();

  await button(page, "Block …").click();
  const block = dialog(page, "Block Mallory M.?");
  await button(block, "1 h").click();
  await block.getByText("This peer cannot connect for 1 h, on any node.").waitFor();
  await button(block, "15 min").click();
  await button(block, "Block").click();
  await toast(page, /^Mallory M\. is blocked for 15 min/).waitFor();
  const outcome = await attempt(server.url, { query: `token=${world.token({ sub: "mallory" })}` });
  if (outcome instanceof Wire) throw new Error("the blocked peer was let in");
  expect(outcome.body.error).toBe("unauthorized");
});

test("blocked peers are listed with who blocked them, and let in again from the list and from a peer's page", async () => {
  await server.admin.must("DELETE", `/apps/shop/peers/trudy?blockSec=3600`);
  await world.rest("DELETE", "/v1/peers/victor?blockSec=60");
  const outcome = async (peerId: string): Promise<string> => {
    const one = await attempt(server.url, { query: `token=${world.token({ sub: peerId })}` });
    if (!(one instanceof Wire)) return String(one.body.error);
    one.drop();
    return "welcomed";
  };
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/peers");
  await page.getByText("Blocked", { exact: true }).click();
  await page.waitForURL(/show=blocked/);
  const listed = (peerId: string) => row(page, "Blocked peers", peerId);
  await listed("trudy").filter({ hasText: "in 59 min" }).filter({ hasText: "admin" }).waitFor();
  await link(listed("victor"), world.key.keyId).waitFor();
  await page.getByRole("searchbox").fill("UDY");
  await listed("victor").waitFor({ state: "detached" });
  await page.getByRole("searchbox").fill("");
  await button(page, "Unblock trudy").click();
  await toast(page, "trudy can connect again.").waitFor();
  await listed("trudy").waitFor({ state: "detached" });
  expect([await outcome("trudy"), await outcome("victor")]).toEqual(["welcomed", "unauthorized"]);
  await link(page, "victor").click();
  await heading(page, "victor").waitFor();
  await page
    .getByText(/^This peer is blocked for another \d+ s: no one can connect as this peer\. Blocked by sk_id_\S+$/)
    .waitFor();
  await button(page, "Unblock victor").click();
  await page.getByText("This peer is blocked").waitFor({ state: "detached" });
  expect(await outcome("victor")).toBe("welcomed");
  const reader = await server.admin.must<{ token: string }>("POST", "/operators", { name: "bea", role: "read" });
  await server.admin.must("DELETE", `/apps/shop/peers/trudy?blockSec=3600`);
  await using other = await Dashboard.open(browser(), server.url, { token: reader.token });
  const readOnly = await other.page("/apps/shop/peers?show=blocked");
  await row(readOnly, "Blocked peers", "trudy").waitFor();
  expect(await button(readOnly, "Unblock trudy").count()).toBe(0);
});

test("the page of a peer that has gone is asked for without an error, and says when it comes back", async () => {
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/peers/walter");
  await page.getByText("This peer is not connected, and has not been in the last minute.").waitFor();
  await world.guest({ sub: "walter", peerMetadata: { username: "Walt" } });
  await heading(page, "Walt").waitFor();
  await row(page, "Connections", world.key.keyId).waitFor();
});

test("the dialog says that a block does not keep out a peer with a publishable key, and typing replaces its time", async () => {
  const guest = await welcomed(server.url, `key=${publishable.keyId}`, {
    headers: { Origin: "https://shop.example.com" },
  });
  const { peerId } = guest;
  await using dashboard = await open();
  const page = await dashboard.page(`/apps/shop/peers/${peerId}`);
  await button(page, "Block …").click();
  const block = dialog(page, `Block ${peerId}?`);
  await block.getByText("A block does not keep this person out.").waitFor();
  await link(block, "its key").waitFor();
  await page.keyboard.type("30");
  await block
    .getByText("No one can connect with this id for 30 min, but this person does not need it again.")
    .waitFor();
  guest.close();
});

test("the console shows connects, messages and refusals as they come; filters, search, pause and details work", async () => {
  await using dashboard = await open();
  await dashboard.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await dashboard.page("/apps/shop");
  await go(page, "Console");
  await live(page).waitFor();
  const alice = await world.member("chat/7", { sub: "alice" });
  await world.member("orders/1", { sub: "bob" });
  alice.wire.send({ type: "publish", channel: "chat/7", data: 1 });
  await events(page).filter({ hasText: "publish" }).filter({ hasText: "alice" }).waitFor();
  const refuse = (): Promise<unknown> =>
    attempt(server.url, { query: `key=${publishable.keyId}`, headers: { Origin: "https://elsewhere.example.com" } });
  await refuse();
  const refused = events(page).filter({ hasText: "origin_not_allowed" });
  await refused.waitFor();

  await page.getByLabel("Channel").fill("chat/*");
  await events(page).filter({ hasText: "bob" }).first().waitFor({ state: "detached" });
  await page.waitForURL(/channel=chat/);
  await eventually(() => events(page).filter({ hasText: "publish" }).count(), 1);
  const reopened = page.waitForResponse((response) => /\/tail\?(?!.*channel=)/.test(response.url()));
  await page.getByLabel("Channel").fill("");
  await reopened;
  await live(page).waitFor();
  const publishes = page.getByRole("checkbox", { name: "publish", exact: true });
  // The box is hidden: its label is what one clicks.
  await page.locator("label.kind", { hasText: "publish" }).click();
  await events(page).filter({ hasText: "publish" }).waitFor({ state: "detached" });
  alice.wire.send({ type: "publish", channel: "chat/7", data: "hidden" });
  await page.getByText(/· 2 hidden$/).waitFor();
  await page.waitForURL(/kind=/);
  await page.goBack();
  await eventually(() => publishes.isChecked(), true);
  await page.goForward();
  await eventually(() => publishes.isChecked(), false);
  await button(page, "Only problems").click();
  await page.waitForURL(/kind=refuse%2Cerror/);
  await refuse();
  await refused.waitFor();
  await eventually(() => events(page).count(), 1);
  await button(page, /^All/).click();
  await eventually(() => publishes.isChecked(), true);

  await button(page, "Clear").click();
  await page.getByText("Waiting for events").waitFor();
  await live(page).waitFor();
  await button(page, "Pause").click();
  alice.wire.send({ type: "publish", channel: "chat/7", data: 2 });
  await page.getByText("1 since").waitFor();
  await eventually(() => events(page).count(), 0);
  await button(page, "Resume").click();
  await events(page).filter({ hasText: "chat/7" }).click();
  const details = page.getByRole("region", { name: "Details of the event" });
  await details.getByText("Payloads of shop are hidden").waitFor();
  await button(details, /Copy JSON/).click();
  const copied = JSON.parse(await page.evaluate<string>("navigator.clipboard.readText()"));
  expect(copied).toMatchObject({ kind: "publish", channel: "chat/7", peerId: "alice", app: world.app._id });
  expect(copied).not.toHaveProperty("data");
  await button(details, /Only this peer/).click();
  await page.waitForURL(/peer=alice/);
  await page.getByRole("searchbox", { name: "Search these events" }).fill("no such text");
  await page.getByText("No matching events").waitFor();
});

test("the console has its events, the chosen one and its place again after Back, and says where some are missing", async () => {
  // Its session ends here: that of the other tests goes on.
  const { token } = await server.admin.must<{ token: string }>("POST", "/operators", { name: "Ann", role: "admin" });
  await using dashboard = await Dashboard.open(browser(), server.url, { token, expected: /401/ });
  const page = await dashboard.page("/apps/shop/console");
  await live(page).waitFor();
  const dora = await world.member("chat/9", { sub: "dora" });
  const origin = "https://unlisted.example.com";
  await attempt(server.url, { query: `key=${publishable.keyId}`, headers: { Origin: origin } });
  const refused = events(page).filter({ hasText: "unlisted.example.com" });
  await refused.click();
  const details = page.getByRole("region", { name: "Details of the event" });
  await link(details, "Why was it refused?").click();
  await heading(page, "Why not?").waitFor();
  dora.wire.send({ type: "publish", channel: "chat/9", data: "unseen" });
  await page.goBack();
  await details.getByText(origin).waitFor();
  await refused.waitFor();
  await page.getByText("Paused").waitFor();
  await button(page, "Resume").click();
  await events(page).filter({ hasText: "You left this page at this time." }).waitFor();
  await live(page).waitFor();
  dora.wire.send({ type: "publish", channel: "chat/9", data: "seen" });
  await events(page).filter({ hasText: "publish" }).filter({ hasText: "dora" }).waitFor();
  // By a link it is the same console, live and with nothing chosen.
  await button(page, "Pause").click();
  await go(page, "Channels");
  await go(page, "Console");
  await live(page).waitFor();
  await refused.waitFor();
  await details.waitFor({ state: "detached" });
  // The next operator may not be allowed to see them.
  await button(page, "Sign out").click();
  await signInByForm(page, token, "Console");
  await page.getByText("Waiting for events").waitFor();
});

test("payloads are shown once the application allows it", async () => {
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/keys");
  const allowed = page.getByRole("checkbox", { name: /^Show the content of messages/ });
  await allowed.click();
  await toast(page, "Payloads are shown.").waitFor();
  const { wire } = await world.member("chat/9", { sub: "alice" });
  await go(page, "Console");
  await live(page).waitFor();
  wire.send({ type: "publish", channel: "chat/9", data: { order: 4711 } });
  await events(page).filter({ hasText: '{"order":4711}' }).waitFor();
  await go(page, "Keys");
  await allowed.click();
  await until("it is off", async () => {
    const app = await server.admin.must<{ consolePayloads: boolean }>("GET", `/apps/${world.app._id}`);
    return !app.consolePayloads;
  });
});
