/** A bare EventSource follows a stream over HTTP, whatever becomes of its connections. */
import { afterAll, beforeAll, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { launchChromium } from "./support/chromium.ts";
import { followsThroughCuts } from "./support/event-source.ts";

setDefaultTimeout(120_000);

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

test("an EventSource behind a proxy that ends every connection gets each message once, in order", () =>
  followsThroughCuts(browser));
