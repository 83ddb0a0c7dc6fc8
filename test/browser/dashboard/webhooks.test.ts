/** Webhooks by clicking, with a real receiver: created, tested, failing, its log, sent again, switched off, deleted; and the URLs of rooms. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { Room } from "../../conformance/raw/support/rooms.ts";
import { until } from "../../support/wait.ts";
import { violations } from "../support/axe.ts";
import {
  browserForTests,
  button,
  Dashboard,
  dialog,
  go,
  heading,
  link,
  NARROW_DARK,
  row,
  toast,
} from "../support/dashboard.ts";
import { eventually } from "../support/eventually.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(60_000);

/** Takes what comes, or refuses it with the texts of a receiver that has a fault. */
class Receiver {
  status = 200;
  readonly taken: { readonly headers: Record<string, string>; readonly body: string }[] = [];
  private readonly server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      this.taken.push({ headers: Object.fromEntries(request.headers), body: await request.text() });
      return new Response(this.status === 200 ? "taken" : "the database is away", { status: this.status });
    },
  });

  get url(): string {
    return `http://127.0.0.1:${this.server.port}/hooks`;
  }

  stop(): void {
    void this.server.stop(true);
  }
}

const browser = browserForTests();
const receiver = new Receiver();
afterAll(() => receiver.stop());
const server = await dashboardServer({ env: { PARLEY_WEBHOOK_ALLOW: "127.0.0.0/8" } });
const shop = await newShop(server, "shop");
const root = `/apps/${shop.name}/webhooks`;
const open = (look: object = {}): Promise<Dashboard> =>
  Dashboard.open(browser(), server.url, { token: server.adminToken, ...look });

interface Listed {
  readonly _id: string;
  readonly events: string[];
  readonly channelPatterns: string[] | null;
  readonly headers: Record<string, string>;
  readonly health: { readonly state: string };
}
const listed = async (): Promise<Listed | undefined> =>
  (await server.admin.must<{ data: Listed[] }>("GET", root)).data[0];

test("a webhook is created, tested, followed as it fails and recovers, disabled and deleted", async () => {
  await using dashboard = await open({ expected: /404/ });
  const page = await dashboard.page(`/apps/${shop.name}`);
  await go(page, "Webhooks");
  await page.getByText("This application has no webhooks yet.").waitFor();
  await button(page, "Create the first webhook").click();
  const form = dialog(page, "Create a webhook");
  await form.getByLabel("URL").fill("localhost:1");
  await form.getByText("An address begins with https://").waitFor();
  await form.getByLabel("URL").fill(receiver.url);
  await form.getByLabel("Description").fill("Orders");
  const create = button(form, "Create webhook");
  expect(await create.isDisabled()).toBe(true);
  await form.getByRole("checkbox", { name: "Rooms" }).check();
  await form.getByLabel("A room is archived").uncheck();
  await form.getByRole("checkbox", { name: "Peers" }).check();
  // Events of channels need channels.
  expect(await create.isDisabled()).toBe(true);
  await form.getByLabel("Channels to watch").fill("chat/*");
  await button(form, "Add header").click();
  await form.getByLabel("Name of header 1").fill("X-Tenant");
  await form.getByLabel("Value of header 1").fill("acme");
  expect(await violations(page)).toEqual([]);
  await create.click();
  const made = dialog(page, "Webhook created");
  const secret = (await made.locator("pre").textContent()) ?? "";
  expect(secret).toMatch(/^whsec_/);
  await button(made, "I have copied it").click();
  await heading(page, "Orders").waitFor();
  await eventually(async () => (await page.content()).includes(secret), false);
  expect(await listed()).toMatchObject({
    events: ["peer.*", "room.created", "room.updated"],
    channelPatterns: ["chat/*"],
    headers: { "X-Tenant": "***" },
  });

  await button(page, "Send test").click();
  const tested = dialog(page, "Send test");
  await tested.getByText("It arrived.").waitFor();
  for (const text of ["200", "taken"]) await tested.getByText(text, { exact: true }).waitFor();
  await tested.getByText(/^\d+ ms$/).waitFor();
  const [got] = receiver.taken;
  expect(got?.headers["x-tenant"]).toBe("acme");
  expect(new Webhook(secret).verify(got?.body ?? "", got?.headers ?? {})).toMatchObject({ type: "webhook.test" });
  await button(tested, "Close").click();

  receiver.status = 500;
  await shop.backend.room("standup");
  await until("it fails", async () => (await listed())?.health.state === "failing");
  await page.reload();
  const failed = row(page, "Deliveries", "room.created").filter({ hasText: "500" });
  await failed.first().waitFor();
  await failed.first().getByText("the database is away").waitFor();
  await page.getByText(/^failing for/).waitFor();
  await page.getByText("status 500").first().waitFor();
  expect(await violations(page)).toEqual([]);
  receiver.status = 200;
  await button(failed.first(), /^Resend event 1/).click();
  await toast(page, "Event 1, room.created, is being resent.").waitFor();
  await until("it has succeeded", async () => (await listed())?.health.state === "ok");
  await page.reload();
  await row(page, "Deliveries", "room.created").filter({ hasText: "200" }).first().waitFor();
  await page.getByText("delivering", { exact: true }).waitFor();
  const ids = new Set(receiver.taken.slice(1).map(({ headers }) => headers["webhook-id"]));
  expect([...ids]).toEqual([expect.stringMatching(/^msg_[0-9a-f]{24}_1$/)]);

  await page.getByText("Failed", { exact: true }).last().click();
  await page.waitForURL(/status=failed/);
  await row(page, "Deliveries", "200").waitFor({ state: "detached" });
  await page.getByLabel("Event", { exact: true }).selectOption("peer.left");
  await page.getByText("No attempts match the filters.").waitFor();
  await page.getByLabel("Event", { exact: true }).selectOption("room.created");
  await link(failed.first(), "room.created").click();
  const details = dialog(page, /^room.created, attempt/);
  await details.getByText("the database is away").waitFor();
  await details.getByText(/^To see what was sent, allow payloads/).waitFor();
  await page.keyboard.press("Escape");
  await details.waitFor({ state: "detached" });

  await button(page, "Replay …").click();
  await button(dialog(page, "Replay events"), "Replay").click();
  await toast(page, "Since then, no event has failed or is waiting.").waitFor();

  await button(page, "Rotate …").click();
  await button(dialog(page, "Rotate the signing secret"), "Rotate").click();
  const next = page.locator(".snippet pre").filter({ hasText: "whsec_" });
  expect(await next.textContent()).not.toBe(secret);
  await page.getByText(/A previous secret signs, too: it ends in/).waitFor();

  await button(page, "Edit").click();
  const edit = dialog(page, "Edit Orders");
  await edit.getByRole("checkbox", { name: "Peers" }).uncheck();
  await button(edit, "Remove header X-Tenant").click();
  await button(edit, "Save").click();
  await toast(page, "Webhook saved.").waitFor();
  expect(await listed()).toMatchObject({
    events: ["room.created", "room.updated"],
    channelPatterns: null,
    headers: {},
  });

  await button(page, "Disable …").click();
  await button(dialog(page, "Disable Orders"), "Disable the webhook").click();
  await page
    .getByText(/^disabled/)
    .first()
    .waitFor();
  await link(page, "All webhooks of shop").click();
  await row(page, "Webhooks", "Orders").getByText("switched off").filter({ visible: true }).waitFor();
  await link(page, "Orders").press("Enter");
  await button(page, "Enable").press("Enter");
  await toast(page, "The webhook is enabled.").waitFor();
  await button(page, "Delete …").press("Enter");
  await button(dialog(page, "Delete Orders"), "Delete the webhook").press("Enter");
  await page.getByText("This application has no webhooks yet.").waitFor();
  expect(await listed()).toBeUndefined();
});

