/** Meetings that are recorded by the pages of their participants: consent, the mark, uploads over reloads, lost networks and full disks. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { IS_FULL } from "../support/slack.ts";
import { eventually } from "./support/eventually.ts";
import { meetingRooms } from "./support/meeting-rooms.ts";
import { agreesAndStays, leavesAfterUpload, recordingsOf, recordsFor, startsRecording } from "./support/recordings.ts";

setDefaultTimeout(90_000);

const isFull = process.env.PARLEY_TEST_FULL === "1";
const rooms = meetingRooms();

afterEach(() => rooms().allLeave());

const ROOM = { enableRecording: true } as const;
/** Pages that come back find uploads that are busy, or too many; pages without a network find none. They try again. */
const RETRIES = { expected: /409|423|ERR_INTERNET_DISCONNECTED|ERR_FAILED|WebSocket/ } as const;

test("two people are recorded: the mark, who started it, and nothing before they agree", async () => {
  const url = await rooms().room(ROOM);
  const ada = await rooms().visit(url);
  await ada.enter("Ada");
  const host = await rooms().visit(`${url}#token=${await rooms().token(url, { isAdmin: true, name: "Hana" })}`);
  await host.button("Join").click();
  await host.inside();
  // While a host is inside, it is the host's to decide.
  await eventually(async () => {
    await ada.button("More").click();
    const count = await ada.page.getByRole("menuitem", { name: "Record the meeting" }).count();
    await ada.page.keyboard.press("Escape");
    return count;
  }, 0);
  await startsRecording(host);
  await ada.heading("This meeting is being recorded").waitFor();
  await ada.page.getByText("Hana is recording this meeting.").first().waitFor();
  // It is answered, not closed.
  await ada.page.keyboard.press("Escape");
  await ada.page.keyboard.press("Escape");
  await ada.heading("This meeting is being recorded").waitFor();
  await host.choose("People");
  const recorded = host.page.locator(".person", { hasText: "recorded" });
  await recorded.first().waitFor();
  expect(await recorded.count()).toBe(1);
  await agreesAndStays(ada);
  await recorded.nth(1).waitFor();
  await recordsFor(ada, 6);
  await host.page.keyboard.press("r");
  await ada.announced("Recording stopped.");
  await ada.page.locator(".rec-mark").waitFor({ state: "detached" });
  await Promise.all([leavesAfterUpload(host), leavesAfterUpload(ada)]);
  const list = await recordingsOf(rooms().app, url, 2);
  expect(list.map(({ participantUsername, type }) => `${participantUsername} ${type}`).sort()).toEqual([
    "Ada video",
    "Hana video",
  ]);
  for (const { startTime, endTime } of list) expect(endTime - startTime).toBeGreaterThanOrEqual(5);
});

test("a person who is removed: the page stops sending and says what is kept, and that is listed", async () => {
  const url = await rooms().room(ROOM);
  // One part may be on its way.
  const ada = await rooms().visit(url, { expected: /403|409/ });
  await ada.enter("Ada");
  const host = await rooms().visit(`${url}#token=${await rooms().token(url, { isAdmin: true, name: "Hana" })}`);
  await host.button("Join").click();
  await host.inside();
  await startsRecording(host);
  await agreesAndStays(ada);
  await recordsFor(ada, 6);
  const refused: number[] = [];
  ada.context.on("response", (response) => response.status() >= 400 && refused.push(response.status()));
  await host.choose("People");
  await host.button("Remove Ada").click();
  await host.page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  await ada.heading("You were removed from the meeting").waitFor();
  await ada.page.getByText("Your recording ended with your visit.").first().waitFor();
  expect(await ada.page.locator(".notice.warn").count()).toBe(0);
  const [{ participantUsername = "", startTime = 0, endTime = 0 } = {}] = await recordingsOf(rooms().app, url, 1);
  expect(participantUsername).toBe("Ada");
  expect(endTime - startTime).toBeGreaterThanOrEqual(3);
  // Nothing is tried again: a part, and what belongs to it.
  expect(refused.length).toBeLessThanOrEqual(2);
  expect(rooms().server.output).not.toContain('"level":"error"');
});

