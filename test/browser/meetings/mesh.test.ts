/** The mesh in Chromium with a generated camera and microphone; the service is not part of it. */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { within } from "../../support/wait.ts";
import { launchChromium } from "../support/chromium.ts";
import { startScriptSite } from "./support/script-site.ts";

setDefaultTimeout(60_000);

type Bench = { readonly bench: Readonly<Record<string, (...args: readonly unknown[]) => unknown>> };

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";
/** In full, suites have the machine to themselves. */
const CONNECTED_WITHIN_MS = IS_FULL ? 10_000 : 30_000;

let browser: Browser;
let site: Bun.Server<undefined>;
let page: Page;
const faults: string[] = [];

beforeAll(async () => {
  site = await startScriptSite("meshes.mjs");
  browser = await launchChromium();
  page = await browser.newPage();
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => /warning|error/.test(message.type()) && faults.push(message.text()));
  await page.goto(`http://127.0.0.1:${site.port}/`, { waitUntil: "load" });
});

afterEach(async () => {
  await ask("reset");
  expect(await ask("openConnections")).toBe(0);
  expect(faults.splice(0)).toEqual([]);
});

afterAll(async () => {
  await browser?.close();
  await site?.stop(true);
});

const ask = <T>(method: string, ...args: unknown[]): Promise<T> => {
  const answer = page.evaluate(([name, given]) => (globalThis as unknown as Bench).bench[name]?.(...given), [
    method,
    args,
  ] as const);
  return within(`${method}(${args.join(", ")})`, answer as Promise<T>);
};

/** Each of these kinds flows between them, in every direction. */
const flow = (kinds: string, ...people: string[]): Promise<unknown> => {
  const pairs = people.flatMap((at) => people.filter((from) => from !== at).map((from) => [at, from] as const));
  const wanted = pairs.flatMap((pair) => kinds.split(" ").map((kind) => [...pair, kind]));
  return within(`${kinds} between ${people}`, ask("flows", ...wanted), CONNECTED_WITHIN_MS);
};

test("three participants: pictures and sound in every direction", async () => {
  for (const who of ["ann", "bob", "cid"]) await ask("enter", who, ["audio", "video"]);
  await flow("audio video", "ann", "bob", "cid");
  expect(await ask<string[]>("tracks", "ann")).toEqual(["bob audio", "bob video", "cid audio", "cid video"]);
  // Levels are compared several times per second: pages that get little CPU time may find no one who is louder than the others.
  if (IS_FULL) expect(["bob", "cid"]).toContain(await ask<string>("speaker", "ann"));
});

test("a screen is shown beside the camera, and both by what they are", async () => {
  await ask("enter", "ann", ["video"]);
  await ask("enter", "bob", ["video"]);
  await flow("video", "ann", "bob");
  await ask("publish", "bob", "screen");
  await ask("flows", ["ann", "bob", "screen"]);
  await ask("flows", ["ann", "bob", "video"]);
  await ask("withdraw", "bob", "screen");
  await within("the screen is gone", ask("gone", "ann", "bob", "screen"));
});

test("both begin to send in the same moment", async () => {
  await ask("enter", "ann", []);
  await ask("enter", "bob", []);
  await Promise.all([ask("publish", "ann", "video"), ask("publish", "bob", "video")]);
  await Promise.all([ask("publish", "ann", "screen"), ask("publish", "bob", "screen")]);
  await flow("video screen", "ann", "bob");
});

test.each(IS_FULL ? ["ann", "bob"] : ["bob"])("the page of %s is reloaded", async (who) => {
  await ask("enter", "ann", ["video"]);
  await ask("enter", "bob", ["video"]);
  await flow("video", "ann", "bob");
  await ask("reload", who, ["video"]);
  await flow("video", "ann", "bob");
  expect(await ask("openConnections")).toBe(2);
});

test.each(IS_FULL ? ["description", "candidate"] : ["description"])(
  "the first signal with a %s is lost",
  async (field) => {
    await ask("lose", field, 1);
    await ask("enter", "ann", ["video"]);
    await ask("enter", "bob", ["video"]);
    await flow("video", "ann", "bob");
  },
);

test("offers that the service refuses are not repeated at once, and later they pass", async () => {
  await ask("enter", "ann", ["video"]);
  await ask("enter", "bob", ["video"]);
  await flow("video", "ann", "bob");
  await ask("refuseOffers", true);
  const began = performance.now();
  await ask("publish", "bob", "screen");
  await ask("offers", 4);
  expect(performance.now() - began).toBeGreaterThan(900);
  await ask("refuseOffers", false);
  await ask("flows", ["ann", "bob", "screen"], ["bob", "ann", "video"]);
});

test("connections that have broken are made anew", async () => {
  await ask("enter", "ann", ["video"]);
  await ask("enter", "bob", ["video"]);
  await flow("video", "ann", "bob");
  await ask("breakConnections");
  await flow("video", "ann", "bob");
  expect(await ask<string[]>("qualities", "ann")).toEqual(["bob connecting", "bob good", "bob lost", "bob good"]);
});

test("a participant that begins anew all the time takes few connections, and none of the others", async () => {
  await ask("enter", "bob", ["video"]);
  await ask("addPhantoms", ["ann"]);
  expect(await ask<number>("flood", "ann", "bob", 200)).toBeLessThanOrEqual(10);
  await ask("enter", "cid", ["video"]);
  await flow("video", "bob", "cid");
  faults.splice(0);
});

test("what is not allowed is neither sent nor shown", async () => {
  await ask("enter", "ann", ["audio", "video"]);
  await ask("enter", "bob", []);
  await ask("flows", ["bob", "ann", "video"]);
  await ask("allowOnly", "bob", ["audio"]);
  expect(await ask<string[]>("tracks", "bob")).toEqual(["ann audio"]);
  await ask("flows", ["bob", "ann", "audio"]);
  // One that sends nothing says so in its descriptions: the service counts what they offer to send.
  const signals = await ask<{ from: string; text: string }[]>("signals");
  const fromBob = signals.filter(({ from, text }) => from === "bob" && text.includes("m=audio"));
  expect(fromBob.length).toBeGreaterThan(0);
  expect(fromBob.filter(({ text }) => /a=(sendrecv|sendonly)/.test(text))).toEqual([]);
  await ask("allowOnly", "bob", ["audio", "video"]);
  await ask("flows", ["bob", "ann", "video"]);
});

test("the more participants, the smaller the pictures; and larger again when they leave", async () => {
  await ask("enter", "ann", []);
  await ask("enter", "bob", []);
  await ask("publish", "ann", "video", "camera");
  await ask("height", 360);
  await ask("addPhantoms", ["cid", "dan", "eve", "fay"]);
  await ask("height", 180);
  await ask("addPhantoms", []);
  await ask("height", 360);
});

test("a muted microphone sends silence", async () => {
  await ask("enter", "ann", ["audio"]);
  await ask("enter", "bob", ["audio"]);
  await flow("audio", "ann", "bob");
  await ask("mute", "ann", "audio", true);
  await within("silence", ask("falls", "bob", "ann", "audio"));
  await ask("mute", "ann", "audio", false);
  await ask("flows", ["bob", "ann", "audio"]);
});
