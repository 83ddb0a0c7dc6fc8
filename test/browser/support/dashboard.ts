/** The dashboard in a browser of its own, signed in; everything that a page must never do is gathered as a complaint. */
import { afterAll, beforeAll, expect } from "bun:test";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { sessionAt } from "../../support/dashboard.ts";
import { TIMEOUT_MS } from "../../support/wait.ts";
import { launchChromium } from "./chromium.ts";
import { listen } from "./complaints.ts";

export interface Look {
  readonly width: number;
  readonly height?: number;
  readonly scheme: "light" | "dark";
  /** A phone: its finger hovers over nothing. */
  readonly hasTouch?: boolean;
}

export const WIDE: Look = { width: 1440, scheme: "light" };
export const NARROW_DARK: Look = { width: 360, scheme: "dark" };
export const LOOKS: readonly Look[] = [
  WIDE,
  { width: 1440, scheme: "dark" },
  { width: 360, scheme: "light" },
  NARROW_DARK,
];

/** Before any script of the page: counts movements of the layout, and makes violations of the policy visible. */
const OBSERVERS = `
  globalThis.shifts = [];
  // Firefox does not count them, and would warn.
  if (PerformanceObserver.supportedEntryTypes.includes("layout-shift")) new PerformanceObserver((list) => {
    for (const entry of list.getEntries())
      if (!entry.hadRecentInput)
        shifts.push({ value: entry.value, of: entry.sources.map(({ node }) => (node?.outerHTML ?? node?.textContent ?? "").slice(0, 120)) });
  }).observe({ type: "layout-shift", buffered: true });
  addEventListener("securitypolicyviolation", (event) =>
    console.error("policy: " + event.violatedDirective + " " + event.blockedURI + " " + event.sample));`;

export interface Opening extends Partial<Look> {
  /** Signed in with it from the start. Without one the page shows the sign-in form. */
  readonly token?: string;
  /** Texts of errors in the console that the test causes itself. */
  readonly expected?: RegExp;
  /** Hosts besides the service's own that pages of this browser open: other nodes. */
  readonly hosts?: readonly string[];
}

export class Dashboard implements AsyncDisposable {
  readonly complaints: string[] = [];
  /** Addresses of all requests. */
  readonly requests: string[] = [];

  private constructor(
    readonly context: BrowserContext,
    readonly url: string,
    private readonly expected: RegExp | undefined,
    private readonly hosts: readonly string[],
  ) {
    context.setDefaultTimeout(TIMEOUT_MS);
    context.on("page", (page) => this.watch(page));
  }

  static async open(browser: Browser, url: string, opening: Opening = {}): Promise<Dashboard> {
    const {
      token,
      width = WIDE.width,
      height = 900,
      scheme = WIDE.scheme,
      hasTouch = false,
      expected,
      hosts = [],
    } = opening;
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: scheme,
      ...(hasTouch && { hasTouch, isMobile: true }),
      ...(token !== undefined && { storageState: await signedIn(url, token) }),
    });
    await context.addInitScript(OBSERVERS);
    return new Dashboard(context, url, expected, [new URL(url).host, ...hosts]);
  }

  /** `path` is below /dashboard. */
  async page(path = ""): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(`${this.url}/dashboard${path}`);
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
    expect(this.complaints).toEqual([]);
  }

  private watch(page: Page): void {
    listen(page, (text) => this.complaints.push(text), this.expected);
    page.on("dialog", (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      const address = new URL(request.url());
      this.requests.push(request.url());
      if (/^(http|ws)/.test(address.protocol) && !this.hosts.includes(address.host))
        this.complaints.push(`leaves the host: ${request.url()}`);
    });
  }
}

/** Sessions by service and token: one per suite, as every sign-in is a line in the audit. */
const sessions = new Map<string, Promise<string>>();

/** What the browser keeps after signing in. */
async function signedIn(url: string, token: string) {
  const of = `${url} ${token}`;
  const session = sessions.get(of) ?? sessionAt(url, token);
  sessions.set(of, session);
  const [name = "", value = ""] = (await session).split("=");
  const { hostname } = new URL(url);
  const cookie = { name, value, domain: hostname, path: "/", expires: -1, httpOnly: true, secure: false };
  return {
    cookies: [{ ...cookie, sameSite: "Strict" as const }],
    origins: [{ origin: url, localStorage: [{ name: "parley-signed-in", value: "1" }] }],
  };
}

/** Sends the sign-in form as a person does; `opens` is the title of the page behind it. */
export async function signInByForm(page: Page, token: string, opens = "Overview"): Promise<void> {
  await page.getByLabel("Token").fill(token);
  await button(page, "Sign in").click();
  await heading(page, opens).waitFor();
}

/** One browser for the tests of a file. */
export function browserForTests(launch: () => Promise<Browser> = launchChromium): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());
  return () => {
    if (!browser) throw new Error("the browser has not started");
    return browser;
  };
}

type Within = Page | Locator;

export const button = (within: Within, name: string | RegExp): Locator =>
  within.getByRole("button", { name, exact: typeof name === "string" });
export const link = (within: Within, name: string | RegExp): Locator =>
  within.getByRole("link", { name, exact: typeof name === "string" });
export const heading = (page: Page, name: string | RegExp): Locator =>
  page.getByRole("heading", { name, level: 1, exact: typeof name === "string" });
export const dialog = (page: Page, name: string | RegExp): Locator =>
  page.getByRole("dialog", { name, exact: typeof name === "string" });
/** A short confirmation at the edge of the page. */
export const toast = (page: Page, text: string | RegExp): Locator => page.locator(".toast").filter({ hasText: text });
export const row = (page: Page, table: string, text: string): Locator =>
  page.getByRole("table", { name: table, exact: true }).getByRole("row").filter({ hasText: text });

/** Chooses an application in the switcher, by a part of its name. */
export async function chooseApp(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: /^Application:/ }).click();
  await page.getByRole("combobox", { name: "Find an application" }).fill(name);
  await page.getByRole("option", { name, exact: true }).click();
}

/** Opens an entry of the navigation. */
export async function go(page: Page, entry: string, title = entry): Promise<void> {
  await link(page.getByRole("navigation", { name: "Dashboard" }), entry).click();
  await heading(page, title).waitFor();
}
