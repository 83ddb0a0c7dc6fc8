/**
 * A minute of three people and a screen: one tab is killed, one is reloaded, a node is killed, the network is away, and one tab is killed while it is.
 * With a folder, with a bucket, and with three nodes. Only with PARLEY_TEST_FULL.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { until } from "../../support/wait.ts";
import { launchChromium } from "../support/chromium.ts";
import { leavesAfterUpload } from "../support/recordings.ts";
import { RecordedMeeting } from "./support/recorded-meeting.ts";
import { expectSeekable } from "./support/seeking.ts";
import { SETTINGS, type SettingName, startSetting } from "./support/settings.ts";
import { SHORT_TIMES } from "./support/short-times.ts";
import { expectNothingForStrangers } from "./support/strangers.ts";

setDefaultTimeout(400_000);

const isFull = process.env.PARLEY_TEST_FULL === "1";

describe.skipIf(!isFull)("a minute with losses", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());

  test.each([...SETTINGS])("with %s, each run of a recorder is one recording of what arrived", async (name) => {
    const setting = await startSetting(name, SHORT_TIMES);
    const meeting = await RecordedMeeting.prepare(setting, browser);
    try {
      await aMinute(meeting);
      const compared = await meeting.allListed();
      const runs = Map.groupBy(compared, ({ who, source }) => `${who} ${source}`);
      expect([...runs.keys()].sort()).toEqual(["Ada camera", "Ada screen", "Ben camera", "Cleo camera"]);
      expect(runs.get("Cleo camera")?.length).toBeGreaterThanOrEqual(3);
      const seeks = await expectSeekable(meeting.listed);
      report(name, { compared, seeks, looks: meeting.listed.looks });
    } finally {
      await meeting.end();
      await setting.stop();
    }
  });
});

async function aMinute(meeting: RecordedMeeting): Promise<void> {
  const { setting, people, roomName } = meeting;
  const ada = await meeting.arrive("Ada", true);
  const ben = await meeting.arrive("Ben");
  const cleo = await meeting.arrive("Cleo");
  await ada.tab.button("Share screen").click();
  await ben.tab.plays("Screen of Ada", "screen");
  await meeting.record(ada);

  await meeting.second(20);
  await ben.crash();
  await meeting.noteArrived(ben);
  const [hers, his] = [ada.sent.made[0], ben.sent.made[0]];
  if (!hers || !his) throw new Error("nothing was sent");
  await expectNothingForStrangers(setting.app, roomName, his, hers);

  await meeting.second(30);
  await cleo.tab.page.reload();
  await cleo.tab.inside();

  await meeting.second(40);
  await setting.crash();
  await setting.recover();

  await meeting.second(46);
  for (const person of people) person.offline();
  await meeting.second(51);
  await cleo.crash();
  await meeting.second(56);
  for (const person of people) person.online();
  await cleo.comeBack();
  await until("Cleo is recorded a third time", () => cleo.sent.made.length >= 3);

  await meeting.second(60);
  await meeting.hasSent(cleo);
  // What is left is sent by the page that says so.
  await leavesAfterUpload(cleo.tab);
  await meeting.stop(ada);
  await leavesAfterUpload(ada.tab);
}

function report(name: SettingName, facts: object): void {
  if (process.env.PARLEY_TEST_FIGURES) console.log(name, JSON.stringify(facts, undefined, 1));
}
