/** The start page for a new user: two tabs that exchange messages, see and call each other, and reconnect. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { IS_FULL } from "../support/slack.ts";
import { TIMEOUT_MS, within } from "../support/wait.ts";
import { launchChromium } from "./support/chromium.ts";
import { PausedMessages } from "./support/paused-messages.ts";
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

async function openPage(address = `${service.url}/`, { refusals, prepare }: Opening = {}): Promise<Page> {
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

const openTwo = async (): Promise<[Page, Page]> => [await openPage(), await openPage()];

/** Resolves when the element's text fits; a timeout reports what the page shows instead. */
async function shows(page: Page, id: string, text: string | RegExp): Promise<void> {
  try {
    await page.locator(`#${id}`).filter({ hasText: text }).waitFor();
  } catch {
    throw new Error(`#${id} should show ${text}; the page shows: ${await page.locator("body").innerText()}`);
  }
}

const said = (page: Page, text: string): Locator => page.getByRole("log").locator("p").filter({ hasText: text });
const button = (page: Page, name: string | RegExp): Locator => page.getByRole("button", { name });

/** The peer's name as the page shows it. */
async function nameOf(page: Page): Promise<string> {
  await shows(page, "state", /^Connected as/);
  return /Connected as (\S+)\./.exec((await page.locator("#state").textContent()) ?? "")?.[1] ?? "";
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message").fill(text);
  await page.getByLabel("Message").press("Enter");
}

/** Resolves when the video shows moving pictures. */
const moves = (page: Page, id: "mine" | "theirs"): Promise<unknown> =>
  within(
    `moving pictures in ${id}`,
    page.evaluate(`new Promise((resolve) => {
      const video = document.getElementById("${id}");
      video.requestVideoFrameCallback(() => video.requestVideoFrameCallback(() => resolve()));
    })`),
  );

const isHidden = (page: Page, id: "mine" | "theirs"): Promise<boolean> => page.locator(`#${id}`).isHidden();

test("two tabs see each other, exchange messages, and see each other leave", async () => {
  const [a, b] = await openTwo();
  const [nameA, nameB] = [await nameOf(a), await nameOf(b)];
  await Promise.all([shows(a, "roster", `${nameA} (you), ${nameB}`), shows(b, "roster", `${nameB} (you), ${nameA}`)]);
  await say(a, "hello, <b>B</b>");
  await said(b, `${nameA} hello, <b>B</b>`).waitFor();
  await said(a, "you hello, <b>B</b>").waitFor();
  await say(b, "hello, A");
  await said(a, `${nameB} hello, A`).waitFor();
  await b.close();
  await said(a, `${nameB} has left.`).waitFor();
  await shows(a, "roster", new RegExp(`^${nameA} \\(you\\)$`));
});

inFull("the second tab is one click away and in the same channel", async () => {
  const a = await openPage(`${service.url}/?channel=chat/corner`);
  const opened = context.waitForEvent("page");
  await a.getByRole("link", { name: "second tab" }).click();
  const b = await opened;
  const nameB = await nameOf(b);
  await shows(a, "roster", nameB);
  await shows(b, "channel-name", "chat/corner");
});

test("the code samples on the page work unchanged: the SDK's and the backend's", async () => {
  const page = await openPage();
  await shows(page, "roster", "(you)");
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
  } finally {
    await site.stop();
  }
});

