/** The start page in Firefox: two tabs that chat and call each other by keyboard, over a restart, and the public SDK in a page. */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { TIMEOUT_MS } from "../../support/wait.ts";
import { Call } from "../support/call.ts";
import { listen } from "../support/complaints.ts";
import { browserForTests } from "../support/dashboard.ts";
import { LOST_NETWORK } from "../support/firefox/reports.ts";
import { launchFirefox } from "../support/firefox.ts";
import { Service } from "../support/service.ts";
import { Site } from "../support/site.ts";

setDefaultTimeout(120_000);

const browser = browserForTests(launchFirefox);
let service: Service;
const complaints: string[] = [];
beforeAll(async () => {
  service = await Service.start();
});
afterEach(() => {
  expect(complaints.splice(0)).toEqual([]);
});
afterAll(() => service?.stop());

async function openTab(context: BrowserContext): Promise<{ page: Page; name: string }> {
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  listen(page, (text) => complaints.push(text), LOST_NETWORK);
  await page.goto(`${service.url}/`);
  const state = page.locator("#state").filter({ hasText: /^Connected as/ });
  return { page, name: /Connected as (\S+)\./.exec((await state.textContent()) ?? "")?.[1] ?? "" };
}

/** Keys go to the window in front, as those of a person do. */
async function press(page: Page, name: string | RegExp): Promise<void> {
  await page.bringToFront();
  await page.getByRole("button", { name }).press("Enter");
}

const shows = (page: Page, id: string, text: string | RegExp): Promise<void> =>
  page.locator(`#${id}`).filter({ hasText: text }).waitFor();
const said = (page: Page, text: string): Locator => page.getByRole("log").locator("p").filter({ hasText: text });

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message").fill(text);
  await page.getByLabel("Message").press("Enter");
}

/** Resolves when two further pictures are shown. */
const moves = (page: Page, id: "mine" | "theirs"): Promise<unknown> =>
  page.evaluate(`new Promise((resolve) => {
    const video = document.getElementById("${id}");
    video.requestVideoFrameCallback(() => video.requestVideoFrameCallback(() => resolve(true)));
  })`);

test("two tabs chat, call each other with camera and data channel, and go on after a restart", async () => {
  const context = await browser().newContext();
  const [a, b] = [await openTab(context), await openTab(context)];
  await say(a.page, "hello");
  await said(b.page, "hello").waitFor();
  await press(a.page, `Call ${b.name}`);
  await shows(b.page, "call-state", `${a.name} is calling.`);
  await press(b.page, "Answer");
  for (const { page } of [a, b]) {
    await shows(page, "round-trip", /open, round trip [\d.]+ ms/);
    await Promise.all([moves(page, "theirs"), moves(page, "mine")]);
  }
  await service.down();
  await service.up();
  for (const { page } of [a, b]) {
    await shows(page, "state", /^Connected as/);
    await moves(page, "theirs");
  }
  await say(b.page, "after the restart");
  await said(a.page, "after the restart").waitFor();
  await context.close();
});

test("the public SDK: a call with video and a data channel goes on over a cut of the network", async () => {
  const site = new Site({ url: service.url, secretKey: service.keys.secretKey });
  const place = { url: service.url, secretKey: service.keys.secretKey };
  const ports = { alice: service.port, bob: service.port };
  const call = await Call.begin(browser(), site, { ...place, ports }, "room/firefox");
  try {
    call.lines.bob.cut();
    await call.bob.reconnecting();
    call.lines.bob.mend();
    await call.goesOn();
  } finally {
    await call.end();
    await site.stop();
  }
  complaints.push(...call.faults.filter((one) => !LOST_NETWORK.test(one)));
});
