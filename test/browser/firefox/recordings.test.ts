/** Recordings that Firefox makes: what is in the files, whether players seek in them, and what is saved of a tab that is closed. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { complaints, ffprobe, frameAt } from "../../support/media.ts";
import { scratch } from "../../support/temp.ts";
import { launchChromium } from "../support/chromium.ts";
import { browserForTests } from "../support/dashboard.ts";
import { launchFirefox } from "../support/firefox.ts";
import { meetingRooms } from "../support/meeting-rooms.ts";
import { hasData, lengthOf, play, seek } from "../support/playing.ts";
import {
  agreesAndStays,
  downloaded,
  type Listed,
  leavesAfterUpload,
  recordingsOf,
  recordsFor,
  startsRecording,
} from "../support/recordings.ts";
import type { Visitor } from "../support/visitor.ts";

setDefaultTimeout(180_000);

const rooms = meetingRooms(launchFirefox);
const chromium = browserForTests(launchChromium);

afterEach(() => rooms().allLeave());

/** Pages that come back find uploads that are busy. */
const RETRIES = { expected: /409|423|WebSocket|The connection to ws/ } as const;
/** How much the list, in whole seconds, and the file may differ. */
const DIFFER_SEC = 2.5;

const hostOf = async (url: string): Promise<Visitor> => {
  const host = await rooms().visit(`${url}#token=${await rooms().token(url, { isAdmin: true, name: "Hana" })}`);
  await host.button("Join").click();
  await host.inside();
  return host;
};

/** The file has a duration, that of the list; it can be decoded to its end; and one can seek in it. */
async function expectWhole({ _id, startTime, endTime, type }: Listed, codecs: readonly string[]): Promise<void> {
  using folder = scratch();
  const path = join(folder.path, "recording.webm");
  await Bun.write(path, await downloaded(rooms().app, _id));
  const probed = await ffprobe(path);
  expect(probed.codecs).toEqual([...codecs]);
  expect(Math.abs(probed.duration - (endTime - startTime))).toBeLessThan(DIFFER_SEC);
  expect(await complaints(path)).toBe("");
  if (type !== "audio") expect(await frameAt(path, Math.floor(probed.duration / 2))).toContain("#dimensions 0:");
}

/** In a page with nothing else, by the link that others can be given. */
async function playsIn(browser: Browser, { _id, endTime, startTime }: Listed): Promise<void> {
  const { app } = rooms();
  const { url } = await app.must<{ url: string }>("GET", `/recording/${_id}/download`);
  const page = await browser.newPage();
  await page.setContent(`<video class="player" src="${url}" muted preload="metadata"></video>`);
  await hasData(page);
  expect(Math.abs((await lengthOf(page)) - (endTime - startTime))).toBeLessThan(DIFFER_SEC);
  await play(page);
  await seek(page, 3);
  await play(page);
  await page.close();
}

test("two cameras: each file is whole, and plays in Firefox and in Chromium", async () => {
  const url = await rooms().room({ enableRecording: true });
  const ada = await (await rooms().visit(url)).enter("Ada");
  const host = await hostOf(url);
  await startsRecording(host);
  await ada.heading("This meeting is being recorded").waitFor();
  await agreesAndStays(ada);
  await recordsFor(ada, 8);
  await host.page.keyboard.press("r");
  await ada.announced("Recording stopped.");
  await Promise.all([leavesAfterUpload(host), leavesAfterUpload(ada)]);
  const list = await recordingsOf(rooms().app, url, 2);
  expect(list.map(({ participantUsername, type }) => `${participantUsername} ${type}`).sort()).toEqual([
    "Ada video",
    "Hana video",
  ]);
  for (const one of list) {
    expect(one.endTime - one.startTime).toBeGreaterThanOrEqual(7);
    await expectWhole(one, ["opus", "vp8"]);
  }
  const [first] = list;
  if (!first) throw new Error("nothing was recorded");
  await playsIn(rooms().browser, first);
  await playsIn(chromium(), first);
});

test("a microphone, over a reload: two files with sound alone", async () => {
  const url = await rooms().room({ recordRoom: true, audioOnlyRoom: true });
  const ada = await rooms().visit(url, RETRIES);
  await ada.page.getByLabel("Your name").fill("Ada");
  await ada.button("Agree and join").click();
  await ada.inside();
  await recordsFor(ada, 4);
  await ada.page.reload();
  await ada.inside();
  await recordsFor(ada, 4);
  await leavesAfterUpload(ada);
  const list = await recordingsOf(rooms().app, url, 2);
  for (const one of list) await expectWhole(one, ["opus"]);
});

test("a closed tab: the next page uploads what it has left on the disk, and the file is whole", async () => {
  const url = await rooms().room({ recordRoom: true });
  const ada = await rooms().visit(url, RETRIES);
  await ada.page.getByLabel("Your name").fill("Ada");
  await ada.button("Agree and join").click();
  await ada.inside();
  await recordsFor(ada, 6);
  const next = await ada.context.newPage();
  await ada.page.close();
  await next.goto(await rooms().room());
  const [recording] = await recordingsOf(rooms().app, url, 1);
  if (!recording) throw new Error("nothing was recorded");
  expect(recording.endTime - recording.startTime).toBeGreaterThanOrEqual(4);
  await expectWhole(recording, ["opus", "vp8"]);
});
