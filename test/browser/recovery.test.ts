/** examples/sdk-recovery in a real browser: the unmodified SDK misses nothing on a channel with history. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { call } from "../support/http.ts";
import { launchChromium } from "./support/chromium.ts";
import { Line } from "./support/line.ts";
import { Service } from "./support/service.ts";
import { Site } from "./support/site.ts";
import { Tab } from "./support/tab.ts";

setDefaultTimeout(90_000);

let browser: Browser;
let service: Service;
let site: Site;
let line: Line;
let tab: Tab;
let rooms = 0;
let room = "";

beforeAll(async () => {
  browser = await launchChromium();
  service = await Service.start();
  site = new Site({ url: service.url, secretKey: service.keys.secretKey });
  line = await Line.to(service.port);
  const channelRules = [{ pattern: "room/**", history: { messages: 50, seconds: 3600 } }];
  await service.admin.must("PATCH", "/apps/demo", { channelRules });
});

afterAll(async () => {
  await browser?.close();
  await line?.close();
  await site?.stop();
  await service?.stop();
});

beforeEach(async () => {
  room = `room/${++rooms}`;
  tab = await Tab.open(await browser.newContext(), `${site.origin}/`);
  await tab.connect({ url: `ws://127.0.0.1:${line.port}`, peerId: "alice", recovers: true }, room);
});

async function publish(...texts: string[]): Promise<void> {
  const url = `${service.url}/v1/channels/${encodeURIComponent(room)}/publish`;
  for (const text of texts) {
    const { status } = await call(url, { body: { data: { text } }, bearer: service.keys.secretKey });
    expect(status).toBe(200);
  }
}

/** The page has no network while this is published. */
async function publishWhileAway(...texts: string[]): Promise<void> {
  line.cut();
  await tab.reconnecting();
  await publish(...texts);
  line.mend();
}

test("a page that loses the network gets what it has missed, once and in order", async () => {
  await publish("one");
  await publishWhileAway("two", "three");
  await tab.heard("three");
  await publish("four");
  await tab.heard("four");
  expect(await tab.texts()).toEqual(["one", "two", "three", "four"]);
});

test("a page recovers over a restart of the service", async () => {
  await publish("one", "two");
  await tab.heard("two");
  await service.down();
  await tab.reconnecting();
  await service.up();
  await publish("three");
  await tab.heard("three");
  expect(await tab.texts()).toEqual(["one", "two", "three"]);
});

test("a page that has missed too much is notified", async () => {
  await publish("one");
  await tab.heard("one");
  await publishWhileAway(...Array.from({ length: 60 }, (_, at) => `missed ${at}`));
  expect(await tab.gap()).toBe(room);
  await publish("new");
  await tab.heard("new");
  expect(await tab.texts()).toEqual(["one", "new"]);
});
