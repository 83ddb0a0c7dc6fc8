/** A meeting of two people, recorded by their pages and played back in the dashboard: one clock, who spoke when, thumbnails. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../../support/wait.ts";
import { violations } from "../support/axe.ts";
import { browserForTests, button, Dashboard, heading, link, NARROW_DARK } from "../support/dashboard.ts";
import { eventually } from "../support/eventually.ts";
import { leavesAfterUpload, recordingsOf, recordsFor } from "../support/recordings.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";
import { Visitor } from "../support/visitor.ts";

setDefaultTimeout(180_000);

const browser = browserForTests();
const server = await dashboardServer();

interface Track {
  readonly name: string;
  readonly at: number;
  readonly isPaused: boolean;
}

/** The files that are shown: whose they are, and where they are, in seconds. */
const tracks = async (page: Page): Promise<Track[]> =>
  page.evaluate<Track[]>(`[...document.querySelectorAll(".tile:not([hidden]) video")].map((one) => ({
    name: one.ariaLabel.split(",")[0], at: one.currentTime, isPaused: one.paused }))`);

/** In seconds. */
const position = (page: Page): Promise<number> =>
  page.evaluate<number>(`document.querySelector("input.seek").valueAsNumber / 1000`);

test("two people who came one after the other are played in step, are sought together, and have lanes of what they said", async () => {
  const { backend } = await newShop(server, "shop");
  const url = `http://${backend.app.host}/standup`;
  await backend.app.must("POST", "/room", { roomName: "standup", recordRoom: true });
  const enter = async (name: string): Promise<Visitor> => {
    const visitor = await Visitor.open(browser());
    await visitor.goto(url);
    await visitor.page.getByLabel("Your name").fill(name);
    await visitor.button("Agree and join").click();
    await visitor.inside();
    return visitor;
  };
  const ada = await enter("Ada");
  await recordsFor(ada, 3);
  const ben = await enter("Ben");
  await recordsFor(ben, 8);
  await leavesAfterUpload(ada);
  await leavesAfterUpload(ben);
  for (const one of [ada, ben]) await one.context.close();
  expect([...ada.complaints, ...ben.complaints]).toEqual([]);
  await recordingsOf(backend.app, url, 2);
  const { data } = await backend.list({ room: "standup" });
  const made = data as unknown as {
    _id: string;
    participantUsername: string;
    meetingSession: string;
    startTimeMs: number;
    hasThumbnail?: boolean;
    speechMs: number;
  }[];
  const [first, second] = made.toSorted((one, other) => one.startTimeMs - other.startTimeMs);
  if (!first || !second) throw new Error("there are not two recordings");
  expect([first.participantUsername, second.participantUsername]).toEqual(["Ada", "Ben"]);
  for (const one of [first, second]) {
    expect(one.hasThumbnail).toBe(true);
    // The browser's microphone beeps every second.
    expect(one.speechMs).toBeGreaterThan(3000);
  }
  const laterBy = (second.startTimeMs - first.startTimeMs) / 1000;
  expect(laterBy).toBeGreaterThan(2.5);

  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken });
  const page = await dashboard.page(`/apps/shop/meetings/${first.meetingSession}`);
  await page.getByRole("heading", { name: "Who spoke" }).waitFor();
  expect(await page.locator(".spoke dt").allInnerTexts()).toEqual(["Ada", "Ben"]);
  await until("the thumbnails are there", () =>
    page.evaluate<boolean>(`(() => {
      const all = [...document.querySelectorAll(".thumb img")];
      return all.length === 2 && all.every((one) => one.naturalWidth === 320);
    })()`),
  );
  await link(page, "Play all together").click();
  await heading(page, "Playback of standup").waitFor();
  await page.locator(".lane").nth(1).waitFor();
  expect(await page.locator(".lane .name").allInnerTexts()).toEqual(["Ada", "Ben"]);
  expect(await page.locator(".lane-spoke").allInnerTexts()).toEqual([
    expect.stringMatching(/^spoke \d+ s$/),
    expect.stringMatching(/^spoke \d+ s$/),
  ]);
  for (const what of ["recorded", "spoken"])
    for (const path of await page.locator(`.lane-${what} path`).all())
      expect(await path.getAttribute("d")).toMatch(/^M\d+ 0H\d+V1H\d+Z/);
  expect(await violations(page)).toEqual([]);

  /** Both files are where the clock is; Ben's began later. */
  const areInStep = async (withinSec: number, least = 2): Promise<boolean> => {
    const [at, all] = [await position(page), await tracks(page)];
    const drifts = all.map(({ name, at: own }) => Math.abs(own + (name === "Ben" ? laterBy : 0) - at));
    return drifts.length >= least && Math.max(...drifts) < withinSec;
  };
  // Before Ben came, there is Ada alone.
  expect((await tracks(page)).map(({ name }) => name)).toEqual(["Ada"]);
  const seek = page.getByLabel("Position in the meeting");
  await seek.focus();
  for (let n = 0; n < 2; n++) await page.keyboard.press("ArrowRight");
  await until("both files are at ten seconds", async () => (await position(page)) === 10 && (await areInStep(0.1)));
  await page.keyboard.press("ArrowLeft");
  // On a busy machine Ben may not be there yet.
  await until(
    "what is shown is at five seconds",
    async () => (await position(page)) === 5 && (await areInStep(0.1, 1)),
  );
  // A line of the list goes to where its person begins to speak, and marks that person.
  await page
    .getByRole("table", { name: "Who spoke when" })
    .getByRole("button", { name: /, Ben$/ })
    .first()
    .click();
  await page.locator(".tile.speaking", { hasText: "Ben" }).waitFor();
  await eventually(() => page.locator(".tile.speaking").count(), 1);
  expect(await page.locator(".seek-axis span").first().innerText()).toBe("0:00");
  // A click into a lane goes to that place.
  const lane = await page.locator(".lane-track").first().boundingBox();
  if (!lane) throw new Error("there is no lane");
  await page.mouse.click(lane.x + lane.width / 2, lane.y + lane.height / 2);
  const length = Number(await seek.getAttribute("max")) / 1000;
  expect(await position(page)).toBeCloseTo(length / 2, 0);

  await page.keyboard.press("Space");
  await until("both play", async () => (await tracks(page)).filter(({ isPaused }) => !isPaused).length === 2);
  await until("both are in step", () => areInStep(0.25));
  await page.getByLabel("Speed").selectOption("2");
  await button(page, "Mute Ben").click();
  expect(await page.evaluate(`[...document.querySelectorAll(".tile video")].map((one) => one.muted)`)).toEqual([
    false,
    true,
  ]);
  await until("it ends", async () => (await position(page)) >= length - 0.1);
  await button(page, "Play").waitFor();

  // What is missing does not stop the others.
  await page.route(`**/recordings/${second._id}/file**`, (route) => route.fulfill({ status: 200, body: "none" }));
  await page.goto(`${page.url().split("?")[0]}?at=${Math.ceil(laterBy) + 1}`);
  await page.getByText("This file cannot be played.").waitFor();
  await button(page, "Play").click();
  await until("Ada is played", async () => (await position(page)) > 7.5);
  await page.setViewportSize({ width: NARROW_DARK.width, height: 740 });
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  expect(await violations(page)).toEqual([]);
});
