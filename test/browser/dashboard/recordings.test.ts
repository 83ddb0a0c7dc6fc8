/** Recordings by clicking: found, played, sought in, by meeting, deleted; and the recording of a meeting started and stopped. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { newRoom } from "../../conformance/raw/support/rooms.ts";
import { Backend, sha256, webm } from "../../support/recordings.ts";
import { IS_FULL } from "../../support/slack.ts";
import { browserForTests, button, Dashboard, dialog, go, heading, link, row, toast } from "../support/dashboard.ts";
import { eventually } from "../support/eventually.ts";
import { filesLoaded, hasData, lengthOf, longAudio, play, seek } from "../support/playing.ts";
import { dashboardServer, newShop, recordedVideo } from "../support/seeds.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();
const server = await dashboardServer();
const open = (token = server.adminToken): Promise<Dashboard> => Dashboard.open(browser(), server.url, { token });
const SECONDS = 300;

test("a recording is found, played, downloaded and deleted; the others are selected and deleted", async () => {
  const { backend, world } = await newShop(server, "shop");
  const bytes = await recordedVideo(browser());
  const kept = await backend.record({ participantUsername: "ann" }, bytes);
  const { downloadName, _id } = await backend.record({ participantUsername: "bob" }, bytes);
  await using dashboard = await open();
  const page = await dashboard.page("/apps/shop");
  await go(page, "Recordings");
  await row(page, "Recordings", "ann").waitFor();
  await page.getByLabel("Participant", { exact: true }).fill("bob");
  await row(page, "Recordings", "ann").waitFor({ state: "detached" });
  await page.waitForURL(/participantUsername=bob/);

  await link(row(page, "Recordings", "bob"), /^bob, video/).click();
  await heading(page, "Recording of bob").waitFor();
  await hasData(page);
  await play(page);
  const downloading = page.waitForEvent("download");
  await link(page, "Download").click();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe(downloadName);
  expect(downloadName).toMatch(new RegExp(`^bob-video-\\d{8}T\\d{6}Z-${_id}\\.webm$`));
  expect(sha256(new Uint8Array(await Bun.file(await download.path()).arrayBuffer()))).toBe(sha256(bytes));
  await page.goBack();
  await page.waitForURL(/participantUsername=bob/);
  await page.goForward();
  await button(page, "Delete …").click();
  await button(dialog(page, "Delete the recording of bob"), "Delete the recording").click();
  await toast(page, "The recording of bob is deleted.").waitFor();
  await heading(page, "Recordings").waitFor();
  await row(page, "Recordings", "bob").waitFor({ state: "detached" });
  expect((await backend.app.call("GET", `/recording/${_id}`)).status).toBe(404);

  await page.getByRole("checkbox", { name: /^Select ann, video/ }).check();
  await button(page, "Delete the 1 selected …").click();
  await button(dialog(page, "Delete 1 recording"), "Delete 1 recording").click();
  await page.getByText("No recordings yet.").waitFor();
  expect((await backend.app.call("GET", `/recording/${kept._id}`)).status).toBe(404);

  await page.getByLabel("Days to keep recordings").fill("30");
  await button(page.locator(".card").filter({ hasText: "Retention" }), "Save").click();
  await button(page.getByRole("dialog"), "Change the retention").click();
  await toast(page, "Recordings are kept 30 days.").waitFor();
  await page.getByLabel("Storage limit (GiB)").fill("2.5");
  await button(page.locator(".card").filter({ hasText: "Storage" }), "Save").click();
  await toast(page, "The storage limit is now 2.5 GiB.").waitFor();
  expect(await server.admin.must("GET", `/apps/${world.app._id}`)).toMatchObject({
    retentionDays: 30,
    maxRecordingBytesTotal: 2.5 * 1024 ** 3,
  });
});

test("a long list says that only what is loaded is sorted, until all of it is", async () => {
  const long = await newShop(server, "long");
  const room = await long.backend.room("standup");
  // A page of the list has 100.
  for (let at = 0; at < 120; at += 20)
    await Promise.all(
      Array.from({ length: 20 }, (_, of) =>
        long.backend.record({ room, participantUsername: `Person ${String(at + of).padStart(3, "0")}` }),
      ),
    );
  await using dashboard = await open();
  const page = await dashboard.page("/apps/long/recordings?sort=-name");
  await page.getByText("Sorted among the 100 loaded of 120; scroll for more.").waitFor();
  const first = page.getByRole("table", { name: "Recordings" }).locator("tbody a.name").first();
  await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
  await page.getByText(/^Sorted among/).waitFor({ state: "detached" });
  await page.evaluate("scrollTo(0, 0)");
  await eventually(() => first.textContent(), "Person 119");
});

test.if(IS_FULL)("the recordings of a meeting are on its page, and seeking in one does not load it whole", async () => {
  const room = await newRoom(server);
  const backend = new Backend(room.app);
  const { join } = await room.inside({ name: "Ann" });
  const path = `/apps/${room.app.name}/meetings/${join.meetingSession}`;
  const { startTime } = await server.admin.must<{ startTime: number }>("GET", path);
  await using dashboard = await open();
  const page = await dashboard.page(path);
  await page.getByText("This meeting is not being recorded.").waitFor();
  const session = { room: room.name, meetingSession: join.meetingSession };
  const file = longAudio(SECONDS);
  const late = { ...session, participantUsername: "Ann", type: "audio", startTime: startTime + 75 };
  const { _id, uploadUrl } = await backend.begin(late);
  await backend.mustPut(uploadUrl, file);
  await backend.complete(_id, { endTime: late.startTime + SECONDS });
  await backend.record({ ...session, participantUsername: "<b>Bob</b>", type: "screen", startTime });

  // It comes while the page is open; the one that started first is above, whichever was completed first.
  await row(page, "Recordings", "<b>Bob</b>").waitFor();
  const rows = page.getByRole("table", { name: "Recordings" }).getByRole("row");
  expect((await rows.nth(1).innerText()).split(/\s*\t\s*|\n+/)).toEqual([
    ...["<b>Bob</b>", "screen", "0:00"],
    expect.stringMatching(/^\d+:\d\d$/),
    "100 B",
  ]);
  expect(await rows.nth(2).innerText()).toContain("1:15");
  expect(await rows.nth(2).innerText()).toContain("5:00");
  await link(page, /^Ann, audio/).click();
  await heading(page, "Recording of Ann").waitFor();
  const loaded = await filesLoaded(page);
  await page.reload();
  await hasData(page);
  expect(await lengthOf(page)).toBeCloseTo(SECONDS, 0);
  await seek(page, SECONDS - 20);
  await play(page);
  expect(loaded.ranges.filter((range) => /^bytes=[1-9]\d*-/.test(range)).length).toBeGreaterThan(0);
  expect(loaded.bytes).toBeLessThan(file.length / 2);

  await row(page, "Recordings", "<b>Bob</b>").waitFor();
  await page.getByText("1:15 into the meeting").waitFor();
  await link(page.locator(".facts"), room.name).click();
  await heading(page, room.name).waitFor();
  await link(page.locator(".page-actions"), "Recordings").click();
  await page.getByText(`ID of ${room.name}`).waitFor();
  await page.goBack();
  await heading(page, room.name).waitFor();
  await page.goBack();
  await page.locator(`.facts a[href$="${join.meetingSession}"]`).click();
  await heading(page, `Meeting in ${room.name}`).waitFor();
});

test("recording is started and stopped; rooms, meetings and their pages show it", async () => {
  const room = await newRoom(server);
  const { wire, token } = await room.inside({ name: "Ann" });
  await using dashboard = await open();
  const page = await dashboard.page(`/apps/${room.app.name}/rooms/${room.name}`);
  await button(page, "Record …").click();
  const asked = dialog(page, `Record the meeting in ${room.name}?`);
  await asked.getByText("1 person inside").waitFor();
  await button(asked, "Start recording").click();
  await toast(page, "Recording has started.").waitFor();
  const mark = page.getByRole("main").getByText("recording", { exact: true });
  await mark.waitFor();
  expect(await wire.frame("message")).toMatchObject({ data: { notice: "recording", on: true } });
  /** As Ann's page does it. Returns how to end it. */
  const sent = async (source: string, bytes: Uint8Array): Promise<() => Promise<unknown>> => {
    const path = `/room/${room.name}/recording`;
    const { body } = await room.app.call("POST", path, { source }, { bearer: token });
    const range = { "Content-Range": `bytes 0-${bytes.length - 1}/*` };
    await new Backend(room.app).mustPut(String(body.uploadUrl), bytes, range);
    return async () => {
      expect((await room.app.call("DELETE", path, { _id: body._id }, { bearer: token })).status).toBe(200);
    };
  };
  const ends = [await sent("camera", webm(100)), await sent("screen", await recordedVideo(browser()))];
  await go(page, "Rooms");
  await row(page, "Rooms", room.name).getByText("rec", { exact: true }).waitFor();
  await go(page, "Meetings");
  await row(page, "Meetings", room.name).getByText("rec", { exact: true }).waitFor();
  await link(page, room.name).click();
  await page.getByText(/started by the service$/).waitFor();
  await page.getByText("No recordings are complete yet.").waitFor();
  await button(page, "Stop recording …").click();
  await button(page.getByRole("dialog"), "Stop recording").click();
  await toast(page, "Recording has stopped.").waitFor();
  await mark.waitFor({ state: "detached" });
  await button(page, "Record …").waitFor();

  // The first is no video: it cannot be mended, and is listed as it came.
  for (const end of ends) await end();
  const camera = row(page, "Recordings", "camera");
  await camera.getByText("may not seek").waitFor();
  const screen = row(page, "Recordings", "screen");
  await screen.waitFor();
  expect(await screen.getByText("may not seek").count()).toBe(0);
  await link(screen, /^Ann, screen/).click();
  await page.locator(".facts").getByText("yes", { exact: true }).waitFor();
  await hasData(page);
  expect(await lengthOf(page)).toBeWithin(0.2, 30);
  await link(camera, /^Ann, camera/).click();
  await page.getByText("no, seeking may not work").waitFor();
});

test("an operator who only reads sees what there is, and gets no file", async () => {
  const room = await newRoom(server);
  const { join } = await room.inside({ name: "Ann" });
  const { _id } = await new Backend(room.app).record({
    room: room.name,
    meetingSession: join.meetingSession,
    participantUsername: "Ann",
  });
  const reader = await server.admin.must<{ token: string }>("POST", "/operators", { name: "reader", role: "read" });
  await using dashboard = await open(reader.token);
  const page = await dashboard.page(`/apps/${room.app.name}/meetings/${join.meetingSession}`);
  await row(page, "Recordings", "Ann").waitFor();
  for (const name of ["Record …", "Stop recording …", "End the meeting …"])
    expect([name, await button(page, name).count()]).toEqual([name, 0]);
  const loaded = await filesLoaded(page);
  await link(page, /^Ann, video/).click();
  await page.getByText("Only operators with the role admin can play or download recordings.").waitFor();
  expect([await page.locator(".player").count(), await link(page, "Download").count()]).toEqual([0, 0]);
  expect(await button(page, "Delete …").count()).toBe(0);
  expect([_id !== "", loaded.ranges]).toEqual([true, []]);
});
