/** The pages of an application by clicking: keys, rooms, usage. Each action is checked in the API. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { type Key, mint } from "../../support/admin.ts";
import { call } from "../../support/http.ts";
import { selfSigned } from "../../support/jwt.ts";
import { refusal } from "../../support/wire/connect.ts";
import { browserForTests, button, Dashboard, dialog, go, heading, link, row, toast } from "../support/dashboard.ts";
import { eventually } from "../support/eventually.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();
const server = await dashboardServer();
const { world, backend } = await newShop(server, "shop");
afterEach(() => world.hangUp());

const open = (expected?: RegExp): Promise<Dashboard> =>
  Dashboard.open(browser(), server.url, { token: server.adminToken, ...(expected && { expected }) });

/** What a block of text to copy has in it. */
const snippetIn = async (page: Page, title: string): Promise<string> =>
  (await dialog(page, title).locator("pre").textContent()) ?? "";

test("an application is created, its secret key works, and it can be deleted", async () => {
  await using dashboard = await open();
  const page = await dashboard.page();
  await page.getByRole("button", { name: "Application: shop" }).click();
  await button(page, "New application").click();
  await heading(page, "New application").waitFor();
  await page.getByLabel("Name").fill("Not Allowed");
  await page.getByText("Only lower-case letters, digits and hyphens.").waitFor();
  await page.getByLabel("Name").fill("cinema");
  await button(page, "Create application").click();
  await heading(page, "cinema is created").waitFor();
  const secret = (await page.locator("pre").first().textContent()) ?? "";
  const rooms = () => call(`${server.url}/api/v1/rooms`, { bearer: secret, headers: { "X-Parley-App": "cinema" } });
  expect((await rooms()).status).toBe(200);

  await link(page, "Create a key").click();
  await dialog(page, "Create a key").waitFor();
  await page.keyboard.press("Escape");
  await button(page, "Reveal").click();
  await page.getByText(secret, { exact: true }).waitFor();
  await button(page, "Hide").click();
  await page.getByText(secret, { exact: true }).waitFor({ state: "detached" });

  await button(page, "Delete cinema …").click();
  const asked = dialog(page, "Delete the application cinema");
  expect(await button(asked, "Delete the application").isDisabled()).toBe(true);
  await asked.getByRole("textbox").fill("cinema");
  await button(asked, "Delete the application").click();
  await toast(page, "cinema is deleted.").waitFor();
  await heading(page, "Overview").waitFor();
  expect((await rooms()).status).not.toBe(200);
});

test("a secret key is created, shown once, edited, rotated and revoked", async () => {
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop");
  await go(page, "Keys");
  await button(page, "Create key").click();
  const form = dialog(page, "Create a key");
  await form.getByText("Secret", { exact: true }).click();
  await form.getByLabel("Label").fill("Ticket office");
  await form.getByLabel("Channel patterns, one per line").fill("tickets/*");
  await form.getByLabel("Does this cover the channel").fill("tickets/1/2");
  await form.getByText(/✗ No\./).waitFor();
  await form.getByLabel("Does this cover the channel").fill("tickets/1");
  await form.getByText(/✓ Yes\./).waitFor();
  await form.getByRole("checkbox", { name: "publish" }).check();
  await button(form, "Create key").click();
  const credential = await snippetIn(page, "Key created");
  const [keyId = "", secret = ""] = credential.split(":");
  expect((await mint(server.url, credential, { peerId: "ann" })).status).toBe(200);
  expect(await server.admin.key(keyId)).toMatchObject({
    label: "Ticket office",
    channelPatterns: ["tickets/*"],
    actions: ["publish", "subscribe"],
  });
  await button(dialog(page, "Key created"), "I have copied it").click();
  await row(page, "Keys", "Ticket office").waitFor();
  await eventually(async () => (await page.content()).includes(secret), false);

  await page.getByRole("searchbox", { name: "Which keys cover the channel" }).fill("tickets/9");
  await page.getByText("2 keys cover this channel.").waitFor();
  await link(page, "Ticket office").click();
  await heading(page, "Ticket office").waitFor();
  await button(page, "Edit").click();
  const edited = page.getByRole("dialog");
  await edited.getByLabel("Label").fill("Box office");
  await edited.getByRole("checkbox", { name: "presence" }).check();
  await button(edited, /^Save/).click();
  await heading(page, "Box office").waitFor();
  expect(await server.admin.key(keyId)).toMatchObject({
    label: "Box office",
    actions: ["publish", "subscribe", "presence"],
  });

  await button(page, "Rotate …").click();
  const rotation = dialog(page, "Rotate the signing secret");
  await rotation.getByLabel("The current secret still works for").selectOption("1 hour");
  await button(rotation, "Rotate").click();
  const rotated =
    (await page.locator("section").filter({ hasText: "It was shown once" }).locator("pre").textContent()) ?? "";
  expect(rotated).not.toBe(credential);
  expect((await mint(server.url, rotated, { peerId: "ann" })).status).toBe(200);
  await page.getByText(/ends in (1 h|59 min)/).waitFor();

  const { wire } = await world.welcomed({
    query: `token=${selfSigned(keyId, rotated.split(":")[1] ?? "", { sub: "ann", channels: [] })}`,
  });
  await page.getByRole("definition").filter({ hasText: /^1$/ }).waitFor();
  await button(page, "Revoke …").click();
  const revocation = dialog(page, "Revoke Box office");
  await revocation.getByText("1 live connection closes at once").waitFor();
  await button(revocation, "Revoke the key").click();
  await page.getByText("revoked", { exact: true }).waitFor();
  expect((await wire.closed()).code).toBe(4001);
  expect((await mint(server.url, rotated)).status).toBe(401);
});

