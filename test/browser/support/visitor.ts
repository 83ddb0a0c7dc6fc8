/** A visitor of a meeting's page, in a browser context of its own; everything that a page must never do is gathered as a complaint. */
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { TIMEOUT_MS, until } from "../../support/wait.ts";
import { listen } from "./complaints.ts";

/** The browser would contact the page's own host alone; violations of the policy become visible. */
const OBSERVERS = `
  addEventListener("securitypolicyviolation", (event) =>
    console.error("policy: " + event.violatedDirective + " " + event.blockedURI + " " + event.sample));`;

interface Pictures {
  /** Only in Firefox, which counts no `totalVideoFrames` of a picture that is not from a file. */
  readonly mozPaintedFrames?: number;
  getVideoPlaybackQuality(): { readonly totalVideoFrames: number };
}

/** Runs in the page. Not as text: what a text evaluates to is returned as it is, and a function would never be called. */
const framesOf = (video: Pictures): number =>
  video.mozPaintedFrames ?? video.getVideoPlaybackQuality().totalVideoFrames;

export interface Visit {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: "light" | "dark";
  readonly locale?: string;
  /** A phone: its finger hovers over nothing. */
  readonly hasTouch?: boolean;
  /** Texts of errors in the console that the test causes itself. */
  readonly expected?: RegExp;
  /** Runs before the scripts of every page. */
  readonly script?: string;
}

let addresses = 0;

export class Visitor {
  readonly complaints: string[] = [];

  private constructor(
    readonly context: BrowserContext,
    public page: Page,
    private readonly expected: RegExp | undefined,
  ) {}

  /** Each has an address of its own, as a proxy would forward it: joins are limited by address. */
  static async open(browser: Browser, visit: Visit = {}): Promise<Visitor> {
    const {
      width = 1280,
      height = 800,
      scheme = "light",
      locale = "en-GB",
      hasTouch = false,
      expected,
      script,
    } = visit;
    const address = `10.1.${(++addresses >> 8) & 255}.${addresses & 255}`;
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: scheme,
      ...(hasTouch && { hasTouch, isMobile: true }),
      locale,
      permissions: ["camera", "microphone", "clipboard-read", "clipboard-write"],
      extraHTTPHeaders: { "X-Forwarded-For": address },
    });
    context.setDefaultTimeout(TIMEOUT_MS);
    await context.addInitScript(OBSERVERS);
    // Firefox runs it in the empty page too that a tab begins with, which has no devices.
    if (script !== undefined) await context.addInitScript(`if (isSecureContext) { ${script} }`);
    const visitor = new Visitor(context, await context.newPage(), expected);
    visitor.watch();
    return visitor;
  }

  /** The same person in a new tab, after the one before is gone. */
  async inNewTab(): Promise<this> {
    this.page = await this.context.newPage();
    this.watch();
    return this;
  }

  async goto(url: string): Promise<this> {
    const { host } = new URL(url);
    this.page.on("request", (request) => {
      const address = new URL(request.url());
      if (/^(http|ws)/.test(address.protocol) && address.host !== host)
        this.complaints.push(`leaves the host: ${request.url()}`);
    });
    await this.page.goto(url);
    return this;
  }

  /** From the door to the inside. */
  async enter(name: string): Promise<this> {
    await this.page.getByLabel("Your name").fill(name);
    await this.button("Join").click();
    await this.inside();
    return this;
  }

  async inside(): Promise<void> {
    await this.page.getByRole("navigation", { name: "Meeting controls" }).waitFor();
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole("button", { name, exact: typeof name === "string" });
  }

  heading(name: string): Locator {
    return this.page.getByRole("heading", { name, exact: true });
  }

  /** An entry of the menu "More". */
  async choose(name: string): Promise<void> {
    await this.button("More").click();
    await this.page.getByRole("menuitem", { name, exact: true }).click();
  }

  /** What is read aloud, or shown for a while. */
  announced(text: string): Promise<void> {
    return this.page.getByRole("status").getByText(text).first().waitFor({ state: "attached" });
  }

  /** The tile of a person, by name. */
  tile(name: string, kind = "camera"): Locator {
    return this.page.locator(`.tile[data-kind="${kind}"]`, { hasText: name });
  }

  /** Resolves when the tile shows pictures that move. */
  async plays(name: string, kind = "camera"): Promise<void> {
    const video = this.tile(name, kind).locator("video");
    await video.waitFor();
    const frames = (): Promise<number> => video.evaluate<number, undefined>(framesOf as never, undefined);
    const shown = await frames();
    await until(`the pictures of ${name} move`, async () => (await frames()) > shown + 2);
  }

  close(): Promise<void> {
    return this.context.close();
  }

  private watch(): void {
    listen(this.page, (text) => this.complaints.push(text), this.expected);
  }
}
