/** The dashboard plays recordings of a bucket: from its own address, as its policy demands, and without loading a file whole to seek in it. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { missingBrowser } from "../browser/support/chromium.ts";
import { browserForTests, Dashboard } from "../browser/support/dashboard.ts";
import { longMeeting, playsLongMeeting } from "../browser/support/long-meeting.ts";
import { filesLoaded, hasData, lengthOf, longAudio, play, seek } from "../browser/support/playing.ts";
import { newApplication } from "../support/application.ts";
import { type Server, startParley } from "../support/parley.ts";
import { Backend } from "../support/recordings.ts";
import { type S3Service, startS3 } from "../support/s3.ts";
import { IS_FULL } from "../support/slack.ts";

setDefaultTimeout(90_000);

const browser = missingBrowser === undefined ? browserForTests() : undefined;
let service: S3Service;
let server: Server;
beforeAll(async () => {
  service = await startS3();
  server = await startParley({ env: { PARLEY_STORAGE_URL: service.storageUrl, PARLEY_DEMO: "off" } });
}, 600_000);
afterAll(async () => {
  await server.stop();
  await service.stop();
});

test.skipIf(browser === undefined)("a long recording plays, also from near its end", async () => {
  if (!browser) return;
  const backend = new Backend(await newApplication(server));
  const file = longAudio(300);
  const { _id } = await backend.record({ type: "audio" }, file);
  // A request to the bucket itself would be a complaint.
  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken });
  const page = await dashboard.page();
  const loaded = await filesLoaded(page);
  await page.goto(`${server.url}/dashboard/apps/${backend.app.name}/recordings/${_id}`);
  await hasData(page);
  expect(await lengthOf(page)).toBeCloseTo(300, 0);
  await seek(page, 280);
  await play(page);
  expect(loaded.ranges.filter((range) => /^bytes=[1-9]\d*-/.test(range)).length).toBeGreaterThan(0);
  expect(loaded.bytes).toBeLessThan(file.length / 2);
});

test.skipIf(browser === undefined || !IS_FULL)(
  "a whole meeting of an hour plays in step, and is sought in",
  async () => {
    if (!browser) return;
    const backend = new Backend(await newApplication(server));
    const meeting = await longMeeting(backend);
    let loaded: { readonly bytes: number } | undefined;
    await playsLongMeeting(browser(), server, backend.app.name, meeting, async (page) => {
      loaded = await filesLoaded(page);
    });
    expect(loaded?.bytes).toBeLessThan(meeting.bytes / 2);
  },
  240_000,
);
