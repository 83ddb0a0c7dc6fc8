/** The start page's demo and the documentation, by keyboard alone and by touch alone. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { type Server, startParley } from "../support/parley.ts";
import { TIMEOUT_MS } from "../support/wait.ts";
import { browserForTests } from "./support/dashboard.ts";
import { HANDS, type Hand, handOn, PHONE } from "./support/hands.ts";
import { button, hasNoCall, nameOf, said, shows } from "./support/people.ts";

setDefaultTimeout(120_000);

const browser = browserForTests();
let server: Server;
beforeAll(async () => {
  server = await startParley();
});
afterAll(() => server?.stop());

describe.each([...HANDS])("by %s", (by) => {
  const opened = async (path: string): Promise<{ page: Page; hand: Hand } & AsyncDisposable> => {
    const { width, height } = PHONE;
    const phone = { viewport: { width, height }, hasTouch: true, isMobile: true };
    const context = await browser().newContext({
      ...(by === "touch" && phone),
      permissions: ["camera", "microphone", "clipboard-read", "clipboard-write"],
    });
    context.setDefaultTimeout(TIMEOUT_MS);
    const page = await context.newPage();
    await page.goto(server.url + path);
    const hand = handOn(page, by);
    return {
      page,
      hand,
      [Symbol.asyncDispose]: async () => {
        await context.close();
        expect([...hand.complaints]).toEqual([]);
      },
    };
  };

  test("two people of the demo write, take a name and call", async () => {
    await using at = await opened("/");
    const { page, hand } = at;
    const name = await nameOf(page);
    await nameOf(page, "other");
    await hand.fill(page.locator("#other").getByLabel("Your name"), "Bea");
    await page.keyboard.press("Enter");
    await button(page, "Call Bea").waitFor();
    await hand.fill(page.locator("#first").getByLabel("Message", { exact: true }), "hello");
    await hand.press(button(page, "Send"));
    await said(page, `${name} hello`, "other").waitFor();
    await hand.press(button(page, "Call Bea"));
    await hand.press(button(page, "Answer", "other"));
    await shows(page, "round-trip", /round trip [\d.]+ ms/);
    // The newest message can be read during the call, too.
    expect((await page.locator("#first").getByRole("log").boundingBox())?.height).toBeGreaterThan(60);
    await hand.press(button(page, "Hang up"));
    await hasNoCall(page);
    const tab = page.getByRole("tab", { name: "Public SDK" });
    if (by === "touch") await hand.press(tab);
    else {
      await hand.reach(page.getByRole("tab", { name: "In a page" }));
      await page.keyboard.press("ArrowRight");
    }
    await page.getByText("The public SDK of this protocol works unchanged.").waitFor();
    await hand.press(page.locator("#sdk").getByRole("button", { name: "Copy" }));
    await page.locator("#sdk").getByRole("button", { name: "Copied" }).waitFor();
  });

  test("the documentation is searched, its lists lead on, and a call is tried", async () => {
    await using at = await opened("/docs");
    const { page, hand } = at;
    await hand.fill(page.getByRole("combobox", { name: "Search the documentation" }), "live tail");
    const hit = page.getByRole("option").first();
    await hit.waitFor();
    // The list lies over links, which cannot be hit meanwhile.
    if (by === "touch") await hit.tap();
    else await page.keyboard.press("Enter");
    await page.waitForURL(/#.*live-tail/);
    hand.opened();
    if (by === "touch") {
      await hand.press(page.getByRole("button", { name: "On this page" }));
      await hand.press(page.getByRole("navigation", { name: "On this page" }).getByRole("link").nth(1));
      await page.getByRole("navigation", { name: "On this page" }).waitFor({ state: "hidden" });
      await hand.press(page.getByRole("button", { name: "Menu" }));
    }
    await hand.press(page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Tour" }));
    await page.waitForURL(/\/docs\/tour$/);
    await page.goto(`${server.url}/docs/api#postV1Tokens`);
    hand.opened();
    const section = page.locator("#postV1Tokens");
    await hand.press(section.locator("summary", { hasText: "Try it" }));
    await hand.fill(section.getByLabel("Secret key"), server.keys.secretKey);
    await hand.press(section.getByRole("button", { name: "Send POST" }));
    await section.getByText(/^200 .*ms · application\/json$/).waitFor();
    await hand.reach(section.getByLabel("Response", { exact: true }));
  });
});