describe("a call", () => {
  test("can be made by keyboard: a data channel, moving pictures on both sides, and a hang-up that removes them", async () => {
    const [a, b] = await openTwo();
    const [nameA, nameB] = [await nameOf(a), await nameOf(b)];
    await button(a, `Call ${nameB}`).press("Enter");
    await shows(b, "call-state", `${nameA} is calling.`);
    await button(b, "Answer").press("Enter");
    for (const [page, other] of [
      [a, nameB],
      [b, nameA],
    ] as const) {
      await shows(page, "call-state", `In a call with ${other}.`);
      await shows(page, "round-trip", /open, round trip [\d.]+ ms/);
      await page.locator("#theirs").waitFor();
      await moves(page, "theirs");
      await moves(page, "mine");
    }
    await button(b, "Hang up").press("Enter");
    await shows(a, "call-state", `${nameB} has hung up.`);
    await shows(b, "call-state", "The call is over.");
    for (const page of [a, b]) {
      await shows(page, "round-trip", "closed");
      expect([await isHidden(page, "mine"), await isHidden(page, "theirs")]).toEqual([true, true]);
    }
    await button(a, `Call ${nameB}`).waitFor();
  });

  test("works without a camera, with a data channel only", async () => {
    await context.addInitScript(
      "navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('Permission denied', 'NotAllowedError'))",
    );
    const [a, b] = await openTwo();
    await nameOf(a);
    await button(a, `Call ${await nameOf(b)}`).click();
    await button(b, "Answer").click();
    for (const page of [a, b]) {
      await shows(page, "round-trip", "round trip");
      await shows(page, "camera", "Without your camera: Permission denied.");
    }
  });

  inFull("can be declined", async () => {
    const [a, b] = await openTwo();
    await nameOf(a);
    const nameB = await nameOf(b);
    await button(a, `Call ${nameB}`).click();
    await button(b, "Decline").click();
    await shows(a, "call-state", `${nameB} declined the call.`);
    await shows(b, "call-state", "The call is over.");
  });

  inFull("that cannot connect says so and why, can be hung up, and ends when the other tab is closed", async () => {
    // As behind a firewall that lets nothing but a relay through, and there is none.
    await context.addInitScript(`
      const Real = RTCPeerConnection;
      globalThis.RTCPeerConnection = class extends Real {
        constructor(setup) { super({ ...setup, iceTransportPolicy: "relay" }); }
      };`);
    const a = await openPage(undefined, { prepare: (page) => page.clock.install() });
    const b = await openPage();
    await nameOf(a);
    const nameB = await nameOf(b);
    const call = async (): Promise<void> => {
      await button(a, `Call ${nameB}`).click();
      await shows(a, "call-state", `Calling ${nameB}`);
      await button(b, "Answer").click();
      await shows(a, "call-state", `Connecting to ${nameB}`);
    };
    await call();
    await a.clock.fastForward(15_000);
    await shows(a, "call-state", new RegExp(`^No connection to ${nameB} yet\\. .*relay.*Hang up`));
    await button(a, "Hang up").click();
    await shows(a, "call-state", "The call is over.");
    await shows(b, "call-state", "has hung up.");
    await call();
    await b.close();
    await shows(a, "call-state", `${nameB} has left.`);
    // A call that is over has no late notice.
    await a.clock.fastForward(15_000);
    await shows(a, "call-state", /^(?!No connection)/);
  });

  // Otherwise the tests of the mesh are enough, in which both begin to send in the same moment.
  inFull("that crosses another becomes one call, in either order", async () => {
    const lines = [new PausedMessages(), new PausedMessages()] as const;
    const a = await openPage(undefined, { prepare: (page) => lines[0].stand(page) });
    const b = await openPage(undefined, { prepare: (page) => lines[1].stand(page) });
    const [nameA, nameB] = [await nameOf(a), await nameOf(b)];
    for (const [first, second, nameFirst, nameSecond, line] of [
      [a, b, nameA, nameB, lines[1]],
      [b, a, nameB, nameA, lines[0]],
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
  const [a, b] = [await openPage(undefined, { refusals: true }), await openPage(undefined, { refusals: true })];
  await nameOf(a);
  await button(a, `Call ${await nameOf(b)}`).click();
  await button(b, "Answer").click();
  for (const page of [a, b]) await shows(page, "round-trip", "round trip");
  await service.down();
  for (const page of [a, b]) await shows(page, "state", "Trying again");
  await service.up();
  const [nameA, nameB] = [await nameOf(a), await nameOf(b)];
  await Promise.all([shows(a, "roster", nameB), shows(b, "roster", nameA)]);
  await say(a, "reconnected");
  await said(b, `${nameA} reconnected`).waitFor();
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

describe("without a demo", () => {
  let plain: Service;

  beforeAll(async () => {
    plain = await Service.start({ PARLEY_DEMO: "off" });
  });

  afterAll(() => plain?.stop());

  test("the page requests a key, shows why one is refused, and a second tab uses the one that was entered", async () => {
    const { _id: app } = await plain.admin.createApp();
    const foreign = await plain.admin.createPublishable(app, { allowedOrigins: ["https://example.com"] });
    const own = await plain.admin.createPublishable(app, { allowedOrigins: [plain.url] });
    const a = await openPage(`${plain.url}/`, { refusals: true });
    await shows(a, "state", "This page has no key");
    await shows(a, "make-key", `bin/parley keys create --app try --type publishable`);
    const enter = async (key: string): Promise<void> => {
      await a.getByLabel("Publishable key").fill(key);
      await button(a, "Connect").click();
    };
    await enter("pk_live_of_nobody");
    await shows(a, "state", "(unauthorized)");
    await enter(foreign.keyId);
    await shows(a, "state", `Is ${plain.url} among the key's allowed origins?`);
    await enter(own.keyId);
    const nameA = await nameOf(a);
    const b = await openPage(`${plain.url}/`);
    await nameOf(b);
    await shows(b, "roster", nameA);
  });

  inFull("a key without the action presence can send messages, and the page says what is missing", async () => {
    const { _id: app } = await plain.admin.createApp();
    const key = await plain.admin.createPublishable(app, { actions: ["publish", "subscribe"] });
    const page = await openPage(`${plain.url}/`);
    await page.getByLabel("Publishable key").fill(key.keyId);
    await button(page, "Connect").click();
    await nameOf(page);
    await say(page, "hello?");
    await said(page, "you hello?").waitFor();
    await shows(page, "roster", "the key lacks the action presence");
  });

  inFull("at the cap of connections the page shows it, and connects when there is a free slot", async () => {
    const { _id: app } = await plain.admin.createApp();
    const key = await plain.admin.createPublishable(app);
    const cap = (maxConcurrentConnections: number | null) =>
      plain.admin.must("PATCH", `/apps/${app}`, { plan: { maxConcurrentConnections } });
    await cap(0);
    const page = await openPage(`${plain.url}/`);
    await page.getByLabel("Publishable key").fill(key.keyId);
    await button(page, "Connect").click();
    await shows(page, "state", "The application is at its cap of connections.");
    await cap(null);
    await nameOf(page);
  });

  test("a revoked key is not retried", async () => {
    const { _id: app } = await plain.admin.createApp();
    const key = await plain.admin.createPublishable(app);
    const page = await openPage(`${plain.url}/`, { refusals: true });
    await page.getByLabel("Publishable key").fill(key.keyId);
    await button(page, "Connect").click();
    await nameOf(page);
    await plain.admin.revoke(key.keyId);
    await shows(page, "state", "The key was revoked.");
  });
});
