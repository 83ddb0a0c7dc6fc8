/** The scenarios of the conformance suite with parley-client in Chromium. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { launchChromium } from "../browser/support/chromium.ts";
import { isInSample } from "../support/sample.ts";
import { SAMPLE, SCENARIOS } from "./scenarios/all.ts";
import type { Facts } from "./scenarios/stage.ts";
import { Backstage } from "./support/backstage.ts";
import { IS_FULL } from "./support/service.ts";

setDefaultTimeout(90_000);

type InPage = { readonly play: (name: string, facts: Facts) => Promise<void> };

const PAGE = '<!doctype html><title>scenarios</title><script type="module" src="/page.js"></script>';

describe("parley-client in Chromium", () => {
  let backstage: Backstage;
  let browser: Browser;

  beforeAll(async () => {
    const { outputs } = await Bun.build({
      entrypoints: [join(import.meta.dir, "runners/page.ts")],
      target: "browser",
      throw: true,
    });
    const files = new Map([["/", new Blob([PAGE], { type: "text/html" })]]);
    for (const output of outputs) files.set("/page.js", new Blob([await output.text()], { type: "text/javascript" }));
    [backstage, browser] = await Promise.all([Backstage.start(files), launchChromium()]);
  });

  afterAll(async () => {
    await browser?.close();
    await backstage?.stop();
  });

  for (const { name } of IS_FULL ? SCENARIOS : SAMPLE.filter((_, at) => isInSample(at, 2)))
    test(name, async () => {
      const page = await browser.newPage();
      const faults: string[] = [];
      page.on("pageerror", (error) => faults.push(String(error)));
      try {
        await page.goto(backstage.url, { waitUntil: "load" });
        await page.evaluate(([one, facts]) => (globalThis as unknown as InPage).play(one, facts), [
          name,
          backstage.facts,
        ] as const);
        expect(faults).toEqual([]);
      } finally {
        await page.close();
      }
    });
});