test("an operator who only reads sees the log without answers, nothing that was sent, and no button that acts", async () => {
  receiver.status = 500;
  await server.admin.must("PATCH", `/apps/${shop.world.app._id}`, { consolePayloads: true });
  const { _id, secret } = await server.admin.must<Listed & { secret: string }>("POST", root, {
    url: `${receiver.url}?key=of-the-receiver`,
    events: ["room.*"],
    description: "x".repeat(120),
  });
  await shop.backend.room("retro");
  const reader = await server.admin.must<{ token: string }>("POST", "/operators", { name: "reader", role: "read" });
  await using dashboard = await open({ ...NARROW_DARK, token: reader.token });
  const page = await dashboard.page(`${root}/${_id}`);
  const one = row(page, "Deliveries", "room.created");
  await one.first().waitFor();
  const acts = /^(Send test|Edit|Disable|Enable|Delete|Rotate|Replay|Resend|Create)/;
  expect(await button(page.getByRole("main"), acts).count()).toBe(0);
  await link(one.first(), "room.created").click();
  await page.getByText("Only operators with the role admin can see what was sent, and the response.").waitFor();
  const html = await page.content();
  for (const hidden of ["of-the-receiver", "the database is away", "retro", secret]) expect(html).not.toContain(hidden);
  expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  expect(await violations(page)).toEqual([]);
  await server.admin.must("DELETE", `${root}/${_id}`);
});

test("the URL of a room is a webhook once it is called, and the room's page shows its secret on request", async () => {
  const record = await shop.backend.room("planning");
  await server.admin.must("PUT", `/apps/${shop.name}/rooms/planning`, { meetingStartedWebhook: receiver.url });
  await new Room(shop.backend.app, "planning", record).inside({ name: "Ann" });
  await until("the URL is called", async () => (await listed()) !== undefined);
  await using dashboard = await open();
  const page = await dashboard.page(root);
  await row(page, "Webhooks", receiver.url).getByText("URL of rooms").waitFor();
  await link(page, new URL(receiver.url).host).click();
  // What is open to operators is not open to applications.
  await row(page, "Deliveries", "meeting.started").filter({ hasText: "no response" }).first().waitFor();
  await page
    .getByText(/is not public/)
    .first()
    .waitFor();
  expect(await button(page, /^(Edit|Delete|Rotate)/).count()).toBe(0);
  await page.goto(`${server.url}/dashboard/apps/${shop.name}/rooms/planning`);
  await button(page, "Reveal").click();
  await page.locator("pre").filter({ hasText: "whsec_" }).waitFor();
  expect(await violations(page)).toEqual([]);
  await button(page, "Hide").click();
  await eventually(async () => (await page.content()).includes("whsec_"), false);
});
