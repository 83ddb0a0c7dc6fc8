/** The start page in Firefox: two tabs that chat and call each other by keyboard, over a restart, and the public SDK in a page. */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { TIMEOUT_MS } from "../../support/wait.ts";
import { Call } from "../support/call.ts";
import { listen } from "../support/complaints.ts";
import { browserForTests } from "../support/dashboard.ts";
import { LOST_NETWORK } from "../support/firefox/reports.ts";
import { launchFirefox } from "../support/firefox.ts";
import { button, moves, nameOf, said, say, shows } from "../support/people.ts";
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

/** A tab with one person. */
async function openTab(context: BrowserContext, name: string): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  listen(page, (text) => complaints.push(text), LOST_NETWORK);
  await page.goto(`${service.url}/?peers=1`);
  await nameOf(page);
  await page.bringToFront();
  // With keys: Firefox reports no change of a text that was set at once.
  const field = page.getByLabel("Your name");
  await field.selectText();
  await field.pressSequentially(name);
  await field.press("Enter");
  return page;
}

/** Keys go to the window in front, as those of a person do. */
async function press(page: Page, name: string): Promise<void> {
  await page.bringToFront();
  await button(page, name).press("Enter");
}

test("two tabs chat, call each other with camera and data channel, and go on after a restart", async () => {
  const context = await browser().newContext();
  const [a, b] = [await openTab(context, "Ann"), await openTab(context, "Bob")];
  await Promise.all([button(a, "Call Bob").waitFor(), button(b, "Call Ann").waitFor()]);
  await say(a, "hello");
  await said(b, "Ann hello").waitFor();
  await press(a, "Call Bob");
  await shows(b, "call-state", "Ann is calling.");
  await press(b, "Answer");
  for (const page of [a, b]) {
    await shows(page, "round-trip", /round trip [\d.]+ ms/);
    await Promise.all([moves(page, "theirs"), moves(page, "mine")]);
  }
  await service.down();
  for (const page of [a, b]) await shows(page, "state", "Trying again");
  await service.up();
  await Promise.all([shows(a, "who", "Bob"), shows(b, "who", "Ann")]);
  for (const page of [a, b]) await moves(page, "theirs");
  await say(b, "after the restart");
  await said(a, "Bob after the restart").waitFor();
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
