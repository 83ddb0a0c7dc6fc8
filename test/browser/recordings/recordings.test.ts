/** Recordings of a meeting, from cameras to files that can be played, over a reload and a restart. The long form is in lost-tabs.test.ts. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { launchChromium } from "../support/chromium.ts";
import { RecordedMeeting } from "./support/recorded-meeting.ts";
import { startSetting } from "./support/settings.ts";

setDefaultTimeout(240_000);

test("two people are recorded over a reload, and over a service that is killed", async () => {
  const [setting, browser] = await Promise.all([startSetting("a folder"), launchChromium()]);
  const meeting = await RecordedMeeting.prepare(setting, browser);
  try {
    const [ada, ben] = [await meeting.arrive("Ada", true), await meeting.arrive("Ben")];
    await meeting.record(ada);
    await ben.tab.page.reload();
    await ben.tab.inside();
    await setting.crash();
    await setting.recover();
    await meeting.hasSent(ben);
    await meeting.stop(ada);
    const compared = await meeting.allListed();
    const ofCameras = compared.filter(({ source }) => source === "camera");
    expect(ofCameras.map(({ who }) => who)).toEqual(["Ada", "Ben", "Ben"]);
  } finally {
    await meeting.end();
    await browser.close();
    await setting.stop();
  }
});
