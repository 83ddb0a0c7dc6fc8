/** The start page for a new user: two people side by side or in two tabs that exchange messages, see and call each other, and reconnect. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { IS_FULL } from "../support/slack.ts";
import { TIMEOUT_MS, within } from "../support/wait.ts";
import { violations } from "./support/axe.ts";
import { launchChromium } from "./support/chromium.ts";
import { PausedMessages } from "./support/paused-messages.ts";
import { button, hasNoCall, moves, nameOf, rename, said, say, shows } from "./support/people.ts";
import { Service } from "./support/service.ts";
import { Site } from "./support/site.ts";

setDefaultTimeout(90_000);
const inFull = test.if(IS_FULL);

let browser: Browser;
let service: Service;
let context: BrowserContext;
/** Browser errors: uncaught exceptions, and violations of the page's own policy. */
let complaints: string[] = [];

beforeAll(async () => {
  browser = await launchChromium();
  service = await Service.start();
});

afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

beforeEach(async () => {
  context = await browser.newContext();
  context.setDefaultTimeout(TIMEOUT_MS);
  complaints = [];
});

afterEach(async () => {
  await context.close();
  expect(complaints).toEqual([]);
});

interface Opening {
  /** The browser writes refused connections to the console; a test that causes them allows them. */
  readonly refusals?: true;
  readonly prepare?: (page: Page) => Promise<void>;
}

/** By default a tab with one person. */
async function openPage(address = `${service.url}/?peers=1`, { refusals, prepare }: Opening = {}): Promise<Page> {
  const page = await context.newPage();
  await prepare?.(page);
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    const expected = refusals && /WebSocket connection|Failed to load resource/.test(message.text());
    if (message.type() === "error" && !expected) complaints.push(message.text());
  });
  await page.goto(address);
  return page;
}

/** Two tabs of one person each, which see each other. Names are picked at random, and may be the same. */
async function openTwo(opening?: Opening): Promise<[Page, Page]> {
  const [a, b] = [await openPage(undefined, opening), await openPage(undefined, opening)];
  for (const [page, name] of [
    [a, "Ann"],
    [b, "Bob"],
  ] as const) {
    await nameOf(page);
    await rename(page, name);
  }
  await Promise.all([button(a, "Call Bob").waitFor(), button(b, "Call Ann").waitFor()]);
  return [a, b];
}

