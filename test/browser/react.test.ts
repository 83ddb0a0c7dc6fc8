/** parley-client/react with React 19, or with that of PARLEY_TEST_REACT, under StrictMode, in a real browser and against a real service. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { HostileProxy } from "../support/hostile-proxy.ts";
import { call } from "../support/http.ts";
import { until } from "../support/wait.ts";
import { launchChromium } from "./support/chromium.ts";
import { Line } from "./support/line.ts";
import { OTHER_REACT, startReactSite } from "./support/react-site.ts";
import { Service } from "./support/service.ts";

setDefaultTimeout(90_000);

/** Each makes a connection of its own. */
const IS_FULL = process.env.PARLEY_TEST_FULL === "1";
const PROVIDERS = IS_FULL ? 1000 : 50;
const MOUNTS = IS_FULL ? 1000 : 200;

let browser: Browser;
let service: Service;
let site: Bun.Server<undefined>;
let line: Line;
let context: BrowserContext;
let faults: string[] = [];
let rooms = 0;
let room = "";

beforeAll(async () => {
  browser = await launchChromium();
  service = await Service.start();
  site = await startReactSite({ url: service.url, secretKey: service.keys.secretKey });
  line = await Line.to(service.port);
  const channelRules = [{ pattern: "room/**", history: { messages: 50, seconds: 3600 } }];
  await service.admin.must("PATCH", "/apps/demo", { channelRules });
});

afterAll(async () => {
  await browser?.close();
  await line?.close();
  await site?.stop(true);
  await service?.stop();
});

beforeEach(async () => {
  context = await browser.newContext();
  faults = [];
  room = `room/${++rooms}`;
});

afterEach(async () => {
  await context.close();
  expect(faults).toEqual([]);
});

type InPage = { readonly page: Readonly<Record<string, (...args: readonly unknown[]) => unknown>> };

async function open(): Promise<Page> {
  const page = await context.newPage();
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    // Chromium itself reports a WebSocket that fails, and the answer of the service to the question why.
    if (/WebSocket connection to|Failed to load resource/.test(message.text())) return;
    if (["error", "warning"].includes(message.type())) faults.push(message.text());
  });
  await page.goto(site.url.href);
  return page;
}

const ask = <T>(page: Page, method: string, ...args: unknown[]): Promise<T> =>
  page.evaluate(([name, given]) => (globalThis as unknown as InPage).page[name]?.(...given) as T, [
    method,
    args,
  ] as const) as Promise<T>;

const credential = (peer: string, port = service.port) => ({ url: `http://127.0.0.1:${port}`, peer });

async function enter(peer: string, port?: number): Promise<Page> {
  const page = await open();
  await ask(page, "chat", credential(peer, port), room);
  await shows(page, "#status", "connected");
  return page;
}

const shows = (page: Page, selector: string, text: string): Promise<unknown> =>
  page.waitForFunction(`document.querySelector("${selector}")?.textContent === "${text}"`);

const entries = (page: Page): Promise<string[]> => page.locator("#entries li").allTextContents();

async function say(page: Page, text: string): Promise<void> {
  await page.fill("#text", text);
  await page.press("#text", "Enter");
}

async function publish(...texts: string[]): Promise<void> {
  const url = `${service.url}/v1/channels/${encodeURIComponent(room)}/publish`;
  for (const text of texts) await call(url, { body: { data: { text } }, bearer: service.keys.secretKey });
}

const lists = (page: Page, ...texts: string[]): Promise<unknown> =>
  until(`the page lists ${texts.join(", ")}`, async () => Bun.deepEquals(await entries(page), texts));

/** What the service knows of the room, and of all connections. */
async function onService(): Promise<{ channels: number; connections: number }> {
  type Found = { data: unknown[] };
  const bearer = service.keys.secretKey;
  const channels = await call<Found>(`${service.url}/v1/channels?prefix=${room}`, { bearer });
  const usage = await call<{ concurrentNow: number }>(`${service.url}/v1/usage`, { bearer });
  return { channels: channels.body.data.length, connections: usage.body.concurrentNow };
}