test.if(IS_FULL)(
  "a room that records by itself: entering needs a click on the notice, also with autoJoin; a reload makes two recordings",
  async () => {
    const url = await rooms().room({ recordRoom: true, autoJoin: true });
    const ada = await rooms().visit(`${url}#name=Ada`, RETRIES);
    await ada.heading("This meeting is being recorded").waitFor();
    await ada.button("Agree and join").click();
    await ada.inside();
    await ada.page.locator(".rec-mark", { hasText: "Recording" }).waitFor();
    await ada.button("Turn on microphone").click();
    await recordsFor(ada, 4);
    await ada.page.reload();
    // What was agreed to holds.
    await ada.inside();
    await recordsFor(ada, 4);
    await leavesAfterUpload(ada);
    const list = await recordingsOf(rooms().app, url, 2);
    expect(list.map(({ type }) => type)).toEqual(["audio", "audio"]);
    expect(new Set(list.map(({ participantSession }) => participantSession)).size).toBe(1);
  },
);

test.if(IS_FULL)(
  "at the door: the button to enter is the one to agree; leaving waits for what a lost network has held back",
  async () => {
    const url = await rooms().room({ recordRoom: true, audioOnlyRoom: true });
    const ada = await rooms().visit(url, RETRIES);
    await ada.page.getByText("This meeting will be recorded.").waitFor();
    await ada.page.getByLabel("Your name").fill("Ada");
    await ada.button("Agree and join").click();
    await ada.inside();
    await recordsFor(ada, 3);
    await ada.context.setOffline(true);
    await recordsFor(ada, 5);
    await ada.button("Leave").click();
    await ada.page.getByText(/of your recording left to upload/).waitFor();
    await ada.page.getByRole("progressbar", { name: "Upload of your recording" }).waitFor();
    await ada.context.setOffline(false);
    await ada.page.getByText("Your recording has been uploaded.").first().waitFor();
    const [recording] = await recordingsOf(rooms().app, url, 1);
    expect((recording?.endTime ?? 0) - (recording?.startTime ?? 0)).toBeGreaterThanOrEqual(7);
  },
);

test.if(isFull)(
  "a closed tab: the next page of the host uploads the rest, also at the door of another room",
  async () => {
    const url = await rooms().room({ recordRoom: true });
    const ada = await rooms().visit(url, RETRIES);
    await ada.button("Agree and join").click();
    await ada.inside();
    await recordsFor(ada, 3);
    await ada.context.setOffline(true);
    await recordsFor(ada, 5);
    const next = await ada.context.newPage();
    await ada.page.close();
    await ada.context.setOffline(false);
    await next.goto(await rooms().room());
    const [recording] = await recordingsOf(rooms().app, url, 1);
    expect((recording?.endTime ?? 0) - (recording?.startTime ?? 0)).toBeGreaterThanOrEqual(6);
  },
);

test.if(isFull)("the screen is a recording of its own, and another camera begins another one", async () => {
  const url = await rooms().room({ recordRoom: true });
  const ada = await rooms().visit(url, RETRIES);
  await ada.button("Agree and join").click();
  await ada.inside();
  await ada.button("Share screen").click();
  await recordsFor(ada, 4);
  await ada.button("Turn off camera").click();
  await recordsFor(ada, 3);
  await leavesAfterUpload(ada);
  const types = (await recordingsOf(rooms().app, url, 3)).map(({ type }) => type);
  expect(types.sort()).toEqual(["audio", "screen", "video"]);
});

test.if(isFull)("a disk that is full: the page says so, and the recording is whole", async () => {
  const url = await rooms().room({ recordRoom: true });
  const ada = await rooms().visit(url, RETRIES);
  const devtools = await ada.context.newCDPSession(ada.page);
  await devtools.send("Storage.overrideQuotaForOrigin", { origin: new URL(url).origin, quotaSize: 20_000 });
  await ada.button("Agree and join").click();
  await ada.inside();
  await ada.page.getByText("This device cannot save your recording to its disk, so it stays in memory.").waitFor();
  await recordsFor(ada, 3);
  await leavesAfterUpload(ada);
  const [recording] = await recordingsOf(rooms().app, url, 1);
  expect(recording?.sizeInBytes).toBeGreaterThan(20_000);
});
