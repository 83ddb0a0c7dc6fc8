/**
 * A call between two pages with the unmodified SDK goes on over a restart, a loss of the network, the renewal of a token and a reload;
 * and what each application sees of it as peers that leave and join.
 */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { Call } from "./support/call.ts";
import { launchChromium } from "./support/chromium.ts";
import { Service } from "./support/service.ts";
import { Site } from "./support/site.ts";

setDefaultTimeout(90_000);

/** Under --full every case runs with each of the pages. */
const IS_FULL = process.env.PARLEY_TEST_FULL === "1";

let browser: Browser;
let service: Service;
let site: Site;
let call: Call;

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

afterEach(async () => {
  await call.end();
  expect(call.faults).toEqual([]);
});

/** Nothing but the beginning of the call. */
const met = (peer: string): string[] => [`peer-joined ${peer}`];
const metTwice = (peer: string): string[] => [...met(peer), `peer-left ${peer}`, ...met(peer)];

test("the service restarts", async () => {
  call = await Call.begin(browser, site, service.port);
  await service.down();
  await Promise.all([call.alice.reconnecting(), call.bob.reconnecting()]);
  await service.up();
  await call.goesOn();
  const { alice = [], bob = [] } = await call.comings();
  // The roster of the first to come back is empty.
  expect([met("bob"), metTwice("bob")]).toContainEqual(alice);
  expect([met("alice"), metTwice("alice")]).toContainEqual(bob);
});

for (const who of IS_FULL ? (["alice", "bob"] as const) : (["bob"] as const)) {
  const other = who === "alice" ? "bob" : "alice";

  test(`${who} loses the network for a moment`, async () => {
    call = await Call.begin(browser, site, service.port);
    call.lines[who].cut();
    await call[who].reconnecting();
    call.lines[who].mend();
    await call.goesOn();
    expect(await call.comings()).toEqual({ [who]: met(other), [other]: metTwice(who) });
  });

  test(`the token of ${who} expires`, async () => {
    call = await Call.begin(browser, site, service.port, { [who]: { firstSeconds: 5 } });
    await call[who].reconnecting();
    await call.goesOn();
    expect(await call.comings()).toEqual({ [who]: met(other), [other]: metTwice(who) });
  });

  test(`${who} reloads the page`, async () => {
    call = await Call.begin(browser, site, service.port);
    await call.reload(who);
    await call.goesOn();
    expect(await call.comings()).toEqual({ [who]: met(other), [other]: metTwice(who) });
  });
}
