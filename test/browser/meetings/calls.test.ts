/** Calls between pages in a room of a running service go on over reloads, lost networks and a restart, and no one is seen to leave. */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, BrowserContext } from "playwright-core";
import { within } from "../../support/wait.ts";
import { launchChromium } from "../support/chromium.ts";
import { Service } from "../support/service.ts";
import { Attendee, SLOW_MS } from "./support/attendee.ts";
import { MeetingPlace } from "./support/meeting-place.ts";
import { startScriptSite } from "./support/script-site.ts";

/** In full runs the network is gone for at least this long. */
const WITHOUT_NETWORK_MS = 10_000;

setDefaultTimeout(180_000);

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";
/** In full, suites have the machine to themselves. */
const CONNECTED_WITHIN_MS = IS_FULL ? 10_000 : SLOW_MS;

const PAGES_AT_EASE = 4;

let browser: Browser;
let service: Service;
let site: Bun.Server<undefined>;
let context: BrowserContext;
let everyone: Attendee[] = [];
let rooms = 0;

beforeAll(async () => {
  [browser, service, site] = await Promise.all([launchChromium(), Service.start(), startScriptSite("call.mjs")]);
});

afterEach(async () => {
  const faults = everyone.flatMap((one) => one.faults);
  await Promise.all(everyone.map((one) => one.close()));
  await context?.close();
  everyone = [];
  expect(faults).toEqual([]);
});

afterAll(async () => {
  await browser?.close();
  await site?.stop(true);
  await service?.stop();
});

/** They enter a new room one after the other, each with camera and microphone. */
async function meet(...names: string[]): Promise<Attendee[]> {
  await come(...names);
  for (const one of everyone) await one.enter();
  // Each page takes a third of a core: six of them take all of a machine with two.
  await allFlow(names.length > PAGES_AT_EASE ? SLOW_MS : CONNECTED_WITHIN_MS);
  return everyone;
}

/** Their devices are on, and they have not entered yet: to open the devices of the sixth takes long beside a call of five. */
async function come(...names: string[]): Promise<Attendee[]> {
  context = await browser.newContext();
  const place = new MeetingPlace(service.url, service.port, service.keys.appSecret, `call-${++rooms}`);
  await place.create();
  everyone = await Promise.all(
    names.map((name) => Attendee.open(context, `http://127.0.0.1:${site.port}/`, place, name)),
  );
  for (const one of everyone) for (const kind of ["audio", "video"] as const) await one.publish(kind);
  return everyone;
}

/** Pictures and sound, in every direction. */
async function allFlow(withinMs = CONNECTED_WITHIN_MS): Promise<void> {
  const flows = everyone.map((at) => {
    const others = everyone.filter((from) => from !== at);
    return at.flows(...others.flatMap((from) => (["audio", "video"] as const).map((kind) => [from, kind] as const)));
  });
  await within("all tracks arrive", Promise.all(flows), withinMs, async () => {
    const at = everyone.map(async (one) => `${one.name} ${one.id}: ${await one.missing()}; ${await one.story()}`);
    return (await Promise.all(at)).join("\n");
  });
}

const goings = async (): Promise<string[]> => {
  const seen = await Promise.all(
    everyone.map(async (one) => (await one.goings()).map((going) => `${one.name}: ${going}`)),
  );
  return seen.flat();
};

test("two pages: a call with chat, a reload, screen and mute, which ends with a goodbye", async () => {
  const [ann, bob] = (await meet("Ann", "Bob")) as [Attendee, Attendee];
  await ann.say("hello");
  await bob.noticed("Ann: hello");
  await bob.reload("audio", "video");
  await allFlow();
  await bob.noticed("earlier Ann: hello");
  await ann.says(bob, "audio", true);
  await bob.publish("screen");
  await Promise.all([ann.flows([bob, "screen"], [bob, "video"]), ann.says(bob, "screen", true)]);
  await bob.withdraw("screen");
  await ann.gone(bob, "screen");
  await bob.mute("audio", true);
  await ann.fallsSilent(bob);
  await bob.leave();
  await ann.noticed("Bob left");
  expect(await goings()).toEqual(["Ann: Bob left"]);
});

test.if(IS_FULL)(
  "two pages: the network of one is gone for a while, the node restarts, and then it is killed",
  async () => {
    const [ann, bob] = (await come("Ann", "Bob")) as [Attendee, Attendee];
    await bob.mayLoseNetwork();
    for (const one of [ann, bob]) await one.enter();
    await allFlow();
    await bob.loseNetwork();
    const longEnough = Bun.sleep(WITHOUT_NETWORK_MS);
    await Promise.all([bob.online(false), ann.isLost(bob), ann.quality(bob, "lost"), bob.quality(ann, "lost")]);
    await longEnough;
    await bob.findNetwork();
    await bob.online(true);
    await allFlow();
    await service.down();
    await Promise.all([ann.online(false), bob.online(false)]);
    await service.up();
    await Promise.all([ann.online(true), bob.online(true)]);
    await bob.say("still here");
    await ann.noticed("Bob: still here");
    await allFlow();
    await service.killed();
    await Promise.all([ann.online(false), bob.online(false)]);
    // His line to the service stays cut, so that she is back before him. The call does not use it.
    bob.line.cut();
    await service.up();
    await ann.online(true);
    await ann.isLost(bob);
    await ann.flows([bob, "audio"], [bob, "video"]);
    bob.line.mend();
    await bob.online(true);
    await bob.say("back again");
    await ann.noticed("Bob: back again");
    await allFlow();
    expect(await goings()).toEqual([]);
  },
);

test.if(IS_FULL)("four pages: each sees and hears each, also after one was reloaded", async () => {
  const [ann, bob, cid, dan] = (await meet("Ann", "Bob", "Cid", "Dan")) as [Attendee, Attendee, Attendee, Attendee];
  await ann.say("before");
  await bob.reload("audio", "video");
  await allFlow();
  await bob.noticed("earlier Ann: before");
  await bob.say("back");
  await Promise.all([ann, cid, dan].map((one) => one.noticed("Bob: back")));
  expect(await goings()).toEqual([]);
});

test.if(IS_FULL)("six pages: each sees and hears each", async () => {
  await meet("Ann", "Bob", "Cid", "Dan", "Eve", "Fay");
});
