/** The documentation in a browser: search by keyboard, links, copying, as files without a server, and how it looks to axe. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { run } from "../docs/support/child.ts";
import { PROJECT } from "../docs/support/page.ts";
import { type Server, startParley } from "../support/parley.ts";
import { isInSample } from "../support/sample.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";
import { TIMEOUT_MS } from "../support/wait.ts";
import { violations } from "./support/axe.ts";
import { browserForTests, LOOKS, type Look, WIDE } from "./support/dashboard.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();

/** A reader's tab; what the browser complains about fails the test at its end. */
class Reader implements AsyncDisposable {
  private readonly complaints: string[] = [];

  private constructor(
    private readonly context: BrowserContext,
    readonly page: Page,
  ) {
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") this.complaints.push(message.text());
    });
  }

  static async open(address: string, { width, scheme }: Look = WIDE): Promise<Reader> {
    const context = await browser().newContext({
      viewport: { width, height: 900 },
      colorScheme: scheme,
      permissions: address.startsWith("http") ? ["clipboard-read", "clipboard-write"] : [],
    });
    context.setDefaultTimeout(TIMEOUT_MS);
    const reader = new Reader(context, await context.newPage());
    await reader.page.goto(address);
    return reader;
  }

  get search() {
    return this.page.getByRole("combobox", { name: "Search the documentation" });
  }

  /** Types without a mouse, and waits for results. */
  async finds(query: string): Promise<void> {
    await this.page.keyboard.press("/");
    await this.page.keyboard.type(query);
    await this.page.getByRole("option").first().waitFor();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
    expect(this.complaints).toEqual([]);
  }
}

describe("served by a node", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startParley();
  });
  afterAll(() => server?.stop());

  test("a section is found and opened by keyboard alone, and screen readers learn which", async () => {
    await using reader = await Reader.open(`${server.url}/docs`);
    await reader.finds("live tail");
    const [first, second] = await reader.page.getByRole("option").all();
    expect(await first?.getAttribute("aria-selected")).toBe("true");
    expect(await reader.search.getAttribute("aria-activedescendant")).toBe("hit-0");
    await reader.page.keyboard.press("ArrowDown");
    expect(await second?.getAttribute("aria-selected")).toBe("true");
    expect(await reader.search.getAttribute("aria-activedescendant")).toBe("hit-1");
    expect(await reader.page.getByRole("status").textContent()).toMatch(/^\d+ sections found$/);
    await reader.page.keyboard.press("ArrowUp");
    expect(await first?.locator("mark").count()).toBeGreaterThan(0);
    await reader.page.keyboard.press("Enter");
    await reader.page.waitForURL(/\/docs\/[\w-]+#.*live-tail/);
    const heading = reader.page.locator(":target");
    expect(await heading.textContent()).toContain("Live tail");
    // Below the bar that stays at the top.
    expect((await heading.boundingBox())?.y).toBeGreaterThan(40);
  });

  test.if(IS_FULL)("what is not found is said, and Escape closes the list", async () => {
    await using reader = await Reader.open(`${server.url}/docs/tour`);
    await reader.page.keyboard.press("/");
    await reader.page.keyboard.type("xyzzy");
    await reader.page.getByText("No pages match.").first().waitFor();
    await reader.page.keyboard.press("Escape");
    expect(await reader.page.getByRole("listbox", { name: "Search results" }).isVisible()).toBe(false);
    expect(await reader.search.getAttribute("aria-expanded")).toBe("false");
  });

  test.if(IS_FULL)("the index is loaded once, with the first search", async () => {
    await using reader = await Reader.open(`${server.url}/docs/tour`);
    const asked: string[] = [];
    reader.page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await reader.finds("token");
    await reader.page.keyboard.type(" mint");
    await reader.page.getByRole("option").filter({ hasText: "mint" }).first().waitFor();
    expect(asked.filter((path) => !path.endsWith(".png"))).toEqual(["/docs/search.js"]);
  });

  test("a block of code is copied as it is written", async () => {
    await using reader = await Reader.open(`${server.url}/docs/tour`);
    await reader.page.getByRole("button", { name: "Copy" }).first().click();
    await reader.page.getByRole("button", { name: "Copied" }).waitFor();
    expect(await reader.page.evaluate<string>("navigator.clipboard.readText()")).toStartWith(
      'import { Parley } from "http',
    );
  });

  test("links lead through all parts: the list, the next page, a heading, the API reference and back", async () => {
    await using reader = await Reader.open(`${server.url}/docs`);
    const { page } = reader;
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Tour" }).click();
    await page.getByRole("heading", { level: 1, name: "Tour" }).waitFor();
    await page.getByRole("link", { name: "Next Quickstart" }).click();
    await page.waitForURL(/\/docs\/quickstart$/);
    await page
      .getByRole("navigation", { name: "On this page" })
      .getByRole("link", { name: "2. Copy your keys" })
      .click();
    await page.waitForURL(/#2-copy-your-keys$/);
    await page.getByRole("link", { name: "API reference" }).click();
    await page.getByRole("heading", { level: 1, name: /Parley API/ }).waitFor();
    await page.getByRole("link", { name: "documentation" }).click();
    await page.getByRole("heading", { level: 1, name: "Documentation" }).waitFor();
  });

  const TABLET: Look = { width: 820, scheme: "light" };
  const SHOWN = ["/docs", "/docs/limits", "/docs/quickstart", "/docs/performance", "/docs/decisions", "/docs/nothing"];
  test("every kind of page is accessible and does not scroll sideways, in every look", async () => {
    for (const [at, [path, look]] of SHOWN.flatMap((path) =>
      [...LOOKS, TABLET].map((look) => [path, look] as const),
    ).entries()) {
      if (!isInSample(at, 22)) continue;
      const name = `${path} ${look.width} ${look.scheme}`;
      const context = await browser().newContext({
        viewport: { width: look.width, height: 900 },
        colorScheme: look.scheme,
      });
      const page = await context.newPage();
      await page.goto(server.url + path);
      expect(await violations(page), name).toEqual([]);
      expect(
        await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth"),
        name,
      ).toBeLessThanOrEqual(0);
      await context.close();
    }
  }, 300_000);

  test.if(IS_FULL)("open search results are accessible", async () => {
    await using reader = await Reader.open(`${server.url}/docs/tour`);
    await reader.finds("history");
    expect(await violations(reader.page)).toEqual([]);
  });
});

test.if(IS_FULL)("opened as files, pages have their look, their links and search", async () => {
  using folder = scratch();
  const out = join(folder.path, "site");
  const { code, err } = await run([process.execPath, join(PROJECT, "scripts/docs.ts"), "--out", out]);
  expect([code, err]).toEqual([0, ""]);
  await using reader = await Reader.open(`file://${out}/decisions/01-bun.html`);
  const { page } = reader;
  expect(await page.evaluate<string>("getComputedStyle(document.querySelector('.top')).position")).toBe("sticky");
  await reader.finds("backup and restore");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/site\/operations\.html#backup-and-restore$/);
  await page.getByRole("link", { name: "Parley docs" }).click();
  await page.getByRole("heading", { level: 1, name: "Documentation" }).waitFor();
});
