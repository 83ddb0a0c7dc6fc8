/** A bare EventSource follows a stream over HTTP, whatever becomes of its connections: in Firefox. */
import { afterAll, beforeAll, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { followsThroughCuts } from "../support/event-source.ts";
import { launchFirefox } from "../support/firefox.ts";

setDefaultTimeout(120_000);

let browser: Browser;
beforeAll(async () => {
  browser = await launchFirefox();
});
afterAll(() => browser?.close());

test("an EventSource behind a proxy that ends every connection gets each message once, in order", () =>
  followsThroughCuts(browser));
