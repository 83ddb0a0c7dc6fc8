/** Chromium seeks in a mended recording: it loads the index and what it shows, and not the rest. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { MEND_COMMAND, ProcessMender } from "../../../src/recordings/mending/process-mender.ts";
import { looped, RECORDED, serveRanges } from "../../support/media.ts";
import { scratch } from "../../support/temp.ts";
import { launchChromium } from "../support/chromium.ts";

setDefaultTimeout(60_000);

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

/** However slow the machine is, nothing is on its way that the page has not asked for. */
const ANSWER_BYTES = 128 * 1024;

/** Runs in the page. */
const SEEK = `(async () => {
  const video = document.querySelector("video");
  const event = (name) =>
    new Promise((resolve, reject) => {
      video.addEventListener(name, resolve, { once: true });
      video.addEventListener("error", () => reject(new Error(video.error?.message)), { once: true });
    });
  if (video.readyState < HTMLMediaElement.HAVE_METADATA) await event("loadedmetadata");
  const seeked = event("seeked");
  video.currentTime = video.duration - 5;
  await seeked;
  return { duration: video.duration, at: video.currentTime, width: video.videoWidth };
})()`;

test("to the end of a quarter of an hour, in a small part of the file", async () => {
  using folder = scratch();
  const [path, output] = [join(folder.path, "recorded"), join(folder.path, "mended")];
  await looped(join(RECORDED, "camera.webm"), 120, path);
  const { size } = Bun.file(path);
  const mended = await new ProcessMender({ command: MEND_COMMAND }).mend({ path, format: "webm", size }, output);
  expect(mended.outcome).toBe("mended");
  const server = serveRanges(output, ANSWER_BYTES);
  const page = await browser.newPage();
  await page.setContent(`<video src="${server.url}" muted preload="metadata"></video>`);
  const shown = await page.evaluate<{ duration: number; at: number; width: number }>(SEEK);
  await page.close();
  server.stop();
  expect(Math.abs(shown.duration - 120 * 8)).toBeLessThan(10);
  expect(shown.at).toBeCloseTo(shown.duration - 5, 1);
  expect(shown.width).toBe(320);
  expect(server.sent).toBeLessThan(size / 4);
});
