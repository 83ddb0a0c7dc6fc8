/** A whole meeting of an hour in the dashboard, in Firefox and in Chromium: it opens, is sought in, and plays in step at twice the speed. */
import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { launchChromium } from "../support/chromium.ts";
import { browserForTests } from "../support/dashboard.ts";
import { launchFirefox } from "../support/firefox.ts";
import { type LongMeeting, longMeeting, playsLongMeeting } from "../support/long-meeting.ts";
import { filesLoaded } from "../support/playing.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(240_000);

const firefox = browserForTests(launchFirefox);
const chromium = browserForTests(launchChromium);
const server = await dashboardServer();
const { backend } = await newShop(server, "shop");
let meeting: LongMeeting;
beforeAll(async () => {
  meeting = await longMeeting(backend);
}, 240_000);

test("in Firefox", () => playsLongMeeting(firefox(), server, "shop", meeting));

test("in Chromium, which loads a part of the files", async () => {
  let loaded: { readonly bytes: number; readonly ranges: string[] } | undefined;
  await playsLongMeeting(chromium(), server, "shop", meeting, async (page) => {
    loaded = await filesLoaded(page);
  });
  expect(loaded?.ranges.filter((range) => /^bytes=[1-9]\d*-/.test(range)).length).toBeGreaterThan(0);
  expect(loaded?.bytes).toBeLessThan(meeting.bytes / 2);
});
