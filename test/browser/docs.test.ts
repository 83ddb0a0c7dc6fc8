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
import { browserForTests, LOOKS, type Look, NARROW_DARK, WIDE } from "./support/dashboard.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();

interface Opening extends Look {
  /** Texts of errors in the console that the test causes itself. */
  readonly expected?: RegExp;
}

/** A reader's tab; what the browser complains about fails the test at its end. */
class Reader implements AsyncDisposable {
  private readonly complaints: string[] = [];

  private constructor(
    private readonly context: BrowserContext,
    readonly page: Page,
    expected: RegExp | undefined,
  ) {
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error" && !expected?.test(message.text())) this.complaints.push(message.text());
    });
  }

  static async open(address: string, { width, scheme, expected }: Opening = WIDE): Promise<Reader> {
    const context = await browser().newContext({
      viewport: { width, height: 900 },
      colorScheme: scheme,
      permissions: address.startsWith("http") ? ["clipboard-read", "clipboard-write"] : [],
    });
    context.setDefaultTimeout(TIMEOUT_MS);
    const reader = new Reader(context, await context.newPage(), expected);
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

  const firstCopy = async ({ page }: Reader): Promise<string> => {
    await page.getByRole("button", { name: "Copy" }).first().click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    return page.evaluate<string>("navigator.clipboard.readText()");
  };

  test("a block of code is copied with the names of the service's demo, and without one as it is written", async () => {
    await using reader = await Reader.open(`${server.url}/docs/client-script`);
    await reader.page.locator("mark.filled").first().waitFor();
    const { host } = new URL(server.url);
    expect(await firstCopy(reader)).toContain(
      `new Parley({ url: "http://${host}", key: "${server.keys.publishableKey}" })`,
    );
    await reader.page.route("**/docs/demo.json", (route) => route.fulfill({ json: {} }));
    const answered = reader.page.waitForResponse("**/docs/demo.json");
    await reader.page.reload();
    await answered;
    expect(await firstCopy(reader)).toContain('new Parley({ url: "http://localhost:8080", key: "pk_live_…" })');
  });

  test("on a phone the lists of pages and of sections open from buttons, by keyboard too, and close when they lead on", async () => {
    await using reader = await Reader.open(`${server.url}/docs/quickstart`, NARROW_DARK);
    const { page } = reader;
    const [pages, contents] = ["Pages", "On this page"].map((name) =>
      page.getByRole("navigation", { name, exact: true }),
    );
    expect([await pages?.isVisible(), await contents?.isVisible()]).toEqual([false, false]);
    await page.getByRole("button", { name: "On this page" }).press("Enter");
    await contents?.getByRole("link", { name: "5. Use the SDK" }).click();
    await contents?.waitFor({ state: "hidden" });
    expect(new URL(page.url()).hash).toBe("#5-use-the-sdk");
    await page.getByRole("button", { name: "Menu" }).press("Enter");
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await pages?.waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Menu" }).click();
    expect(await pages?.locator("[aria-current]").textContent()).toBe("Quickstart");
    await pages?.getByRole("link", { name: "History" }).click();
    await page.getByRole("heading", { level: 1, name: "History, recovery" }).waitFor();
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
    await page.getByRole("navigation", { name: "Site" }).getByRole("link", { name: "API reference" }).click();
    await page.getByRole("heading", { level: 1, name: "API reference" }).waitFor();
    await page.getByRole("navigation", { name: "Site" }).getByRole("link", { name: "Guides" }).click();
    await page.getByRole("heading", { level: 1, name: "Documentation" }).waitFor();
  });

  describe("Try it, in the API reference", () => {
    const opened = async ({ page }: Reader, id: string) => {
      const section = page.locator(`#${id}`);
      await section.getByText("Try it").click();
      return section;
    };

    test("sends what changes something only with the second click, to this service, and keeps the key nowhere", async () => {
      await using reader = await Reader.open(`${server.url}/docs/api#postV1ChannelsChannelPublish`);
      const { page } = reader;
      // As of someone who is signed in to the dashboard.
      await page.context().addCookies([{ name: "parley", value: "a-session", url: server.url }]);
      const sent: string[] = [];
      page.on("request", (request) => sent.push(`${request.method()} ${request.url()}`));
      const section = await opened(reader, "postV1ChannelsChannelPublish");
      const { secretKey } = server.keys;
      expect(await section.getByLabel("Secret key").getAttribute("placeholder")).toBe("<sk_id>:<sk_secret>");
      await section.getByLabel("Secret key").fill(secretKey);
      await section.getByLabel("channel", { exact: false }).first().fill("chat/lobby");
      expect(await section.getByLabel("Secret key").getAttribute("type")).toBe("password");
      expect(await section.getByLabel("Request", { exact: true }).textContent()).toContain(
        "Authorization: Bearer ••••••••'",
      );
      await section.getByRole("button", { name: "Send POST" }).click();
      expect(sent).toEqual([]);
      const request = page.waitForRequest("**/publish");
      await section.getByRole("button", { name: "Click again: this can change data" }).click();
      const headers = await (await request).allHeaders();
      expect([headers.authorization, headers.cookie]).toEqual([`Bearer ${secretKey}`, undefined]);
      await section.getByText(/^2\d\d .*ms/).waitFor();
      // A token changes nothing: one click makes it.
      const tokens = await opened(reader, "postV1Tokens");
      await tokens.getByRole("button", { name: "Send POST" }).click();
      await tokens.getByText(/^200 .*ms · application\/json$/).waitFor();
      expect(await tokens.getByLabel("Response", { exact: true }).textContent()).toContain('"token": "ey');
      expect(sent).toEqual([`POST ${server.url}/v1/channels/chat%2Flobby/publish`, `POST ${server.url}/v1/tokens`]);
      // Another operation has it, and nothing else: neither the page's text, nor its address, nor a storage.
      const other = await opened(reader, "getV1Usage");
      expect(await other.getByLabel("Secret key").inputValue()).toBe(secretKey);
      const places =
        "[location.href, document.documentElement.outerHTML, JSON.stringify([{...localStorage}, {...sessionStorage}]), document.cookie]";
      expect((await page.evaluate<string[]>(places)).join().includes(secretKey.slice(-12))).toBe(false);
      await page.reload();
      expect(await (await opened(reader, "getV1Usage")).getByLabel("Secret key").inputValue()).toBe("");
    });

    test("asks for what is missing, and shows what the service refuses", async () => {
      await using reader = await Reader.open(`${server.url}/docs/api#getV1ChannelsChannelPeers`, {
        ...NARROW_DARK,
        expected: /401/,
      });
      const section = await opened(reader, "getV1ChannelsChannelPeers");
      const send = section.getByRole("button", { name: "Send GET" });
      for (const wrong of ["", ".."]) {
        await section.getByLabel("channel", { exact: false }).first().fill(wrong);
        await send.click();
        await section.getByText("Enter channel.").waitFor();
      }
      await section.getByLabel("channel", { exact: false }).first().fill("chat/a b?#");
      const request = reader.page.waitForRequest("**/peers");
      await send.click();
      expect((await request).url()).toBe(`${server.url}/v1/channels/chat%2Fa%20b%3F%23/peers`);
      await section.getByText(/^401 /).waitFor();
      expect(
        await reader.page.evaluate<number>("document.documentElement.scrollWidth - innerWidth"),
      ).toBeLessThanOrEqual(0);
      // It takes axe 20 seconds to read all operations.
      if (IS_FULL) expect(await violations(reader.page)).toEqual([]);
    });
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