test("one visitor has two people at once, who write, take names and call, and one of them can move to a second tab", async () => {
  const page = await openPage(`${service.url}/?channel=chat/corner`);
  const [nameA, nameB] = [await nameOf(page), await nameOf(page, "other")];
  expect(nameA).not.toBe(nameB);
  await say(page, "hello, you");
  await said(page, `${nameA} hello, you`, "other").waitFor();
  // A name is anyone's choice: it cannot become markup, turn the text around it, or make the page wider.
  const hostile = `<img src=x onerror=alert(1)>\u202e${"w".repeat(200)}`;
  await rename(page, hostile, "other");
  const shown = hostile.replace("\u202e", "").slice(0, 39);
  await shows(page, "who", shown);
  expect(await page.locator("img").count()).toBe(0);
  expect(await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
  await rename(page, "Bea", "other");
  await button(page, "Call Bea").click();
  await button(page, "Answer", "other").click();
  await shows(page, "round-trip", /round trip [\d.]+ ms/);
  await page.waitForFunction('document.querySelectorAll(".people .badge").length === 2');
  expect(await violations(page)).toEqual([]);
  const opened = context.waitForEvent("page");
  await page.getByRole("link", { name: "Open a second tab" }).click();
  const second = await opened;
  expect(await nameOf(second)).toBe("Bea");
  expect(await second.locator("#channel-name").textContent()).toBe("chat/corner");
  await button(page, "Call Bea").waitFor();
  await hasNoCall(page);
  await page.getByRole("button", { name: "Bring back here" }).click();
  await nameOf(page, "other");
  await button(second, `Call ${nameA}`).waitFor();
});

test("two tabs see each other, exchange messages, and see each other leave", async () => {
  const [a, b] = await openTwo();
  await say(a, "hello, <b>B</b>");
  await said(b, "Ann hello, <b>B</b>").waitFor();
  const count = a.locator("#people-count");
  await count.filter({ hasText: "Two people are" }).waitFor();
  await said(a, "You hello, <b>B</b>").waitFor();
  await say(b, "hello, A");
  await said(a, "Bob hello, A").waitFor();
  await b.close();
  await said(a, "Bob left.").waitFor();
  await shows(a, "people", "No one else is here yet.");
  await count.filter({ hasText: "One person is" }).waitFor();
});

test("the code samples on the page work unchanged: the SDK's and the backend's", async () => {
  const page = await openPage();
  await nameOf(page);
  const lines = async (id: string): Promise<string> => (await page.locator(`#${id} pre`).textContent()) ?? "";
  const backend = Bun.spawn(["sh", "-c", await lines("backend")], {
    env: { ...process.env, PARLEY_KEY: service.keys.secretKey },
    stdio: ["ignore", "ignore", "ignore"],
  });
  expect(await backend.exited).toBe(0);
  await said(page, "server hello from the backend").waitFor();
  const sdk = await lines("sdk");
  expect(sdk).toContain(`url: "ws://127.0.0.1:${service.port}"`);
  const site = new Site();
  try {
    const elsewhere = await openPage(`${site.origin}/`);
    // A browser without a bundler finds a package only by its address.
    await elsewhere.addScriptTag({ type: "module", content: sdk.replace("@metered-ca/realtime", "/sdk.mjs") });
    await said(page, "hello from the SDK").waitFor();
    const module = (await lines("page")).replace(/<\/?script[^>]*>/g, "");
    await elsewhere.addScriptTag({ type: "module", content: module });
    await said(page, "hello from a page").waitFor();
  } finally {
    await site.stop();
  }
});

describe("a call", () => {
  test("can be made by keyboard: a data channel, moving pictures on both sides, and a hang-up that removes them", async () => {
    const [a, b] = await openTwo();
    await button(a, "Call Bob").press("Enter");
    await shows(b, "call-state", "Ann is calling.");
    await button(b, "Answer").press("Enter");
    for (const [page, other] of [
      [a, "Bob"],
      [b, "Ann"],
    ] as const) {
      await shows(page, "call-state", `In a call with ${other}.`);
      await shows(page, "round-trip", /round trip [\d.]+ ms/);
      await shows(page, "badge", "In a call");
      await page.locator("#first .theirs").waitFor();
      await moves(page, "theirs");
      await moves(page, "mine");
    }
    await button(b, "Hang up").press("Enter");
    await said(a, "Bob has hung up.").waitFor();
    await said(b, "The call is over.").waitFor();
    for (const page of [a, b]) await hasNoCall(page);
    await button(a, "Call Bob").waitFor();
  });

  test("works without a camera, with a data channel only", async () => {
    await context.addInitScript(
      "navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('Permission denied', 'NotAllowedError'))",
    );
    const [a, b] = await openTwo();
    await button(a, "Call Bob").click();
    await button(b, "Answer").click();
    for (const page of [a, b]) {
      await shows(page, "round-trip", "round trip");
      await shows(page, "camera", "Without your camera: Permission denied.");
    }
  });

  inFull("can be declined", async () => {
    const [a, b] = await openTwo();
    await button(a, "Call Bob").click();
    await button(b, "Decline").click();
    await said(a, "Bob declined the call.").waitFor();
    await said(b, "The call is over.").waitFor();
  });

  inFull("that cannot connect says so and why, can be hung up, and ends when the other tab is closed", async () => {
    // As behind a firewall that lets nothing but a relay through, and there is none.
    await context.addInitScript(`
      const Real = RTCPeerConnection;
      globalThis.RTCPeerConnection = class extends Real {
        constructor(setup) { super({ ...setup, iceTransportPolicy: "relay" }); }
      };`);
    const [a, b] = await openTwo({ prepare: (page) => page.clock.install() });
    const call = async (): Promise<void> => {
      await button(a, "Call Bob").click();
      await shows(a, "call-state", "Calling Bob");
      await button(b, "Answer").click();
      await shows(a, "call-state", "Connecting to Bob");
    };
    await call();
    await a.clock.fastForward(15_000);
    await shows(a, "call-state", /^No connection to Bob yet\. .*relay.*Hang up/);
    await button(a, "Hang up").click();
    await said(a, "The call is over.").waitFor();
    await said(b, "has hung up.").waitFor();
    await call();
    await b.close();
    await said(a, "Bob left before the call.").waitFor();
    // A call that is over has no late notice.
    await a.clock.fastForward(15_000);
    await hasNoCall(a);
  });

  // Otherwise the tests of the mesh are enough, in which both begin to send in the same moment.
  inFull("that crosses another becomes one call, in either order", async () => {
    const lines = [new PausedMessages(), new PausedMessages()] as const;
    let opened = 0;
    const [a, b] = await openTwo({ prepare: async (page) => lines[opened++]?.stand(page) });
    for (const [first, second, nameFirst, nameSecond, line] of [
      [a, b, "Ann", "Bob", lines[1]],
      [b, a, "Bob", "Ann", lines[0]],
    ] as const) {
      await button(second, `Call ${nameFirst}`).waitFor();
      line.pause();
      await button(first, `Call ${nameSecond}`).click();
      const offered = line.sent('"call":"offer"');
      await button(second, `Call ${nameFirst}`).click();
      await within("the second offer", offered);
      line.release();
      for (const page of [a, b]) await shows(page, "round-trip", "round trip");
      await button(first, "Hang up").click();
    }
  });
});

test("after a restart of the service both tabs reconnect by themselves and exchange messages, and their call continues", async () => {
  const [a, b] = await openTwo({ refusals: true });
  await button(a, "Call Bob").click();
  await button(b, "Answer").click();
  for (const page of [a, b]) await shows(page, "round-trip", "round trip");
  await service.down();
  for (const page of [a, b]) await shows(page, "state", "Trying again");
  await a.locator("#health").filter({ hasText: "Not responding" }).waitFor();
  await service.up();
  await a.locator("#health").filter({ hasText: "Healthy" }).waitFor();
  await Promise.all([shows(a, "who", "Bob"), shows(b, "who", "Ann")]);
  await say(a, "reconnected");
  await said(b, "Ann reconnected").waitFor();
  for (const page of [a, b]) await shows(page, "call-state", "In a call with");
});

test("a connection that opens but stays silent is replaced by another", async () => {
  let attempts = 0;
  const prepare = async (page: Page): Promise<void> => {
    await page.clock.install();
    await page.routeWebSocket(/\/v1\?/, (near) => {
      if (++attempts > 1) near.connectToServer();
    });
  };
  const page = await openPage(undefined, { refusals: true, prepare });
  await shows(page, "state", "Connecting");
  await page.clock.fastForward("00:11");
  await nameOf(page);
  expect(attempts).toBe(2);
});

describe("the demo's key", () => {
  let own: Service;

  beforeAll(async () => {
    own = await Service.start();
  });

  afterAll(() => own?.stop());

  const open = (): Promise<Page> => openPage(`${own.url}/?peers=1`, { refusals: true });

  inFull("that no longer allows this origin is refused with the reason", async () => {
    const page = await open();
    await nameOf(page);
    await own.admin.patchKey(own.keys.publishableKey, { allowedOrigins: ["https://example.com"] });
    await own.down();
    await own.up();
    await shows(page, "state", `Is ${own.url} among the key's allowed origins?`);
    await own.admin.patchKey(own.keys.publishableKey, { allowedOrigins: ["*"] });
    await nameOf(page);
  });

  inFull("without the action presence can send messages, and the page says what is missing", async () => {
    await own.admin.patchKey(own.keys.publishableKey, { actions: ["publish", "subscribe"] });
    const page = await open();
    await nameOf(page);
    await say(page, "hello?");
    await said(page, "You hello?").waitFor();
    await shows(page, "people", "the key lacks the action presence");
    await own.admin.patchKey(own.keys.publishableKey, { actions: ["publish", "subscribe", "presence", "send"] });
  });

  inFull("at the cap of connections waits for a free slot, and the page shows it", async () => {
    const cap = (maxConcurrentConnections: number | null) =>
      own.admin.must("PATCH", "/apps/demo", { plan: { maxConcurrentConnections } });
    await cap(0);
    const page = await open();
    await shows(page, "state", "The application is at its cap of connections.");
    await cap(null);
    await nameOf(page);
  });

  test("that is revoked is not retried, and the next visitor finds a page without a demo", async () => {
    const page = await open();
    await nameOf(page);
    await own.admin.revoke(own.keys.publishableKey);
    await shows(page, "state", "The key was revoked.");
    expect(await button(page, "Send").isDisabled()).toBe(true);
    await page.reload();
    await page.locator("#health").filter({ hasText: "Healthy" }).waitFor();
    expect(await page.getByRole("heading", { name: "Try it" }).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
  });
});
