/** The unmodified SDK in a real browser: chat, presence, calls between pages, and reconnects after an outage. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, BrowserContext } from "playwright-core";
import { within } from "../support/wait.ts";
import { launchChromium } from "./support/chromium.ts";
import { Line } from "./support/line.ts";
import { Service } from "./support/service.ts";
import { Site } from "./support/site.ts";
import { type Credential, Tab } from "./support/tab.ts";

setDefaultTimeout(90_000);

let browser: Browser;
let service: Service;
let site: Site;
let context: BrowserContext;
let tabs: Tab[] = [];

beforeAll(async () => {
  browser = await launchChromium();
  service = await Service.start();
  site = new Site({ url: service.url, secretKey: service.keys.secretKey });
});

afterAll(async () => {
  await browser?.close();
  await site?.stop();
  await service?.stop();
});

beforeEach(async () => {
  context = await browser.newContext();
  tabs = [];
});

afterEach(async () => {
  const faults = tabs.flatMap((tab) => tab.faults);
  await context.close();
  expect(faults).toEqual([]);
});

async function openTab(origin = site.origin): Promise<Tab> {
  const tab = await Tab.open(context, `${origin}/`);
  tabs.push(tab);
  return tab;
}

const openTwo = async (): Promise<[Tab, Tab]> => [await openTab(), await openTab()];

const socketUrl = (port = service.port): string => `ws://127.0.0.1:${port}`;
const withKey = (apiKey = service.keys.publishableKey): Credential => ({ url: socketUrl(), apiKey });

let rooms = 0;
const freshRoom = (): string => `room/${++rooms}`;

describe("chat between two pages", () => {
  test("with a publishable key: each sees the other, and messages go both ways, on the channel and directly", async () => {
    const [a, b] = await openTwo();
    const room = freshRoom();
    const idA = await a.connect(withKey(), room);
    const idB = await b.connect(withKey(), room);
    await Promise.all([a.saw(idB), b.saw(idA)]);
    await a.publish(room, { text: "hello, B" });
    expect(await b.heard("hello, B")).toBe(idA);
    await b.publish(room, { text: "hello, A" });
    expect(await a.heard("hello, A")).toBe(idB);
    await a.send(idB, { text: "between us" });
    expect(await b.direct("between us")).toBe(idA);
  });

  test("with tokens from the page's own backend", async () => {
    const [a, b] = await openTwo();
    const room = freshRoom();
    expect(await a.connect({ url: socketUrl(), peerId: "alice" }, room)).toBe("alice");
    expect(await b.connect({ url: socketUrl(), peerId: "bob" }, room)).toBe("bob");
    await b.publish(room, { text: "who is online?" });
    expect(await a.heard("who is online?")).toBe("bob");
  });
});

describe("a call between two pages", () => {
  test("has a data channel both ways, and video from both cameras", async () => {
    const { a, b } = await call(withKey(), withKey());
    await provenCall(a, b, "first");
    await b.shareCamera();
    expect(await a.picture()).toBeGreaterThan(0);
  });

  // Otherwise the restart of calls.test.ts is enough, with tokens.
  test.if(process.env.PARLEY_TEST_FULL === "1")(
    "the service restarts during a call: both reconnect as new peers, call again and exchange messages",
    async () => {
      const { a, b, idA, idB } = await call(withKey(), withKey());
      await service.down();
      await Promise.all([a.reconnecting(), b.reconnecting()]);
      await service.up();
      const [newB, newA] = await Promise.all([a.inCall(), b.inCall()]);
      // A publishable key's peer gets a new id on every connect.
      expect([idA, idB]).not.toContain(newA);
      expect([idA, idB]).not.toContain(newB);
      await provenCall(a, b, "after the restart");
    },
  );

  test("the network fails for a while: both reconnect as the same peers, call again and exchange messages", async () => {
    const line = await Line.to(service.port);
    try {
      const url = socketUrl(line.port);
      const { a, b } = await call({ url, peerId: "alice" }, { url, peerId: "bob" });
      line.cut();
      await Promise.all([a.reconnecting(), b.reconnecting()]);
      await within("attempts in vain", line.refused(4));
      line.mend();
      expect(await Promise.all([a.inCall(), b.inCall()])).toEqual(["bob", "alice"]);
      await provenCall(a, b, "after the loss");
    } finally {
      await line.close();
    }
  });

  /**
   * Only A has a camera, so only A sends an offer. When both send one at once, one of them must roll back, and Chromium then
   * gathers no candidates in about one call of thirty: its transport stays "new" although every frame of the two has arrived.
   */
  async function call(first: Credential, second: Credential) {
    const [a, b] = await openTwo();
    const room = freshRoom();
    const idA = await a.join(first, room);
    await a.shareCamera();
    const idB = await b.join(second, room);
    expect(await Promise.all([a.inCall(), b.inCall()])).toEqual([idB, idA]);
    return { a, b, idA, idB };
  }

  /** Messages through the service and over the data channel, both ways, and video from A's camera. */
  async function provenCall(a: Tab, b: Tab, when: string): Promise<void> {
    await a.say({ text: `${when}, from a` });
    await b.heard(`${when}, from a`);
    await b.say({ text: `${when}, from b` });
    await a.heard(`${when}, from b`);
    await a.openChannel();
    await a.tell(`${when}, directly from a`);
    await b.received(`${when}, directly from a`);
    await b.tell(`${when}, directly from b`);
    await a.received(`${when}, directly from b`);
    expect(await b.picture()).toBeGreaterThan(0);
  }
});

describe("the origin rule", () => {
  let elsewhere: Site;
  let apiKey: string;

  beforeAll(async () => {
    elsewhere = new Site();
    const key = await service.admin.createPublishable("demo", { allowedOrigins: [site.origin] });
    apiKey = key.keyId;
  });

  afterAll(() => elsewhere?.stop());

  test("accepts a page of the key's own origin", async () => {
    const tab = await openTab();
    await tab.connect(withKey(apiKey), freshRoom());
    expect(await tab.why(withKey(apiKey))).toMatchObject({ status: 426, error: "upgrade_required" });
  });

  test("refuses a page of another origin, and a plain GET reports why", async () => {
    const tab = await openTab(elsewhere.origin);
    expect(await tab.refusal(withKey(apiKey))).not.toBe("connected");
    expect(await tab.why(withKey(apiKey))).toMatchObject({ status: 401, error: "origin_not_allowed" });
  });

  test("applies per key: another key accepts the same page", async () => {
    const tab = await openTab(elsewhere.origin);
    expect(await tab.refusal(withKey())).toBe("connected");
  });
});