test("two pages chat: each shows the members, who types, and every message once, its own included", async () => {
  const alice = await enter("alice");
  const bob = await enter("bob");
  await Promise.all([shows(alice, "#members", "bob"), shows(bob, "#members", "alice")]);
  await alice.click("#type");
  await shows(bob, "#typing", "alice");
  await say(alice, "one");
  await lists(bob, "alice: one");
  await say(bob, "two");
  for (const page of [alice, bob]) await lists(page, "alice: one", "bob: two");
  expect([await ask<number>(alice, "made"), await ask<number>(bob, "made")]).toEqual([1, 1]);
  expect(await ask<object>(alice, "sent")).toMatchObject({ subscribe: 1 });
  await ask(bob, "remove");
  await shows(alice, "#members", "");
});

test("behind a network without WebSocket the hooks work over HTTP, also when the connection is lost", async () => {
  await using proxy = await HostileProxy.to(service.port, { upgrades: 403 });
  const alice = await enter("alice", Number(new URL(proxy.url).port));
  const bob = await enter("bob");
  await Promise.all([shows(alice, "#members", "bob"), shows(bob, "#members", "alice")]);
  await alice.click("#type");
  await shows(bob, "#typing", "alice");
  await say(alice, "one");
  await lists(bob, "alice: one");
  proxy.cut();
  await say(bob, "two");
  await until("it connects again", () => proxy.streams >= 2 && proxy.openStreams === 1);
  await say(alice, "three");
  for (const page of [alice, bob]) await lists(page, "alice: one", "bob: two", "alice: three");
  await shows(bob, "#members", "alice");
});

test("of two components with states of one channel, the removal of one ends neither the states nor the own state of the other", async () => {
  const [alice, bob] = [await open(), await open()];
  await ask(alice, "typists", credential("alice"), room, "first", "second");
  await ask(bob, "typists", credential("bob"), room, "watching");
  await alice.click("#first");
  await shows(bob, "#seen-by-watching", "first");
  await alice.click("#second");
  await shows(bob, "#seen-by-watching", "second");
  await ask(alice, "typists", credential("alice"), room, "second");
  // Bob's state comes behind whatever Alice's page has sent.
  await bob.click("#watching");
  await shows(alice, "#seen-by-second", "watching");
  await shows(bob, "#seen-by-watching", "second");
  await ask(alice, "typists", credential("alice"), room, "third", "second");
  await alice.click("#third");
  await shows(bob, "#seen-by-watching", "third");
  await ask(alice, "typists", credential("alice"), room, "second");
  await shows(bob, "#seen-by-watching", "second");
  await ask(alice, "typists", credential("alice"), room);
  await shows(bob, "#seen-by-watching", "");
});

test("earlier messages: the list begins with the last three, and the others are loaded page by page", async () => {
  await publish("1", "2", "3", "4", "5", "6");
  const page = await enter("alice");
  const from = (...texts: string[]): string[] => texts.map((text) => `server: ${text}`);
  await lists(page, ...from("4", "5", "6"));
  await page.click("#earlier");
  await lists(page, ...from("2", "3", "4", "5", "6"));
  await page.click("#earlier");
  await lists(page, ...from("1", "2", "3", "4", "5", "6"));
  await page.waitForSelector("#earlier", { state: "detached" });
});

test("earlier messages are offered only where there may be some", async () => {
  await publish("1");
  const page = await enter("alice");
  await lists(page, "server: 1");
  expect(await page.locator("#earlier").count()).toBe(0);
  // A channel that keeps no messages.
  room = `plain/${rooms}`;
  const plain = await enter("bob");
  await say(plain, "2");
  await lists(plain, "bob: 2");
  expect(await plain.locator("#earlier").count()).toBe(0);
});

test("a cut of the network shows in the status; what was missed arrives, and too much is shown as a gap", async () => {
  const page = await enter("alice", line.port);
  await publish("one");
  await lists(page, "server: one");
  line.cut();
  await shows(page, "#status", "reconnecting");
  await publish("two");
  line.mend();
  await shows(page, "#status", "connected");
  await lists(page, "server: one", "server: two");
  line.cut();
  await shows(page, "#status", "reconnecting");
  await publish(...Array.from({ length: 60 }, (_, at) => `missed ${at}`));
  line.mend();
  await lists(page, "server: one", "server: two", "gap not_recovered");
  const story = await ask<string[]>(page, "story");
  expect(story.filter((one) => one.startsWith("status")).slice(0, 5)).toEqual([
    "status connecting",
    "status connected",
    "status reconnecting",
    "status connected",
    "status reconnecting",
  ]);
});

