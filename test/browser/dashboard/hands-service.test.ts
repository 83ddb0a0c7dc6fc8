/** As hands.test.ts: finding one's way, the pages of the service, webhooks, recordings and the playback of a meeting. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../../support/wait.ts";
import { browserForTests, button, dialog, heading, link, row, toast } from "../support/dashboard.ts";
import { eventually } from "../support/eventually.ts";
import { HANDS } from "../support/hands.ts";
import { withHand } from "../support/hands-on-dashboard.ts";
import { fill } from "../support/pages.ts";
import { dashboardServer, newShop, recordedVideo } from "../support/seeds.ts";

setDefaultTimeout(120_000);

const browser = browserForTests();
const server = await dashboardServer({ env: { PARLEY_WEBHOOK_ALLOW: "127.0.0.0/8" } });
const receiver = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("taken") });
afterAll(() => receiver.stop(true));
const shop = await newShop(server, "shop");
const { meeting } = await fill(server, shop);
await server.admin.createApp("other");

const scheme = (page: Page): Promise<string> => page.evaluate<string>("document.documentElement.dataset.scheme ?? ''");

describe.each([...HANDS])("by %s", (by) => {
  const opened = withHand(browser, server, by);

  test("signing in and out, the switcher, the palette and the colours", async () => {
    await using at = await opened("/nodes", false);
    const { hand, page } = at;
    const menu = async (): Promise<void> => {
      if (by === "touch") await hand.press(button(page, "Menu"));
    };
    await hand.fill(page.getByLabel("Token"), "wrong");
    await hand.press(button(page, "Sign in"));
    await page.getByRole("alert").filter({ hasText: /\w+/ }).waitFor();
    await hand.fill(page.getByLabel("Token"), server.adminToken);
    await hand.press(button(page, "Sign in"));
    await heading(page, "Nodes").waitFor();
    await menu();
    await hand.press(button(page, /^Application:/));
    const field = page.getByRole("combobox", { name: "Find an application" });
    await field.and(page.locator(":focus")).waitFor();
    await page.keyboard.type("shop");
    await page.getByRole("option", { name: "shop" }).waitFor();
    if (by === "touch") await hand.press(page.getByRole("option", { name: "shop" }));
    else await page.keyboard.press("Enter");
    await page.waitForURL(/\/apps\/shop/);
    await field.waitFor({ state: "detached" });
    await heading(page, "Overview").waitFor();
    if (by === "touch") await hand.press(button(page, /^Search everything/));
    else await page.keyboard.press("Control+k");
    const palette = dialog(page, "Search everything");
    await page.keyboard.type("audit");
    const entry = palette.getByRole("option", { name: /^Audit/ }).first();
    await entry.waitFor();
    if (by === "touch") await hand.press(entry);
    else await page.keyboard.press("Enter");
    await heading(page, "Audit log").waitFor();
    await menu();
    for (const [name, value] of [
      ["Dark", "dark"],
      ["System", ""],
    ] as const) {
      await hand.press(page.getByRole("radio", { name }));
      await eventually(() => scheme(page), value);
    }
    await hand.press(button(page, "Sign out"));
    await page.getByLabel("Token").waitFor();
    await at.end();
  });

  test("an operator is created and revoked, the audit and the settings are filtered", async () => {
    await using at = await opened("/operators");
    const { hand, page } = at;
    await hand.press(button(page, "New operator"));
    const form = dialog(page, "New operator");
    await hand.fill(form.getByLabel("Name"), `Dora ${by}`);
    await hand.choose(form.getByLabel("Role"), "admin");
    await hand.press(button(form, "Create"));
    const made = dialog(page, `The token of Dora ${by}`);
    await hand.press(button(made, /^Copy/));
    await hand.press(button(made, "I have copied it"));
    await made.waitFor({ state: "detached" });
    await hand.press(button(page, `Revoke Dora ${by}`));
    await hand.press(button(dialog(page, `Revoke Dora ${by}?`), "Revoke"));
    await row(page, "Operators", `Dora ${by}`).waitFor({ state: "detached" });
    const downloading = page.waitForEvent("download");
    await hand.press(button(page, "Download CSV"));
    expect((await downloading).suggestedFilename()).toMatch(/\.csv$/);

    await at.go("Audit log");
    await hand.choose(page.getByLabel("Application", { exact: true }), "shop");
    await page.waitForURL(/app=shop/);
    await hand.fill(page.getByLabel("What"), "app edited");
    await page.keyboard.press("Enter");
    await page.waitForURL(/what=app/);
    await hand.press(link(page, "app edited").first());
    await hand.press(button(dialog(page, "app edited"), "Close"));
    await dialog(page, "app edited").waitFor({ state: "detached" });
    await hand.press(button(page, "Clear filters"));
    await button(page, "Clear filters").waitFor({ state: "detached" });
    await at.go("Settings");
    await hand.fill(page.getByRole("searchbox"), "PARLEY_DEMO");
    await hand.press(page.getByRole("radio", { name: /^Changed/ }));
    await page.waitForURL(/show=changed/);
    await at.end();
  });

  test("a webhook is created, tested, read, replayed, edited, disabled and deleted", async () => {
    await using at = await opened("/apps/shop/webhooks");
    const { hand, page } = at;
    const name = `Orders ${by}`;
    await hand.press(button(page, /^Create /).first());
    const form = dialog(page, "Create a webhook");
    await hand.fill(form.getByLabel("URL"), `http://127.0.0.1:${receiver.port}/${by}`);
    await hand.fill(form.getByLabel("Description"), name);
    await hand.press(form.getByRole("checkbox", { name: "Rooms" }));
    await hand.press(button(form, "Add header"));
    await hand.fill(form.getByLabel("Name of header 1"), "X-Tenant");
    await hand.fill(form.getByLabel("Value of header 1"), "acme");
    await hand.press(button(form, "Create webhook"));
    await hand.press(button(dialog(page, "Webhook created"), "I have copied it"));
    await heading(page, name).waitFor();
    await hand.press(button(page, "Send test"));
    const tested = dialog(page, "Send test");
    await tested.getByText("It arrived.").waitFor();
    await hand.press(button(tested, "Close"));
    await tested.waitFor({ state: "detached" });
    await shop.backend.room(`made-${by}`);
    const delivery = row(page, "Deliveries", "room.created").filter({ hasText: "200" }).first();
    await delivery.waitFor();
    await hand.press(link(delivery, "room.created"));
    await hand.press(button(dialog(page, /^room.created, attempt/), "Close"));
    await hand.press(button(delivery, /^Resend event/));
    await toast(page, /is being resent/).waitFor();
    await hand.press(button(page, "Replay …"));
    await hand.press(button(dialog(page, "Replay events"), "Replay"));
    await dialog(page, "Replay events").waitFor({ state: "detached" });
    await hand.press(button(page, "Rotate …"));
    await hand.press(button(dialog(page, "Rotate the signing secret"), "Rotate"));
    await page.locator(".snippet pre").filter({ hasText: "whsec_" }).waitFor();
    await hand.press(button(page, "Edit"));
    await hand.press(button(dialog(page, `Edit ${name}`), "Remove header X-Tenant"));
    await hand.press(button(dialog(page, `Edit ${name}`), "Save"));
    await toast(page, "Webhook saved.").waitFor();
    await hand.press(button(page, "Disable …"));
    await hand.press(button(dialog(page, `Disable ${name}`), "Disable the webhook"));
    await hand.press(button(page, "Enable"));
    await toast(page, "The webhook is enabled.").waitFor();
    await hand.press(button(page, "Delete …"));
    await hand.press(button(dialog(page, `Delete ${name}`), "Delete the webhook"));
    await heading(page, "Webhooks").waitFor();
    await at.end();
  });

  test("recordings are filtered, played, saved as a list and deleted", async () => {
    const bytes = await recordedVideo(browser());
    for (const name of ["ann", "bea"]) await shop.backend.record({ participantUsername: `${name}-${by}` }, bytes);
    await using at = await opened("/apps/shop/recordings");
    const { hand, page } = at;
    await row(page, "Recordings", `ann-${by}`).waitFor();
    if (by === "touch") await hand.press(page.getByText("Filters", { exact: true }));
    await hand.fill(page.getByLabel("Participant", { exact: true }), `ann-${by}`);
    await row(page, "Recordings", `bea-${by}`).waitFor({ state: "detached" });
    await hand.press(button(page, "Download CSV"));
    await hand.press(button(page, "Clear filters"));
    await row(page, "Recordings", `bea-${by}`).waitFor();
    await hand.press(page.getByRole("checkbox", { name: new RegExp(`^Select bea-${by}`) }));
    await hand.press(button(page, "Delete the 1 selected …"));
    await hand.press(button(dialog(page, "Delete 1 recording"), "Delete 1 recording"));
    await row(page, "Recordings", `bea-${by}`).waitFor({ state: "detached" });
    await hand.press(link(row(page, "Recordings", `ann-${by}`), new RegExp(`^ann-${by}, video`)));
    await heading(page, `Recording of ann-${by}`).waitFor();
    const player = page.locator("video.player, .player video").first();
    await player.waitFor();
    if (by === "touch") await player.tap();
    else {
      await hand.reach(player);
      await page.keyboard.press("Space");
      await until("it plays", () =>
        player.evaluate<boolean, undefined>(
          ((one: { currentTime: number }) => one.currentTime > 0) as never,
          undefined,
        ),
      );
    }
    await hand.press(button(page, "Delete …"));
    await hand.press(button(dialog(page, `Delete the recording of ann-${by}`), "Delete the recording"));
    await heading(page, "Recordings").waitFor();
    await at.end();
  });

  test("a meeting is played, and one goes to another time in it", async () => {
    await using at = await opened(`/apps/shop/meetings/${meeting}`);
    const { hand, page } = at;
    await hand.press(link(page, "Play all together"));
    await heading(page, /^Playback of/).waitFor();
    const seek = page.getByLabel("Position in the meeting");
    const position = async (): Promise<number> => Number(await seek.inputValue());
    await page.getByText("spoke 1 s").waitFor();
    await hand.press(button(page, "Next speaker"));
    if (by === "touch") {
      await seek.scrollIntoViewIfNeeded();
      const { width = 0, height = 0 } = (await seek.boundingBox()) ?? {};
      await seek.tap({ position: { x: width / 2, y: height / 2 } });
      const half = Number(await seek.getAttribute("max")) / 2;
      await until("it is in the middle", async () => Math.abs((await position()) - half) < half / 10);
      expect(height).toBeGreaterThanOrEqual(23.5);
    } else {
      await hand.reach(seek);
      await page.keyboard.press("End");
      await page.keyboard.press("Home");
      await eventually(position, 0);
      await page.keyboard.press("ArrowRight");
      await until("it is further", async () => (await position()) > 0);
    }
    await hand.choose(page.getByLabel("Speed"), "2 ×");
    await hand.press(button(page, "Play"));
    await at.end();
  });
});
