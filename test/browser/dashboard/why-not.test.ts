/** Why a client was refused: from where its refusal is shown to the explanation. */
import { afterEach, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { attempt, welcomed } from "../../support/wire/connect.ts";
import { browserForTests, button, Dashboard, go, heading, link, row, toast } from "../support/dashboard.ts";
import { eventually } from "../support/eventually.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();
const server = await dashboardServer();
const { world, publishable } = await newShop(server, "shop");
afterEach(() => world.hangUp());

const open = (): Promise<Dashboard> => Dashboard.open(browser(), server.url, { token: server.adminToken });

const live = (page: Page) => page.getByRole("main").getByText("Live", { exact: true });
const events = (page: Page) => page.getByRole("grid", { name: /^Events/ }).getByRole("row");

test("a refusal in the console leads to its explanation", async () => {
  await using dashboard = await open();
  const page = await dashboard.page("/console?kind=refuse");
  await live(page).waitFor();
  await attempt(server.url, {
    query: `key=${publishable.keyId}`,
    headers: { Origin: "https://elsewhere.example.com" },
  });
  await link(events(page).filter({ hasText: "origin_not_allowed" }), "Why?").click();
  await heading(page, "Why not?").waitFor();
  await eventually(() => page.getByLabel("Publishable key or connect token").inputValue(), publishable.keyId);
  await eventually(() => page.getByLabel("Origin of the web page").inputValue(), "https://elsewhere.example.com");
  await page.getByText(/^Refused by the check/).waitFor();
  await page.getByText("Allowed origins: https://shop.example.com.").waitFor();
  await link(page, "Open the key").waitFor();
  await page.getByLabel("Origin of the web page").fill("https://shop.example.com");
  await button(page, "Explain").click();
  await page.getByText("Allowed: every check passes.").waitFor();
  await page.getByLabel("Channel").fill("secret/1");
  await page.getByLabel("Action").selectOption("publish");
  await button(page, "Explain").click();
  await page.getByText(/^Refused by the check/).waitFor();
});

test("the explanation of a token that has expired needs no token", async () => {
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/console");
  await live(page).waitFor();
  const expired = Math.floor(Date.now() / 1000) - 60;
  await attempt(server.url, { query: `token=${world.token({ sub: "late", iat: expired - 60, exp: expired })}` });
  await link(events(page).filter({ hasText: "token_expired" }), "Why?").click();
  await heading(page, "Why not?").waitFor();
  await page.getByText("Refused with token_expired").waitFor();
  await page.getByText("check the clock of your backend").first().waitFor();
});

test("a client with a revoked key is listed on the page of its application, and explained one result at a time", async () => {
  const old = await server.admin.createPublishable("shop", { label: "Old app", allowedOrigins: ["*"] });
  await server.admin.must("DELETE", `/signalling/keys/${old.keyId}`);
  await attempt(server.url, { query: `key=${old.keyId}` });
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/refusals?code=key_revoked");
  const listed = row(page, "Refusals", "key_revoked");
  await link(listed, "Old app").waitFor();
  await link(listed, "Why?").click();
  await page.getByText("Refused by the check “key”.").waitFor();
  await page.getByText(/^“Old app” was revoked /).waitFor();
  await page.getByText("Refused with key_revoked").waitFor({ state: "detached" });
  await page.getByLabel("Publishable key or connect token").fill(`pk_live_${"0".repeat(32)}`);
  await button(page, "Explain").click();
  await page.getByText("It is mistyped or incomplete, or belongs to another server").waitFor();
  await page.getByLabel("Publishable key or connect token").fill(old.keyId);
  await button(page, "Explain").click();
  await link(page, "Create another key").click();
  await page.getByRole("dialog", { name: "Create a key" }).waitFor();
});

test("the explanation of a refused channel comes at once, with what the key covers", async () => {
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/console");
  await live(page).waitFor();
  const wire = await welcomed(server.url, `key=${publishable.keyId}`);
  wire.send({ type: "subscribe", channel: "secret/7", requestId: "1" });
  await link(events(page).filter({ hasText: "channel_not_authorized" }), "Why?").click();
  await heading(page, "Why not?").waitFor();
  await page.getByText("Refused by the check “channel”.").waitFor();
  await page.getByText(`Channels: ${publishable.channelPatterns.join(" ")}.`).waitFor();
});

test("the explanation of a blocked peer says so, and leads to its page", async () => {
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/console");
  await live(page).waitFor();
  await server.admin.must("DELETE", `/apps/shop/peers/mallory?blockSec=600`);
  await attempt(server.url, { query: `token=${world.token({ sub: "mallory" })}` });
  await link(events(page).filter({ hasText: "The peer is blocked." }), "Why?").click();
  await page.getByText("Refused with unauthorized: The peer is blocked.").waitFor();
  await page.getByText(/The block ends in \d+ min/).waitFor();
  await link(page, "Open the peer").click();
  await page.getByRole("button", { name: /^Unblock/ }).click();
  await toast(page, "mallory can connect again.").waitFor();
  await go(page, "Refusals");
  await row(page, "Refusals", "mallory").getByRole("link", { name: "Why?" }).click();
  await page.getByText("It is not blocked any more.").waitFor();
});
