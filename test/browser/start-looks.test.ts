/** The start page while it starts: what its script fills in has its place from the first paint. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { startParley } from "../support/parley.ts";
import { TIMEOUT_MS } from "../support/wait.ts";
import { browserForTests } from "./support/dashboard.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();

/** Before any script of the page: adds up the movements of the layout. */
const OBSERVER = `globalThis.moved = 0;
  new PerformanceObserver((list) => { for (const { value } of list.getEntries()) moved += value; })
    .observe({ type: "layout-shift", buffered: true });`;

/** Movements of less than a line; a line moves everything below it by more. */
const MOVED_MAX = 0.005;

test("nothing moves, on a desk, a tablet and a phone", async () => {
  await using service = await startParley();
  for (const width of [1440, 820, 360]) {
    const page = await browser().newPage({ viewport: { width, height: 900 } });
    page.setDefaultTimeout(TIMEOUT_MS);
    await page.addInitScript(OBSERVER);
    await page.goto(`${service.url}/`);
    for (const slot of ["first", "other"]) await page.locator(`#${slot} .who`).waitFor();
    await page.locator("#health").filter({ hasText: "Healthy" }).waitFor();
    expect(await page.evaluate<number>("moved"), `${width} px`).toBeLessThan(MOVED_MAX);
    await page.close();
  }
});