test("the newest handler is called, and a new one does not subscribe again", async () => {
  const page = await enter("alice");
  await publish("first");
  await lists(page, "server: first");
  for (let at = 0; at < 20; at++) await page.click("#click");
  await shows(page, "#click", "20");
  await publish("second");
  const url = `${service.url}/v1/peers/alice/send`;
  await call(url, { body: { data: { text: "third" } }, bearer: service.keys.secretKey });
  await until("the direct message came", async () =>
    (await ask<string[]>(page, "story")).some((one) => one.includes("third")),
  );
  const heard = (await ask<string[]>(page, "story")).filter((one) => one.includes("clicks"));
  expect(heard).toEqual(["0 clicks: first", "20 clicks: second", "20 clicks, direct: third"]);
  expect(await ask<object>(page, "sent")).toMatchObject({ subscribe: 1 });
});

test("a component that replaces another of the same channel shows its list at once", async () => {
  await publish("one", "two");
  expect(await ask<string[]>(await open(), "swapped", credential("alice"), room)).toEqual([
    "server: one",
    "server: two",
  ]);
});

// <Activity> came with React 19.2.
test.skipIf(OTHER_REACT !== undefined)(
  "a provider that is hidden closes its connection, and makes another when it is shown again",
  async () => {
    const page = await open();
    await ask(page, "hidden", credential("alice"), room, false);
    await shows(page, "#status", "connected");
    await ask(page, "hidden", credential("alice"), room, true);
    await until("the service has no connection", async () => (await onService()).connections === 0);
    await ask(page, "hidden", credential("alice"), room, false);
    await shows(page, "#status", "connected");
    await publish("back");
    await lists(page, "server: back");
    expect(await ask<number>(page, "made")).toBe(2);
  },
);

test(`${MOUNTS} mounts and unmounts under one client leave no listener, no subscription and no timer`, async () => {
  const page = await open();
  await ask(page, "churn", credential("alice"), room, MOUNTS);
  await until("the service has no subscription", async () => (await onService()).channels === 0);
  const { sockets, listeners } = await ask<{ sockets: number; listeners: number }>(page, "open");
  expect([sockets, listeners, (await onService()).connections]).toEqual([1, 0, 1]);
  await ask(page, "closeAll");
  await isEmpty(page);
});

test(`${PROVIDERS} providers with clients of their own leave no connection, no listener and no timer`, async () => {
  const page = await open();
  await ask(page, "churnProviders", credential("alice"), room, PROVIDERS);
  await isEmpty(page);
});

/** Nothing is left of the page's clients, here or on the service. */
async function isEmpty(page: Page): Promise<void> {
  const nothing = { sockets: 0, timers: 0, listeners: 0 };
  await until("the page has nothing open", async () => Bun.deepEquals(await ask(page, "open"), nothing)).catch(
    async (error) => {
      throw new Error(`${error}: ${JSON.stringify(await ask(page, "open"))}`);
    },
  );
  await until("the service has no connection", async () => (await onService()).connections === 0);
}

test.if(IS_FULL)("components that are drawn slowly show the same members, while these come and go", async () => {
  const page = await open();
  await ask(page, "wall", credential("alice"), room);
  await shows(page, "#status", "connected");
  const coming = await open();
  let isOver = false;
  const comings = (async () => {
    while (!isOver) {
      await ask(coming, "chat", credential("bob"), room);
      await shows(coming, "#status", "connected");
      await ask(coming, "remove");
    }
  })();
  await until("all rounds are drawn", async () => (await ask<string[]>(page, "story")).includes("wall complete"));
  isOver = true;
  await comings;
  const pictures = await ask<string[][]>(page, "pictures");
  const torn = pictures.filter((picture) => new Set(picture).size > 1);
  expect(torn).toEqual([]);
  // Otherwise nothing has changed meanwhile, and this test shows nothing.
  expect(new Set(pictures.flat()).size).toBe(2);
});
