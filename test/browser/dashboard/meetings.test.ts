/** Rooms with people inside, by clicking: who is there, the link for the host, remove, end. Each action is checked in the API. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { newRoom, type Room } from "../../conformance/raw/support/rooms.ts";
import { browserForTests, button, Dashboard, dialog, go, heading, link, row, toast } from "../support/dashboard.ts";
import { dashboardServer } from "../support/seeds.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();
const server = await dashboardServer();
const open = (token = server.adminToken): Promise<Dashboard> => Dashboard.open(browser(), server.url, { token });
const inside = async ({ app, name }: Room): Promise<unknown[]> =>
  (
    await server.admin.must<{ data: { inside: number }[] }>(
      "GET",
      `/apps/${app.name}/meetings?active=true&room=${name}`,
    )
  ).data;

test("people appear as they enter, one is removed, and the meeting is ended and listed", async () => {
  const room = await newRoom(server);
  await using dashboard = await open();
  const page = await dashboard.page(`/apps/${room.app.name}/rooms/${room.name}`);
  await page.getByText("No one is inside.").waitFor();
  await link(page, `http://${room.app.host}/${room.name}`).waitFor();
  const token = await room.accessToken({ name: "Ann", externalUserId: "u-1", isAdmin: true });
  const ann = await room.inside({ token });
  const bob = await room.inside({ name: "Bob" });
  await row(page, "People inside", "u-1").getByText("host", { exact: true }).waitFor();
  await row(page, "People inside", "Bob").getByText("guest").waitFor();
  await button(page, "Remove Bob").click();
  const asked = dialog(page, "Remove Bob?");
  await asked.getByText("anyone with the link can come back").waitFor();
  await asked.getByLabel("Also make the room private").check();
  await button(asked, "Remove").click();
  await toast(page, "Bob was removed. The room is now private.").waitFor();
  expect(await bob.wire.closed()).toMatchObject({ code: 4021, reason: "removed" });
  await row(page, "People inside", "Bob").waitFor({ state: "detached" });

  await go(page, "Rooms");
  await row(page, "Rooms", room.name).getByText("1", { exact: true }).waitFor();
  await go(page, "Meetings");
  await row(page, "Meetings", room.name).getByText("1 inside").waitFor();
  await link(page, room.name).click();
  await heading(page, `Meeting in ${room.name}`).waitFor();
  await row(page, "Participants", "Bob").getByText("removed").waitFor();
  // Without a token, Bob can only ask to join now. Someone with a token enters while the page is open.
  expect(await room.join({ name: "Bob" })).toMatchObject({ waiting: true });
  const eve = await room.inside({ token: await room.accessToken({ name: "<b>Eve</b>" }) });
  await row(page, "Participants", "<b>Eve</b>").getByText("inside").waitFor();
  await button(page, "End the meeting …").click();
  const ending = dialog(page, `End the meeting in ${room.name}?`);
  await ending.getByText("2 people inside").waitFor();
  await button(ending, "End the meeting").click();
  await toast(page, `The meeting in ${room.name} has ended.`).waitFor();
  for (const { wire } of [ann, eve]) expect(await wire.closed()).toMatchObject({ code: 4021, reason: "ended" });
  await row(page, "Participants", "u-1").getByText("meeting ended").waitFor();
  expect(await inside(room)).toEqual([]);
  await link(page, "All meetings").click();
  await page.getByLabel("State").selectOption("in progress");
  await page.getByText("No meetings match these filters.").waitFor();
  await page.getByLabel("State").selectOption("over");
  await row(page, "Meetings", room.name).getByText("over").waitFor();
  await page.goto(`${server.url}/dashboard/apps/${room.app.name}/rooms/${room.name}`);
  await page.getByText("No one is inside.").waitFor();
  await page.getByRole("table", { name: "Past meetings" }).getByRole("link").click();
  await heading(page, `Meeting in ${room.name}`).waitFor();
});

/** Until when an access token is valid, in Unix seconds. */
const expiryOf = (token: string): number =>
  JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).exp;

test("the link for the host leads into the room as an admin; an operator of role read has none", async () => {
  const room = await newRoom(server, { privacy: "private" });
  const token = server.adminToken;
  await using dashboard = await Dashboard.open(browser(), server.url, { token, hosts: [room.app.host] });
  const path = `/apps/${room.app.name}/rooms/${room.name}`;
  const page = await dashboard.page(path);
  const opened = page.waitForEvent("popup");
  await button(page, "Join as host").click();
  const tab = await opened;
  await tab.waitForURL(`http://${room.app.host}/${room.name}`);
  await heading(tab, "Ready to join?").waitFor();
  expect(await tab.evaluate<boolean>("window.opener === null")).toBe(true);
  await tab.close();

  await page.bringToFront();
  await dashboard.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByLabel("The host link is valid for").selectOption("7 days");
  await page.getByText(/^Valid until .*\d\d:\d\d\. Anyone who has it is a host\.$/).waitFor();
  await button(page, "Copy host link").click();
  await button(page, "Copied").waitFor();
  const [address, accessToken = ""] = (await page.evaluate<string>("navigator.clipboard.readText()")).split("#token=");
  expect(address).toBe(`http://${room.app.host}/${room.name}`);
  expect(expiryOf(accessToken) - Date.now() / 1000).toBeWithin(7 * 86_400 - 120, 7 * 86_400 + 1);
  expect((await page.content()).includes(accessToken)).toBe(false);
  expect((await room.inside({ token: accessToken, name: "Host" })).join.isAdmin).toBe(true);
  await row(page, "People inside", "Host").getByText("host", { exact: true }).waitFor();

  const reader = await server.admin.must<{ token: string }>("POST", "/operators", { name: "reader", role: "read" });
  await using reading = await open(reader.token);
  const seen = await reading.page(path);
  await row(seen, "People inside", "Host").waitFor();
  for (const name of ["Join as host", "Remove Host", "End the meeting …"])
    expect([name, await button(seen, name).count()]).toEqual([name, 0]);
});

test("an empty room advises to join as host, but not an operator of role read, who has no button for it", async () => {
  const { app, name } = await newRoom(server);
  const path = `/apps/${app.name}/rooms/${name}`;
  const advice = "People who open the link appear here.";
  await using dashboard = await open();
  await (await dashboard.page(path)).getByText(`${advice} To manage the meeting, join as host.`).waitFor();
  const reader = await server.admin.must<{ token: string }>("POST", "/operators", {
    name: "second reader",
    role: "read",
  });
  await using reading = await open(reader.token);
  await (await reading.page(path)).getByText(advice, { exact: true }).waitFor();
});
