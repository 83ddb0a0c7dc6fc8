/** parley-client in Firefox: every scenario of the conformance suite, and what a page with a single client does over outages. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { SCENARIOS } from "../../client/scenarios/all.ts";
import { playedIn } from "../../client/support/in-browser.ts";
import { call } from "../../support/http.ts";
import { until } from "../../support/wait.ts";
import { browserForTests } from "../support/dashboard.ts";
import { LOST_NETWORK } from "../support/firefox/reports.ts";
import { launchEagerFirefox, launchFirefox } from "../support/firefox.ts";
import { Line } from "../support/line.ts";
import { startReactSite } from "../support/react-site.ts";
import { Service } from "../support/service.ts";

setDefaultTimeout(90_000);

const isCrowd = ({ name }: { readonly name: string }): boolean => name.startsWith("a restart of the service");
playedIn(
  "Firefox",
  launchFirefox,
  SCENARIOS.filter((one) => !isCrowd(one)),
  { reports: LOST_NETWORK },
);
playedIn("a Firefox that does not delay WebSockets", launchEagerFirefox, SCENARIOS.filter(isCrowd), {
  reports: LOST_NETWORK,
});

type InPage = { readonly page: Readonly<Record<string, (...args: readonly unknown[]) => unknown>> };

describe("a page with React", () => {
  const browser = browserForTests(launchFirefox);
  let service: Service;
  let site: Bun.Server<undefined>;
  let line: Line;
  beforeAll(async () => {
    service = await Service.start();
    site = await startReactSite({ url: service.url, secretKey: service.keys.secretKey });
    line = await Line.to(service.port);
    const channelRules = [{ pattern: "room/**", history: { messages: 50, seconds: 3600 } }];
    await service.admin.must("PATCH", "/apps/demo", { channelRules });
  });
  afterAll(async () => {
    await line?.close();
    await site?.stop(true);
    await service?.stop();
  });

  const enter = async (peer: string, port: number, faults: string[]): Promise<Page> => {
    const page = await browser().newPage();
    page.on("pageerror", (error) => {
      if (!LOST_NETWORK.test(error.message)) faults.push(String(error));
    });
    await page.goto(site.url.href);
    await page.evaluate(([url, name]) => (globalThis as unknown as InPage).page.chat?.({ url, peer: name }, "room/1"), [
      `http://127.0.0.1:${port}`,
      peer,
    ] as const);
    await shows(page, "#status", "connected");
    return page;
  };
  const shows = (page: Page, selector: string, text: string): Promise<unknown> =>
    page.waitForFunction(`document.querySelector("${selector}")?.textContent === "${text}"`);
  const say = async (page: Page, text: string): Promise<void> => {
    await page.fill("#text", text);
    await page.press("#text", "Enter");
  };
  const lists = (page: Page, ...texts: string[]): Promise<unknown> =>
    until(`the page lists ${texts.join(", ")}`, async () =>
      Bun.deepEquals(await page.locator("#entries li").allTextContents(), texts),
    );

  test("publishes, shows members, and recovers what it has missed over a cut and a restart", async () => {
    const faults: string[] = [];
    const alice = await enter("alice", line.port, faults);
    const bob = await enter("bob", service.port, faults);
    await Promise.all([shows(alice, "#members", "bob"), shows(bob, "#members", "alice")]);
    await say(alice, "one");
    await lists(bob, "alice: one");
    line.cut();
    await shows(alice, "#status", "reconnecting");
    await say(bob, "two");
    await lists(bob, "alice: one", "bob: two");
    line.mend();
    await lists(alice, "alice: one", "bob: two");
    await service.down();
    await Promise.all([alice, bob].map((page) => shows(page, "#status", "reconnecting")));
    await service.up();
    const url = `${service.url}/v1/channels/room%2F1/publish`;
    const sent = await call(url, { body: { data: { text: "three" } }, bearer: service.keys.secretKey });
    expect(sent.status).toBe(200);
    for (const page of [alice, bob])
      await until("three arrives", async () => (await page.locator("#entries li").count()) === 3);
    await Promise.all([shows(alice, "#members", "bob"), shows(bob, "#members", "alice")]);
    expect(faults).toEqual([]);
  });
});
