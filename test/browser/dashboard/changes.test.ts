/**
 * What is changed elsewhere, by the command line, a backend or another operator, appears by itself on a page that is open, and takes nothing
 * away from who reads or types there.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { Room } from "../../conformance/raw/support/rooms.ts";
import { IS_FULL } from "../../support/slack.ts";
import { until } from "../../support/wait.ts";
import { browserForTests, button, Dashboard, dialog, link, row, toast } from "../support/dashboard.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();
const server = await dashboardServer();
const { world, backend } = await newShop(server, "shop");
const { admin } = server;
const open = (expected?: RegExp): Promise<Dashboard> =>
  Dashboard.open(browser(), server.url, { token: server.adminToken, ...(expected && { expected }) });
const appPath = `/apps/${world.app._id}`;

test("rooms, meetings, recordings, keys, operators, applications and the audit", async () => {
  await using dashboard = await open();
  const paths = ["/apps/shop/rooms", "/apps/shop/meetings", "/apps/shop/recordings", "/apps/shop/keys"];
  const opened = await Promise.all([...paths, "/operators", "/audit"].map((path) => dashboard.page(path)));
  const [rooms, meetings, recordings, keys, operators, audit] = opened as [Page, Page, Page, Page, Page, Page];
  await Promise.all([
    rooms.getByText("This application has no rooms yet.").waitFor(),
    meetings.getByText("No meetings yet.").waitFor(),
    recordings.getByText("No recordings yet.").waitFor(),
    row(keys, "Keys", "Backend").waitFor(),
    operators.getByText("No operators yet, only the admin token.").waitFor(),
    row(audit, "Changes", "key created").first().waitFor(),
  ]);

  const room = await backend.room("standup");
  await backend.record({ room, participantUsername: "Ann", type: "audio" });
  const { keyId } = await admin.createKey(world.app._id, { label: "Ticket office" });
  const { _id } = await admin.must<{ _id: string }>("POST", "/operators", { name: "Carol", role: "read" });
  await admin.createApp("cinema");
  const bob = await new Room(backend.app, "standup", room).inside({ name: "Bob" });
  await button(rooms, "Application: shop").click();
  await Promise.all([
    link(rooms, "standup").waitFor(),
    rooms.getByText("1 room in all").waitFor(),
    rooms.getByRole("option", { name: "cinema" }).waitFor(),
    row(meetings, "Meetings", "standup").getByText("1 inside").waitFor(),
    link(recordings, /^Ann/).waitFor(),
    recordings.getByText("1 recording", { exact: true }).waitFor(),
    row(keys, "Keys", "Ticket office").waitFor(),
    row(operators, "Operators", "Carol").waitFor(),
    row(audit, "Changes", "operator created").waitFor(),
  ]);

  bob.wire.close();
  await admin.must("DELETE", `${appPath}/rooms/standup`);
  await admin.must("DELETE", `/operators/${_id}`);
  await admin.must("DELETE", `/signalling/keys/${keyId}`);
  await admin.must("PATCH", appPath, { retentionDays: 30, maxRecordingBytesTotal: 3 * 1024 ** 3 });
  await admin.must("DELETE", "/apps/cinema");
  await Promise.all([
    link(rooms, "standup").waitFor({ state: "detached" }),
    rooms.getByRole("option", { name: "cinema" }).waitFor({ state: "detached" }),
    row(operators, "Operators", "Carol").waitFor({ state: "detached" }),
    row(keys, "Keys", "Ticket office").waitFor({ state: "detached" }),
    recordings.getByText("of 3 GiB").waitFor(),
  ]);
  expect(await recordings.getByLabel("Days to keep recordings").inputValue()).toBe("30");
});

test.if(IS_FULL)("a reader in the middle of a long list keeps the place and the focus", async () => {
  const stage = await newShop(server, "stage");
  const names = Array.from({ length: 130 }, (_, at) => `room-${String(at).padStart(3, "0")}`);
  for (const name of names) await stage.backend.room(name);
  await using dashboard = await open();
  const page = await dashboard.page("/apps/stage/rooms");
  await until("all rooms are loaded", async () => {
    await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
    return link(page, "room-000").isVisible();
  });
  await link(page, "room-040").scrollIntoViewIfNeeded();
  await link(page, "room-040").focus();
  const place = (): Promise<number> =>
    link(page, "room-040").evaluate((one) => Math.round(one.getBoundingClientRect().top));
  const before = await place();
  for (const name of ["new-1", "new-2", "new-3"]) await stage.backend.room(name);
  await stage.backend.app.must("DELETE", "/room/room-041");
  await page.getByText("132 rooms in all").waitFor();
  await link(page, "room-041").waitFor({ state: "detached" });
  // Three rows came above it, and one is gone.
  expect(Math.abs((await place()) - before)).toBeLessThanOrEqual(1);
  expect(await page.evaluate("document.activeElement.textContent")).toBe("room-040");
  await page.evaluate("scrollTo(0, 0)");
  await link(page, "new-3").waitFor();
});

test.if(IS_FULL)("a selection, a search and what was typed stay", async () => {
  const { backend: theirs, world: own } = await newShop(server, "attic");
  const room = await theirs.room("standup");
  for (const name of ["Ann", "Bob"]) await theirs.record({ room, participantUsername: name, type: "audio" });
  await using dashboard = await open();
  const [recordings, rooms, one, rules] = (await Promise.all(
    ["recordings", "rooms", "rooms/standup/edit", "rules"].map((path) => dashboard.page(`/apps/attic/${path}`)),
  )) as [Page, Page, Page, Page];
  await recordings.getByRole("checkbox", { name: /^Select Bob/ }).check();
  await recordings.getByLabel("Days to keep recordings").fill("7");
  await rooms.getByRole("searchbox").fill("ret");
  await rooms.getByText("No rooms match.").waitFor();
  await one.getByLabel("People at a time").fill("12");
  await button(rules, "Add rule").click();
  const form = dialog(rules, "Add a rule");
  await form.getByLabel("Pattern").fill("chat/*");

  await theirs.record({ room, participantUsername: "Eve", type: "audio" });
  await theirs.room("retro");
  const path = `/apps/${own.app._id}`;
  await admin.must("PUT", `${path}/rooms/standup`, { privacy: "private" });
  await admin.must("PATCH", path, { channelRules: [{ pattern: "orders/**" }] });
  await link(recordings, /^Eve/).waitFor();
  await recordings.getByText("3 recordings, 1 selected").waitFor();
  expect(await recordings.getByRole("checkbox", { name: /^Select Bob/ }).isChecked()).toBe(true);
  expect(await recordings.getByLabel("Days to keep recordings").inputValue()).toBe("7");
  await link(rooms, "retro").waitFor();
  expect(await rooms.getByRole("searchbox").inputValue()).toBe("ret");
  expect(await rooms.evaluate("document.activeElement.type")).toBe("search");
  await until("the field that no one has touched is up to date", async () => {
    return one.getByRole("radio", { name: "People ask to join" }).isChecked();
  });
  expect(await one.getByLabel("People at a time").inputValue()).toBe("12");
  await button(one, "Save 1 change").click();
  await toast(one, "Room saved.").waitFor();
  expect((await admin.must("GET", `${path}/rooms/standup`)) as object).toMatchObject({
    maxParticipants: 12,
    privacy: "private",
  });
  // What another operator has saved is not overwritten, nor mixed into an open form.
  await button(form, "Add").click();
  await button(rules, "Save rules").click();
  await rules.getByText("changed elsewhere").first().waitFor();
  await button(rules, "Cancel").click();
  await row(rules, "Channel rules", "orders/**").waitFor();
});
