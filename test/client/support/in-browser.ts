/** The scenarios of the conformance suite with parley-client in a page. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import type { Transport } from "../../../client/src/index.ts";
import type { Facts } from "../scenarios/stage.ts";
import { Backstage } from "./backstage.ts";

type InPage = { readonly play: (name: string, facts: Facts, transport: Transport) => Promise<void> };

const PAGE = '<!doctype html><title>scenarios</title><script type="module" src="/page.js"></script>';

/** `reports`: what this browser counts as an error, although no script threw one. */
export function playedIn(
  name: string,
  launch: () => Promise<Browser>,
  scenarios: readonly { readonly name: string }[],
  { reports, transport = "websocket" }: { readonly reports?: RegExp; readonly transport?: Transport } = {},
): void {
  describe(`parley-client in ${name} over ${transport}`, () => {
    let backstage: Backstage;
    let browser: Browser;

    beforeAll(async () => {
      const { outputs } = await Bun.build({
        entrypoints: [join(import.meta.dir, "../runners/page.ts")],
        target: "browser",
        throw: true,
      });
      const files = new Map([["/", new Blob([PAGE], { type: "text/html" })]]);
      for (const output of outputs) files.set("/page.js", new Blob([await output.text()], { type: "text/javascript" }));
      [backstage, browser] = await Promise.all([Backstage.start(files), launch()]);
    });

    afterAll(async () => {
      await browser?.close();
      await backstage?.stop();
    });

    for (const { name } of scenarios)
      test(name, async () => {
        const page = await browser.newPage();
        const faults: string[] = [];
        page.on("pageerror", (error) => {
          if (reports?.test(error.message) !== true) faults.push(String(error));
        });
        try {
          await page.goto(backstage.url, { waitUntil: "load" });
          await page.evaluate(([one, facts, how]) => (globalThis as unknown as InPage).play(one, facts, how), [
            name,
            backstage.facts,
            transport,
          ] as const);
          expect(faults).toEqual([]);
        } finally {
          await page.close();
        }
      });
  });
}
