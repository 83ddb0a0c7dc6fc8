/** The pages about the service by clicking, an operator who may only read, and the end of a session. */
import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { signIn } from "../../support/dashboard.ts";
import { isInSample } from "../../support/sample.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";
import { until } from "../../support/wait.ts";
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
const kept = tempFolder();
afterAll(() => removeFolder(kept));
const server = await dashboardServer({ env: { PARLEY_BACKUP_TO: kept } });
const { world, name, backend } = await newShop(server, "shop");
afterEach(() => world.hangUp());

const newOperator = (role: "read" | "admin") =>
  server.admin.must<{ _id: string; token: string }>("POST", "/operators", { name: crypto.randomUUID(), role });

const signedIn = (token = server.adminToken): Promise<Dashboard> => Dashboard.open(browser(), server.url, { token });

test("nodes, settings and the audit of a change", async () => {
  await world.guest();
  await using dashboard = await signedIn();
  const page = await dashboard.page();
  await go(page, "Nodes");
  await page.getByRole("heading", { name: "1 node, 1 connection" }).waitFor();

  await go(page, "Settings");
  await page.getByRole("searchbox").fill("PARLEY_ADMIN_TOKEN");
  await row(page, "Settings", "PARLEY_ADMIN_TOKEN").getByText("set, hidden").waitFor();
  await eventually(async () => (await page.content()).includes(server.adminToken), false);
  await page.getByRole("searchbox").fill("PARLEY_DEMO");
  await row(page, "Settings", "PARLEY_DEMO").getByText("environment").waitFor();
  await page.getByText(/^Changed \d/).click();
  await page.waitForURL(/show=changed/);

  await server.admin.must("PATCH", `/apps/${world.app._id}`, { consolePayloads: true });
  await go(page, "Audit log");
  await page.getByLabel("What").fill("app edited");
  await page.getByLabel("What").press("Enter");
  await page.waitForURL(/what=app/);
  await link(page, "app edited").first().click();
  const details = dialog(page, "app edited");
  await details.getByRole("row").filter({ hasText: "consolePayloads" }).getByText("true").waitFor();
  await page.keyboard.press("Escape");
  await details.waitFor({ state: "detached" });
  // The entry, the filter, the page.
  for (let steps = 0; steps < 3; steps++) await page.goBack();
  await heading(page, "Settings").waitFor();
});

test("what is kept, of the service and of an application, with the way to change it", async () => {
  await server.admin.must("PATCH", `/apps/${world.app._id}`, { meetingRetentionDays: 12 });
  const reader = await newOperator("read");
  await using dashboard = await signedIn(reader.token);
  const page = await dashboard.page("/data");
  await page.getByText("parley.sqlite").waitFor();
  await row(page, "What is kept", "When meetings took place").getByText("in each application").waitFor();
  await row(page, "What is kept", "Rooms with their fields").getByRole("link", { name: "Settings" }).waitFor();
  // The switcher stays on the page.
  await chooseApp(page, name);
  await page.waitForURL(`**/apps/${name}/data`);
  const meetings = row(page, "What is kept", "When meetings took place");
  await meetings.getByText("12 days after their end").waitFor();
  await page.getByText(`parley apps plan ${name} --meeting-retention-days N`).waitFor();
  await meetings.getByRole("cell").last().getByRole("link", { name: "Meetings" }).focus();
  await page.keyboard.press("Enter");
  await heading(page, "Meetings").waitFor();
});

test("an operator is created with a token that is shown once, signs in, and is revoked", async () => {
  await using dashboard = await signedIn();
  const page = await dashboard.page();
  await go(page, "Operators");
  await button(page, "New operator").click();
  const form = dialog(page, "New operator");
  await form.getByLabel("Name").fill("Carol");
  await form.getByLabel("Role").selectOption("admin");
  await button(form, "Create").click();
  const token = (await dialog(page, "The token of Carol").locator("pre").textContent()) ?? "";
  await button(dialog(page, "The token of Carol"), "I have copied it").click();
  await eventually(async () => (await page.content()).includes(token), false);
  expect((await signIn(server.url, token)).body).toMatchObject({ name: "Carol", role: "admin" });
  await button(page, "Revoke Carol").click();
  await button(dialog(page, "Revoke Carol?"), "Revoke").click();
  await toast(page, "Carol has been revoked.").waitFor();
  await row(page, "Operators", "Carol").waitFor({ state: "detached" });
  expect((await signIn(server.url, token)).status).toBe(401);
});

test("a backup is made, downloaded and deleted, without a mouse", async () => {
  await using dashboard = await signedIn();
  const page = await dashboard.page();
  await go(page, "Backups");
  await page.getByText("There are no backups yet.").waitFor();
  await page.getByText("none: PARLEY_BACKUP_EVERY is not set").waitFor();
  await button(page, "Back up now").press("Enter");
  await toast(page, "The backup has started.").waitFor();
  await row(page, "Backups", "parley-").waitFor();
  const [name = ""] = readdirSync(kept);
  const [download] = await Promise.all([page.waitForEvent("download"), link(page, `Download ${name}`).press("Enter")]);
  expect(download.suggestedFilename()).toBe(name);
  expect(readFileSync(await download.path()).equals(readFileSync(join(kept, name)))).toBe(true);
  await button(page, `Delete ${name}`).press("Enter");
  await button(dialog(page, `Delete ${name}?`), "Delete the backup").press("Enter");
  await toast(page, `${name} has been deleted.`).waitFor();
  await page.getByText("The last backup is not in the list").waitFor();
  expect(readdirSync(kept)).toEqual([]);
});

