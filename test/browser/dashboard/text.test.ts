/** What others can write stays text: channel names, metadata, messages, peer ids, labels, participants, operators, addresses. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { browserForTests, button, Dashboard, dialog, row } from "../support/dashboard.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(90_000);

const IMAGE = '<img src=x onerror="globalThis.pwned=1">';
const SCRIPT = `"><script>globalThis.pwned=1</script>`;
const CHANNEL = `chat/${IMAGE}`;
const PEER = `eve ${SCRIPT}`;
const LABEL = `${IMAGE} key`;
const OPERATOR = `Op ${IMAGE}`;
const PARTICIPANT = `Part ${SCRIPT}`;

const browser = browserForTests();
const server = await dashboardServer();
const { world, backend } = await newShop(server, "shop");
const room = await backend.room("standup");
const recorded = await backend.record({ room, participantUsername: PARTICIPANT });
const key = await server.admin.createKey(world.app._id, { label: LABEL, channelPatterns: [CHANNEL] });
await server.admin.must("POST", "/operators", { name: OPERATOR, role: "admin" });
await server.admin.must("PATCH", `/apps/${world.app._id}`, {
  consolePayloads: true,
  plan: { name: `Plan ${IMAGE}` },
  channelRules: [{ pattern: CHANNEL, history: { messages: 10, seconds: 3600 } }],
});
const { wire } = await world.member(CHANNEL, { sub: PEER, peerMetadata: { name: IMAGE, [SCRIPT]: 1 } });
await wire.request({ type: "state", channel: CHANNEL, state: { mood: SCRIPT } });
await wire.request({ type: "publish", channel: CHANNEL, data: { kept: IMAGE }, id: SCRIPT.slice(0, 64) });

/** The texts are visible as they are, and nothing of them became an element or ran. */
async function isText(page: Page, ...texts: readonly string[]): Promise<void> {
  for (const text of texts)
    await page.locator("main, dialog").getByText(text).filter({ visible: true }).first().waitFor();
  expect(
    await page.evaluate<unknown>(`({
      pwned: globalThis.pwned,
      images: document.querySelectorAll("img, iframe, object, embed").length,
      scripts: [...document.scripts].filter((one) => !one.src.includes("/assets/")).length,
      handlers: document.querySelectorAll("[onerror], [onload], [onclick]").length,
    })`),
  ).toEqual({ images: 0, scripts: 0, handlers: 0 });
}

const encoded = encodeURIComponent;

test("on every page where it can appear", async () => {
  // The page of a room that does not exist asks for it.
  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken, expected: /40[04]/ });
  const page = await dashboard.page();
  const pages: readonly (readonly [path: string, ...texts: string[]])[] = [
    ["/apps/shop", CHANNEL],
    ["/apps/shop/channels", CHANNEL],
    [`/apps/shop/channels?search=${encoded(SCRIPT)}`, SCRIPT],
    [`/apps/shop/channels/${encoded(CHANNEL)}`, CHANNEL, PEER],
    [`/apps/shop/channels/${encoded(CHANNEL)}?view=history`, PEER, "kept", SCRIPT],
    [`/apps/shop/rules?channel=${encoded(CHANNEL)}`, CHANNEL, LABEL],
    ["/apps/shop/peers", PEER],
    [`/apps/shop/peers?search=${encoded(IMAGE)}`, IMAGE],
    [`/apps/shop/peers/${encoded(PEER)}`, PEER, `Subscribed to “${CHANNEL}”.`],
    ["/apps/shop/keys", LABEL, CHANNEL],
    [`/apps/shop/keys/${key.keyId}`, LABEL, CHANNEL],
    [`/apps/shop/rooms/${encoded(IMAGE)}`, IMAGE],
    [`/apps/shop/recordings?participantUsername=${encoded(PARTICIPANT)}`, PARTICIPANT],
    ["/apps/shop/usage", `Plan ${IMAGE}`],
    [`/audit?what=${encoded("operator created")}`, "operator created"],
    ["/operators", OPERATOR],
    [`/settings?search=${encoded(SCRIPT)}`, "No settings match the search."],
    [`/${encoded(IMAGE)}`, "Page not found"],
    [`/apps/${encoded(IMAGE)}/keys`, "Application not found", `“${IMAGE}”`],
  ];
  for (const [path, ...texts] of pages) {
    await page.goto(`${server.url}/dashboard${path}`);
    await isText(page, ...texts);
  }
});