test("what closes more than 100 connections asks for the name; up to 100, a click is enough", async () => {
  const key = await server.admin.createKey(world.app._id, { label: " Crowd", channelPatterns: ["**"] });
  const join = () => world.guest({ sub: "crowd" }, {}, key);
  const guests = await Promise.all(Array.from({ length: 100 }, join));
  await using dashboard = await open();
  const page = await dashboard.page(`/apps/shop/keys/${key.keyId}`);
  const opened = async (name: string, title: string): Promise<Locator> => {
    await button(page, name).click();
    return dialog(page, title);
  };
  /** The button does nothing until `typed` has been typed; the dialog is closed again. */
  const asks = async (
    name: string,
    title: string,
    submit: string,
    typed: string,
    fill?: (form: Locator) => Promise<void>,
  ) => {
    const form = await opened(name, title);
    await fill?.(form);
    const field = form.getByLabel(/^Type .* to confirm$/);
    const states: boolean[] = [await button(form, submit).isEnabled()];
    for (const text of [typed.slice(0, -1), typed]) {
      await field.fill(text);
      states.push(await button(form, submit).isEnabled());
    }
    expect([title, states]).toEqual([title, [false, false, true]]);
    await button(form, "Cancel").click();
  };
  await page.getByRole("definition").filter({ hasText: /^100$/ }).waitFor();
  const few = await opened("Revoke …", "Revoke Crowd");
  await few.getByText("100 live connections close").waitFor();
  expect([await few.getByRole("textbox").count(), await button(few, "Revoke the key").isEnabled()]).toEqual([0, true]);
  await button(few, "Cancel").click();

  guests.push(await join());
  await page.getByRole("definition").filter({ hasText: /^101$/ }).waitFor();
  await asks("Edit", "Edit Crowd", "Save and narrow the key", "Crowd", (form) =>
    form.getByRole("checkbox", { name: "publish" }).uncheck(),
  );
  await asks("Rotate …", "Rotate the signing secret", "Rotate", "Crowd", async (form) => {
    expect(await button(form, "Rotate").isEnabled()).toBe(true);
    await form.getByLabel("The current secret still works for").selectOption("not at all: it ends now");
  });
  await page.goto(`${server.url}/dashboard/apps/shop/peers/crowd`);
  await asks("Disconnect", "Disconnect crowd?", "Disconnect", "crowd");
  await asks("Block …", "Block crowd?", "Block", "crowd");
  await page.goto(`${server.url}/dashboard/apps/shop/keys/${key.keyId}`);
  await asks("Revoke …", "Revoke Crowd", "Revoke the key", "Crowd");
  const many = await opened("Revoke …", "Revoke Crowd");
  await many.getByLabel(/^Type .* to confirm$/).fill("Crowd");
  await button(many, "Revoke the key").click();
  await toast(page, "Key revoked.").waitFor();
  for (const { wire } of guests) expect((await wire.closed()).code).toBe(4001);
});

test("a publishable key is created with an origin, and lets exactly that origin in", async () => {
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/keys?create=1");
  const form = dialog(page, "Create a key");
  await form.getByLabel("Label").fill("Blog");
  await form.getByLabel("Channel patterns, one per line").fill("blog/**");
  await form.getByLabel("Allowed origins, one per line").fill("https://blog.example.com");
  await button(form, "Create key").click();
  await button(dialog(page, "Key created"), "Done").click();
  await row(page, "Keys", "Blog").waitFor();
  const made = (await server.admin.keys(world.app._id)).find(({ label }) => label === "Blog") as Key;
  await world.visitor(made.keyId, { headers: { Origin: "https://blog.example.com" } });
  const refused = await refusal(server.url, {
    query: `key=${made.keyId}`,
    headers: { Origin: "https://shop.example.com" },
  });
  expect(refused.body.error).toBe("origin_not_allowed");
  await page.getByText("Python", { exact: true }).click();
  await page.waitForURL(/language=python/);
});

