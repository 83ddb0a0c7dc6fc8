/**
 * What people do in the dashboard, from the beginning to the end: by keyboard alone, and by touch alone on a phone. The focus must never be lost,
 * every stop of the keyboard must show it, and nothing may be too small for a finger. Pages of an application; those of the service are in hands-service.test.ts.
 */
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { StreamCalls } from "../../support/stream-calls.ts";
import { attempt } from "../../support/wire/connect.ts";
import { browserForTests, button, dialog, heading, link, row, toast } from "../support/dashboard.ts";
import { HANDS, type Hand } from "../support/hands.ts";
import { withHand } from "../support/hands-on-dashboard.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(120_000);

const browser = browserForTests();
const server = await dashboardServer();

describe.each([...HANDS])("by %s", (by) => {
  const opened = withHand(browser, server, by);
  const app = `by-${by}`;
  const shop = newShop(server, app);
  afterEach(async () => (await shop).world.hangUp());

  const asked = async (hand: Hand, opens: Locator, title: string | RegExp): Promise<Locator> => {
    await hand.press(opens);
    const one = dialog(hand.page, title);
    await one.waitFor();
    return one;
  };

  test("an application is created, its secret key is rotated, and it is deleted by typing its name", async () => {
    await using at = await opened("/new-application");
    const { hand, page } = at;
    await heading(page, "New application").waitFor();
    await hand.fill(page.getByLabel("Name"), `new-${by}`);
    await hand.press(button(page, "Create application"));
    await heading(page, `new-${by} is created`).waitFor();
    await hand.press(button(page, /^Copy/).first());
    await hand.press(link(page, "Create a key"));
    await dialog(page, "Create a key").waitFor();
    await hand.press(button(dialog(page, "Create a key"), "Cancel"));
    await dialog(page, "Create a key").waitFor({ state: "detached" });
    await hand.press(button(page, "Reveal"));
    await button(page, "Hide").waitFor();
    const secret = page.locator("section").filter({ hasText: "Secret key of the application" });
    const rotation = await asked(hand, button(secret, "Rotate …"), "Rotate the secret key of the application");
    await hand.press(rotation.getByRole("checkbox"));
    await hand.press(button(rotation, "Rotate and end earlier secrets now"));
    await toast(page, "Secret key rotated.").waitFor();
    const end = await asked(hand, button(page, `Delete new-${by} …`), `Delete the application new-${by}`);
    await hand.fill(end.getByRole("textbox"), `new-${by}`);
    await hand.press(button(end, "Delete the application"));
    await toast(page, `new-${by} is deleted.`).waitFor();
    await heading(page, "Overview").waitFor();
    await at.end();
  });

  test("a key is created, copied, labelled, rotated and revoked", async () => {
    await shop;
    await using at = await opened(`/apps/${app}/keys`);
    const { hand, page } = at;
    const form = await asked(hand, button(page, "Create key"), "Create a key");
    await hand.press(form.getByRole("radio", { name: "Secret" }));
    await hand.fill(form.getByLabel("Label"), "Box");
    await hand.fill(form.getByLabel("Channel patterns, one per line"), "tickets/*");
    await hand.press(form.getByRole("checkbox", { name: "publish" }));
    await hand.press(button(form, "Create key"));
    const created = dialog(page, "Key created");
    await hand.press(button(created, /^Copy/).first());
    await hand.press(button(created, "I have copied it"));
    await created.waitFor({ state: "detached" });
    await hand.press(link(page, "Box"));
    await heading(page, "Box").waitFor();
    const edit = await asked(hand, button(page, "Edit"), "Edit Box");
    await hand.fill(edit.getByLabel("Label"), "Box office");
    await hand.press(button(edit, /^Save/));
    await heading(page, "Box office").waitFor();
    const rotation = await asked(hand, button(page, "Rotate …"), "Rotate the signing secret");
    await hand.choose(rotation.getByLabel("The current secret still works for"), "1 hour");
    await hand.press(button(rotation, "Rotate"));
    await page.getByText("It was shown once").first().waitFor();
    const end = await asked(hand, button(page, "Revoke …"), "Revoke Box office");
    await hand.press(button(end, "Revoke the key"));
    await toast(page, "Key revoked.").waitFor();
    await page.getByText("revoked", { exact: true }).waitFor();
    await hand.press(link(page, /^All keys/).first());
    await heading(page, "Keys").waitFor();
    await hand.press(page.getByRole("radio", { name: "Python" }));
    await page.waitForURL(/language=python/);
    await at.end();
  });

  test("rules are added, edited, ordered, deleted and saved", async () => {
    await shop;
    await using at = await opened(`/apps/${app}/rules`);
    const { hand, page } = at;
    for (const pattern of ["chat/*", "news"]) {
      const form = await asked(hand, button(page, "Add rule"), "Add a rule");
      await hand.fill(form.getByLabel("Pattern"), pattern);
      await hand.press(button(form, "Add"));
      await row(page, "Channel rules", pattern).waitFor();
    }
    await hand.press(button(page, "Move news up"));
    await page.getByRole("status").getByText("news is now rule 1 of 2.").waitFor({ state: "attached" });
    const form = await asked(hand, button(page, "Edit chat/*"), "Edit the rule");
    await hand.choose(form.getByLabel("Messages", { exact: true }), "Not stored");
    await hand.fill(form.getByLabel("Grace in seconds"), "30");
    await hand.press(button(form, "Change"));
    await row(page, "Channel rules", "chat/*").getByText("30 s").first().waitFor();
    await hand.press(button(page, "Save rules"));
    await toast(page, "Rules saved.").waitFor();
    await hand.press(button(page, "Delete news"));
    const question = await asked(hand, button(page, "Save rules"), "Save rules that may delete messages");
    await hand.press(button(question, "Save the rules"));
    await row(page, "Channel rules", "news").waitFor({ state: "detached" });
    await button(page, "Save rules").waitFor({ state: "detached" });
    await hand.fill(page.getByRole("searchbox", { name: "Channel" }), "chat/7");
    await page
      .getByText(/^Now: Rule 1|Rule 1, chat/)
      .first()
      .waitFor();
    await at.end();
  });

  test("a room is created with a preset, edited, opened early and deleted", async () => {
    await shop;
    await using at = await opened(`/apps/${app}/rooms`);
    const { hand, page } = at;
    await hand.press(link(page, "New room"));
    await heading(page, "New room").waitFor();
    await hand.press(page.getByRole("checkbox", { name: "With lobby" }));
    await hand.press(page.getByRole("checkbox", { name: "Recorded" }));
    await hand.fill(page.getByLabel("Name", { exact: true }), "friday");
    await at.time(page.getByLabel("Opens", { exact: true }), "2035-03-16T10:00");
    await hand.press(button(page, "1 h"));
    await hand.press(page.getByText("Time limits"));
    await hand.fill(page.getByLabel("Time per person", { exact: true }), "45");
    await hand.press(button(page, "Create room"));
    await heading(page, "friday").waitFor();
    await hand.press(button(page, "Copy host link"));
    await button(page, "Copied").waitFor();
    await hand.reach(button(page, "Join as host"));
    await hand.press(link(page, "Edit"));
    await page.getByRole("radio", { name: "Anyone with the link" }).first().waitFor();
    await hand.press(page.getByRole("radio", { name: "Anyone with the link" }).first());
    await hand.press(button(page, /^Save/));
    await toast(page, "Room saved.").waitFor();
    await heading(page, "friday").waitFor();
    const question = await asked(hand, button(page, "Open now …"), "Open friday now");
    await hand.press(button(question, "Open the room"));
    await toast(page, "friday is open.").waitFor();
    await button(page, "Open now …").waitFor({ state: "detached" });
    const end = await asked(hand, button(page, "Delete …"), "Delete the room friday");
    await hand.press(button(end, "Delete the room"));
    await heading(page, "Rooms").waitFor();
    await at.end();
  });

  test("a peer gets a message, is disconnected, blocked and unblocked, on its page and in the list", async () => {
    const { world } = await shop;
    await world.member("chat/42", { sub: "mallory" });
    await using at = await opened(`/apps/${app}/peers`);
    const { hand, page } = at;
    await hand.fill(page.getByRole("searchbox"), "mall");
    await hand.press(link(page, "mallory"));
    await heading(page, "mallory").waitFor();
    await hand.press(row(page, "Connections", world.key.keyId).getByText("1 channel"));
    await link(page, "chat/42").waitFor();
    const form = await asked(hand, button(page, "Send a message"), "Send a message to mallory");
    await hand.press(button(form, "Send"));
    await toast(page, "Sent to mallory.").waitFor();
    const question = await asked(hand, button(page, "Disconnect"), "Disconnect mallory?");
    await hand.press(button(question, "Disconnect"));
    await page.getByText("This peer is not connected now.").waitFor();
    const block = await asked(hand, button(page, "Block …"), "Block mallory?");
    await hand.press(button(block, "1 h"));
    await hand.press(button(block, "Block"));
    await button(page, "Unblock mallory").waitFor();
    await hand.press(button(page, "Unblock mallory"));
    await page.getByText("This peer is blocked").waitFor({ state: "detached" });
    await hand.press(link(page, "chat/42").or(button(page, "Block …")).last());
    await hand.press(button(dialog(page, "Block mallory?"), "Block"));
    await button(page, "Unblock mallory").waitFor();
    await page.goto(`${server.url}/dashboard/apps/${app}/peers`);
    hand.opened();
    await hand.press(page.getByRole("radio", { name: /^Blocked/ }));
    await page.waitForURL(/show=blocked/);
    await hand.press(button(page, "Unblock mallory"));
    await row(page, "Blocked peers", "mallory").waitFor({ state: "detached" });
    await hand.press(page.getByRole("radio", { name: /^Connected/ }));
    await at.end();
  });

  test("messages are published, history is read and deleted, streams are read and deleted", async () => {
    const { world } = await shop;
    await server.admin.must("PATCH", `/apps/${world.app._id}`, {
      consolePayloads: true,
      channelRules: [
        { pattern: "chat/*", history: { messages: 100, seconds: 3600 } },
        { pattern: "docs/*", stream: { seconds: 3600, bytes: 65_536 } },
      ],
    });
    const streams = new StreamCalls(server, `${world.key.keyId}:${world.key.secret}`);
    for (const name of ["docs/one", "docs/two"]) await streams.create(name, { type: "text/plain", body: "first line" });
    const { wire } = await world.member("chat/1", { sub: "alice", peerMetadata: { tier: "gold" } });
    await using at = await opened(`/apps/${app}/channels`);
    const { hand, page } = at;
    await hand.press(link(page, "chat/1"));
    await heading(page, "chat/1").waitFor();
    await hand.press(button(row(page, "Members", "alice"), /gold/));
    await hand.press(button(dialog(page, "Metadata of alice"), "Close"));
    await hand.fill(page.getByLabel("Data (JSON)"), "42");
    await hand.fill(page.getByLabel("From"), "support");
    await hand.press(button(page, "Publish"));
    await toast(page, "Published to chat/1.").waitFor();
    expect(await wire.until("message")).toMatchObject({ from: "support", data: 42 });
    await hand.press(page.getByRole("radio", { name: "History" }));
    await row(page, "History", "support").waitFor();
    const question = await asked(hand, button(page, "Delete history …"), "Delete the history of chat/1");
    await hand.press(button(question, "Delete the history"));
    await page.getByText("This channel has kept no message yet.").waitFor();
    await at.go("Streams");
    await hand.fill(page.getByRole("searchbox"), "docs/");
    for (const name of ["docs/one", "docs/two"]) {
      await hand.press(link(page, name));
      await heading(page, name).waitFor();
      await hand.press(button(row(page, "Messages", "server"), "first line"));
      await hand.press(button(dialog(page, "Message from server"), "Close"));
      const end = await asked(hand, button(page, "Delete …"), `Delete the stream ${name}`);
      await hand.press(button(end, "Delete the stream"));
      await heading(page, "Streams").waitFor();
      await link(page, name).waitFor({ state: "detached" });
    }
    await at.end();
  });

  const refuse = async (): Promise<unknown> =>
    attempt(server.url, {
      query: `key=${(await shop).publishable.keyId}`,
      headers: { Origin: "https://elsewhere.example" },
    });
  const live = (page: Page): Promise<void> => page.getByRole("main").getByText("Live", { exact: true }).waitFor();

  test("the console is filtered and paused, and a refusal is explained", async () => {
    const { world } = await shop;
    await using at = await opened(`/apps/${app}/console`);
    const { hand, page } = at;
    await live(page);
    const alice = await world.member("chat/7", { sub: "alice" });
    alice.wire.send({ type: "publish", channel: "chat/7", data: 1 });
    const events = page.getByRole("grid", { name: /^Events/ }).getByRole("row");
    await events.filter({ hasText: "publish" }).waitFor();
    await hand.press(page.getByRole("checkbox", { name: "publish", exact: true }));
    await events.filter({ hasText: "publish" }).waitFor({ state: "detached" });
    await hand.press(button(page, "Only problems"));
    await page.waitForURL(/kind=refuse%2Cerror/);
    await refuse();
    await events.filter({ hasText: "origin_not_allowed" }).waitFor();
    await hand.press(button(page, /^All/));
    if (by === "touch") await hand.press(page.getByText("Filters", { exact: true }));
    await hand.fill(page.getByLabel("Peer"), "alice");
    await page.waitForURL(/peer=alice/);
    await hand.press(button(page, "Reset filters"));
    await live(page);
    await hand.press(button(page, "Pause"));
    await hand.press(button(page, "Resume"));
    await hand.press(button(page, "Clear"));
    await at.go("Refusals");
    await row(page, "Refusals", "origin_not_allowed").waitFor();
    await hand.choose(page.getByLabel("Refused"), "Frames");
    await page.getByText("No refusals match the filters.").waitFor();
    await hand.press(button(page, "Clear filters"));
    await hand.press(link(row(page, "Refusals", "origin_not_allowed"), "Why?"));
    await heading(page, "Why not?").waitFor();
    await page.getByText(/^Refused by the check/).waitFor();
    await hand.fill(page.getByLabel("Origin of the web page"), "https://shop.example.com");
    await hand.press(button(page, "Explain"));
    await page.getByText("Allowed: every check passes.").waitFor();
    await at.end();
  });
});