test("in dialogs and details", async () => {
  // Its bytes are no video.
  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken, expected: /media/i });
  const page = await dashboard.page(`/apps/shop/channels/${encoded(CHANNEL)}`);
  await button(row(page, "Members", PEER), /img/).click();
  await isText(page, JSON.stringify(IMAGE), `Metadata of ${PEER}`);
  await page.keyboard.press("Escape");
  await button(row(page, "Members", PEER), /mood/).click();
  await isText(page, JSON.stringify(SCRIPT), `State of ${PEER}`);
  await page.goto(`${server.url}/dashboard/apps/shop/channels/${encoded(CHANNEL)}?view=history`);
  await button(row(page, "History", PEER), /kept/).click();
  await isText(page, JSON.stringify(IMAGE), `Message from ${PEER}`);

  await page.goto(`${server.url}/dashboard/apps/shop/peers/${encoded(PEER)}`);
  await button(page, "Disconnect").click();
  await isText(page, `Disconnect ${IMAGE}?`);
  await page.keyboard.press("Escape");
  await button(page, "Send a message").click();
  await isText(page, `Send a message to ${IMAGE}`);

  await page.goto(`${server.url}/dashboard/apps/shop/keys/${key.keyId}`);
  await button(page, "Revoke …").click();
  await isText(page, `Revoke ${LABEL}`);

  await page.goto(`${server.url}/dashboard/operators`);
  await button(page, `Revoke ${OPERATOR}`).click();
  await isText(page, `Revoke ${OPERATOR}?`);

  await page.goto(`${server.url}/dashboard/apps/shop/recordings/${recorded._id}`);
  await page.locator(".facts").getByText(PARTICIPANT).waitFor();
  await isText(page, PARTICIPANT);
  await button(page, "Delete …").click();
  await isText(page, `Delete the recording of ${PARTICIPANT}`);

  await page.goto(`${server.url}/dashboard/audit?what=${encoded("key created")}`);
  await page.getByRole("link", { name: "key created" }).first().click();
  await dialog(page, "key created").waitFor();
  await isText(page, LABEL);
});

test("in the console, with payloads, and in an explanation", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken });
  const page = await dashboard.page("/apps/shop/console");
  await page.getByRole("main").getByText("Live", { exact: true }).waitFor();
  wire.send({ type: "publish", channel: CHANNEL, data: { html: SCRIPT } });
  await page.getByRole("grid").getByRole("row").filter({ hasText: "publish" }).first().click();
  await isText(page, CHANNEL, PEER, JSON.stringify(SCRIPT));

  await page.goto(`${server.url}/dashboard/why-not?channel=${encoded(CHANNEL)}&origin=${encoded(SCRIPT)}`);
  await page.getByLabel("Publishable key or connect token").fill(IMAGE);
  await button(page, "Explain").click();
  await isText(page, "Refused by the check");
});

test("a name that looks like another address opens its own page", async () => {
  const odd = ["../../keys", "a/b?c#d", "100%", " "];
  for (const channel of odd) await world.member(channel, { sub: `one ${channel}` });
  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken });
  const page = await dashboard.page("/apps/shop/channels");
  for (const channel of odd) {
    await page.getByRole("main").getByRole("link", { name: channel, exact: true }).click();
    await page.getByRole("heading", { name: channel, level: 1, exact: true }).waitFor({ state: "attached" });
    await row(page, "Members", `one ${channel}`.trim()).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Channels", level: 1 }).waitFor();
  }
});