test("the secret key of the application is rotated, and the old one ends at once if it has leaked", async () => {
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/keys");
  await page
    .locator("section")
    .filter({ hasText: "Secret key of the application" })
    .getByRole("button", { name: "Rotate …" })
    .click();
  const rotation = dialog(page, "Rotate the secret key of the application");
  await rotation.getByRole("checkbox").check();
  await button(rotation, "Rotate and end earlier secrets now").click();
  await toast(page, "Secret key rotated.").waitFor();
  const secret = (await page.locator("code.secret").textContent()) ?? "";
  const status = async (bearer: string): Promise<number> =>
    (await call(`${server.url}/api/v1/rooms`, { bearer, headers: { "X-Parley-App": "shop" } })).status;
  expect([await status(secret), await status(backend.app.secretKey)]).toEqual([200, 400]);
  Object.assign(backend.app, { secretKey: secret });
});

test("a room is created, changed, renamed and deleted", async () => {
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop");
  const room = (name: string) =>
    server.admin.call<Record<string, unknown>>("GET", `/apps/${world.app._id}/rooms/${name}`);
  await go(page, "Rooms");
  await page.getByText("This application has no rooms yet.").waitFor();
  await link(page, "New room").click();
  await heading(page, "New room").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("stand up");
  const [apiNames, shown] = [page.getByLabel("Show API names"), page.locator(".api-name")];
  expect(await shown.count()).toBe(0);
  await apiNames.check();
  await page.getByText("maxParticipants", { exact: true }).waitFor();
  await page.getByLabel("People at a time").fill("4");
  await button(page, "Create room").click();
  await heading(page, "stand-up").waitFor();
  expect((await room("stand-up")).body).toMatchObject({ maxParticipants: 4, privacy: "public" });
  await link(page, "Edit").click();
  // Also after a reload, and until it is turned off again.
  await page.reload();
  await page.getByText("roomName", { exact: true }).waitFor();
  await apiNames.uncheck();
  expect(await shown.count()).toBe(0);
  await page.getByRole("radio", { name: "People ask to join" }).check();
  await page.getByLabel("People at a time").fill("");
  await button(page, "Save 2 changes").click();
  await toast(page, "Room saved.").waitFor();
  const { body } = await room("stand-up");
  expect([body.privacy, body.maxParticipants ?? null]).toEqual(["private", null]);
  await heading(page, "stand-up").waitFor();
  await page.getByText("People ask to join, and a host lets them in.").first().waitFor();
  await link(page, "Edit").click();
  await page.getByLabel("Name", { exact: true }).fill("retro");
  await button(page, "Save 1 change").click();
  await heading(page, "retro").waitFor();
  expect((await room("stand-up")).status).toBe(404);
  await link(page, "All rooms").click();
  await page.getByRole("searchbox").fill("ret");
  await link(page, "retro").click();
  await heading(page, "retro").waitFor();
  await button(page, "Delete …").click();
  await button(dialog(page, "Delete the room retro"), "Delete the room").click();
  await toast(page, "retro is deleted.").waitFor();
  await heading(page, "Rooms").waitFor();
  expect((await room("retro")).status).toBe(404);
});

test("usage shows what was counted, and a cap that is set there refuses connections", async () => {
  const { wire } = await world.member("chat/1");
  wire.send({ type: "publish", channel: "chat/1", data: 1 });
  await wire.sync();
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop");
  await go(page, "Usage");
  await page.getByText(/^open now/).waitFor();
  await page.locator(".meter").filter({ hasText: "open now" }).getByText("1", { exact: true }).waitFor();
  await button(page, "Edit plan and caps").click();
  const form = dialog(page, "Plan and caps of shop");
  await form.getByLabel("Maximum concurrent connections").fill("1");
  await button(form, "Save").click();
  await toast(page, "Plan saved.").waitFor();
  await page.getByText("Further connections are closed with code 4010 until others end.").waitFor();
  const second = await world.guest({ sub: "second" }).then(
    () => "let in",
    () => "refused",
  );
  expect(second).toBe("refused");
  await server.admin.must("PATCH", `/apps/${world.app._id}`, { plan: { maxConcurrentConnections: null } });
});
