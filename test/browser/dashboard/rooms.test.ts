/** Rooms by clicking: creating one, who waits, opening it early, and the meeting that has just ended. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { newRoom } from "../../conformance/raw/support/rooms.ts";
import { browserForTests, button, Dashboard, dialog, heading, toast } from "../support/dashboard.ts";
import { eventually } from "../support/eventually.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();
const server = await dashboardServer();
const { world } = await newShop(server, "shop");
const open = (): Promise<Dashboard> => Dashboard.open(browser(), server.url, { token: server.adminToken });

/** The error of the field with the focus is on the screen, and nothing covers it. */
const ERROR_IN_VIEW = `(() => {
  const ids = document.activeElement.getAttribute("aria-describedby")?.split(" ") ?? [];
  const error = document.getElementById(ids.find((id) => id.endsWith("-error")));
  const { left, top, height } = error?.getBoundingClientRect() ?? {};
  return error !== null && error === document.elementFromPoint(left + 5, top + height / 2);
})()`;

test("a private room for Friday with a recording is made without knowing the API; what has no effect is hidden", async () => {
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop/rooms/~new");
  await page.getByRole("checkbox", { name: "With lobby" }).check();
  await page.getByLabel("Name", { exact: true }).fill("friday");
  const [onClosing, onScreens] = [
    page.getByLabel("End the meeting when the room closes"),
    page.getByLabel("Screen sharing"),
  ];
  expect([await onClosing.count(), await onScreens.count()]).toEqual([0, 1]);
  await page.getByLabel("Opens", { exact: true }).fill("2035-03-16T10:00");
  await button(page, "1 h").click();
  expect(await page.getByLabel("Closes", { exact: true }).inputValue()).toBe("2035-03-16T11:00");
  await onClosing.check();
  await page.getByLabel("Record from the start").check();
  for (const name of ["With lobby", "Recorded"])
    expect(await page.getByRole("checkbox", { name }).isChecked()).toBe(true);
  await page.getByText("Time limits").click();
  await page.getByLabel("Time per person", { exact: true }).fill("45");
  await page
    .getByText(
      "People ask to join, and a host lets them in. Up to 6 people at a time. Recorded from the first second. Fri, Mar 16, 2035, 10:00 – 11:00.",
    )
    .waitFor();
  await page.getByLabel("Opens", { exact: true }).fill("2035-03-16T12:00");
  await page.getByText("The room would close before it opens.").waitFor();
  // A click leads to the first field with an error, from wherever the page is scrolled to.
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("friday,");
  await button(page, "Create room").click();
  await name.and(page.locator(":focus")).waitFor();
  await eventually(() => page.evaluate<boolean>(ERROR_IN_VIEW), true);
  await name.fill("friday");
  await button(page, "Create room").click();
  const closes = page.getByLabel("Closes", { exact: true });
  await closes.and(page.locator(":focus")).waitFor();
  await eventually(() => page.evaluate<boolean>(ERROR_IN_VIEW), true);
  expect((await server.admin.call("GET", "/apps/shop/rooms/friday")).status).toBe(404);
  await page.getByLabel("Opens", { exact: true }).fill("2035-03-16T10:00");
  await page.getByRole("group", { name: "Media" }).getByRole("checkbox", { name: "No cameras or screens" }).check();
  expect(await onScreens.count()).toBe(0);
  await button(page, "Create room").click();
  await heading(page, "friday").waitFor();
  await page.getByText("You can try the room before it opens. Others have to wait until then.").waitFor();
  await page.getByText("People ask to join, and a host lets them in. Before it opens, only hosts can join.").waitFor();
  await page.getByRole("heading", { name: "Link for guests" }).waitFor();
  await page.getByRole("link", { name: "Change the schedule" }).click();
  await page.getByLabel("Opens", { exact: true }).and(page.locator(":focus")).waitFor();
  const opens = await page.evaluate<number>("new Date('2035-03-16T10:00').getTime() / 1000");
  expect(await server.admin.must<object>("GET", `/apps/${world.app._id}/rooms/friday`)).toMatchObject({
    privacy: "private",
    enableRequestToJoin: true,
    notBeforeUnixSec: opens,
    expireUnixSec: opens + 3600,
    ejectAtRoomExp: true,
    recordRoom: true,
    audioOnlyRoom: true,
    ejectAfterElapsedTimeInSec: 2700,
  });
  await button(page, "Cancel").click();
  await button(page, "Open now …").click();
  const question = dialog(page, "Open friday now");
  await question.getByText("People who wait on its page can ask to join within about 15 seconds.").waitFor();
  await question.getByText("This replaces the time in its schedule, Fri, Mar 16, 2035, 10:00 – 11:00.").waitFor();
  await button(question, "Open the room").click();
  await toast(page, "friday is open.").waitFor();
  await button(page, "Open now …").waitFor({ state: "detached" });
  const times = async (): Promise<number[]> => {
    const room = await server.admin.must<Record<string, number>>("GET", "/apps/shop/rooms/friday");
    return [room.notBeforeUnixSec ?? 0, room.expireUnixSec ?? 0];
  };
  const [from = 0, to = 0] = await times();
  expect(Math.abs(from - Date.now() / 1000)).toBeLessThan(60);
  // For the hour that was planned, not until 2035.
  expect(to - from).toBe(3600);
  await button(page.locator(".toast"), "Undo").click();
  await toast(page, "friday is closed until Fri, Mar 16, 2035, 10:00.").waitFor();
  expect(await times()).toEqual([opens, opens + 3600]);
  await button(page, "Open now …").waitFor();
  await server.admin.must("DELETE", `/apps/${world.app._id}/rooms/friday`);
});

test("who waits in the lobby is on the page of the room, with a link for a host who lets them in", async () => {
  const room = await newRoom(server, { privacy: "private" });
  const token = server.adminToken;
  await using dashboard = await Dashboard.open(browser(), server.url, { token, hosts: [room.app.host] });
  const page = await dashboard.page(`/apps/${room.app.name}/rooms/${room.name}`);
  await page.getByText("No one is inside.").waitFor();
  const waits = page.getByRole("status").getByText(/waiting:/);
  expect(await waits.count()).toBe(0);
  const ann = await room.enter({ name: "Ann" });
  await page.getByText("1 waiting: Ann").waitFor();
  const opened = page.waitForEvent("popup");
  await button(page, "Join as host to let them in").click();
  await (await opened).close();
  const host = await room.inside({ token: await room.accessToken({ name: "Host", isAdmin: true }) });
  await room.act(host.token, { do: "admit", waitId: ann.id });
  await waits.waitFor({ state: "detached" });
});

test("a meeting that has ended is listed at once, and one that is ending says so", async () => {
  const room = await newRoom(server);
  const ann = await room.inside({ name: "Ann" });
  await using dashboard = await open();
  const page = await dashboard.page(`/apps/${room.app.name}/rooms/${room.name}`);
  await page.getByText("None yet.").waitFor();
  await button(page, "End the meeting …").click();
  await button(dialog(page, `End the meeting in ${room.name}?`), "End the meeting").click();
  expect(await ann.wire.closed()).toMatchObject({ reason: "ended" });
  const past = page.getByRole("table", { name: "Past meetings" }).getByRole("link");
  // Sooner than the list is loaded anew by itself, every five seconds.
  await past.first().waitFor({ timeout: 4000 });

  const bob = await room.inside({ name: "Bob" });
  await page.getByText("1 person inside").waitFor();
  bob.wire.close();
  await page.getByText("The last meeting is ending, and is listed in a moment.").waitFor();
});