describe("an operator who may only read", () => {
  /** Buttons that a reader may press: nothing is changed by them. */
  const HARMLESS =
    /^(Copy|Menu|Sign out|Refresh|Pause|Resume|Clear|Explain|Show|Hide|Newest|Close|None|All|Only problems|Download CSV|Reset filters)|\.webm$/;

  test("sees every page, without a button that changes something, a secret or a payload", async () => {
    const room = await backend.room("reading");
    await backend.record({ room });
    await server.admin.must("PATCH", `/apps/${world.app._id}`, { consolePayloads: true });
    const { wire } = await world.member("chat/1", { sub: "alice" });
    const { token } = await newOperator("read");
    await using dashboard = await signedIn(token);
    const page = await dashboard.page();
    await page.getByText("(read only)").waitFor();
    const paths: readonly (readonly [path: string, ready: string])[] = [
      ["", "Busiest channels"],
      ["/channels", "chat/1"],
      ["/channels/chat%2F1", "Members"],
      ["/peers", "alice"],
      ["/peers/alice", "Last events"],
      ["/console", "Live"],
      ["/keys", "Only operators with the role admin can see it."],
      [`/keys/${world.key.keyId}`, "Signing secret"],
      ["/rooms", "reading"],
      ["/rooms/reading", "All settings"],
      ["/rooms/reading/edit", "Tell your backend"],
      ["/meetings", "No meetings yet."],
      ["/recordings", "Recordings are kept"],
      ["/webhooks", "This application has no webhooks yet."],
      ["/usage", "This and past periods"],
      ["/why-not", "Common mistakes"],
    ];
    const operated: readonly (readonly [path: string, ready: string])[] = [
      ["/nodes", "1 node"],
      ["/backups", "Only operators with the role admin can see"],
      ["/audit", "app created"],
      ["/operators", "Roles"],
      ["/settings", "PARLEY_ADMIN_TOKEN"],
      ["/new-application", "ask an operator with the role admin"],
    ];
    const all = [...paths.map(([to, text]) => [`/apps/${name}${to}`, text] as const), ...operated];
    for (const [path, ready] of all.filter((_, at) => isInSample(at, 3))) {
      await page.goto(`${server.url}/dashboard${path}`);
      await page.getByRole("main").getByText(ready).first().waitFor();
      const enabled = await page.locator("main button:enabled:not(.sort, .term-button)").allInnerTexts();
      expect({ path, changes: enabled.filter((text) => !HARMLESS.test(text.trim())) }).toEqual({ path, changes: [] });
      const html = await page.content();
      for (const secret of [world.key.secret, backend.app.secretKey, server.adminToken])
        expect(html).not.toContain(secret);
    }
    await page.goto(`${server.url}/dashboard/apps/${name}/console`);
    await page.getByRole("main").getByText("Live", { exact: true }).waitFor();
    wire.send({ type: "publish", channel: "chat/1", data: { private: "nothing for readers" } });
    await page.getByRole("grid").getByRole("row").filter({ hasText: "publish" }).click();
    await page.getByText("Payloads are shown to admins only.").waitFor();
    await eventually(async () => (await page.content()).includes("nothing for readers"), false);
  });
});

describe("the end of a session", () => {
  test("by signing out in one tab shows the sign-in form in the other, and ends its tail", async () => {
    await using dashboard = await Dashboard.open(browser(), server.url, { expected: /401|Failed to load/ });
    const tab = await dashboard.page();
    await signInByForm(tab, server.adminToken);
    const watching = await dashboard.page("/console");
    await watching.getByRole("main").getByText("Live", { exact: true }).waitFor();
    await button(tab, "Sign out").click();
    await tab.getByLabel("Token").waitFor();
    await watching.getByText("Your session has ended. Sign in again.").waitFor();
    await world.guest({ sub: "after" });
    await eventually(() => watching.getByText("after", { exact: true }).count(), 0);
    expect((await dashboard.context.cookies()).map(({ value }) => value)).toEqual([]);
    await signInByForm(watching, server.adminToken, "Console");
  });

  test("by revoking the operator shows the sign-in form on a page that only refreshes", async () => {
    const { _id, token } = await newOperator("admin");
    await using dashboard = await Dashboard.open(browser(), server.url, { token, expected: /401|Failed to load/ });
    const page = await dashboard.page("/nodes");
    await page.getByRole("heading", { name: /^1 node/ }).waitFor();
    await server.admin.must("DELETE", `/operators/${_id}`);
    await page.getByText("Your session has ended. Sign in again.").waitFor();
    await until("nothing more is called", async () => (await page.getByLabel("Token").count()) === 1);
  });
});
