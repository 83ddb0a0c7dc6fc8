/** The dashboard in the hands of a person without a mouse. */
import { expect } from "bun:test";
import type { Browser, Locator, Page } from "playwright-core";
import type { Server } from "../../support/parley.ts";
import { button, Dashboard, heading, link } from "./dashboard.ts";
import { type Hand, type HandName, handOn, PHONE } from "./hands.ts";

const DESK = { width: 1280 } as const;

export interface InHand extends AsyncDisposable {
  readonly page: Page;
  readonly hand: Hand;
  readonly dashboard: Dashboard;
  /** Opens an entry of the navigation. */
  go(entry: string): Promise<void>;
  /** Sets a date and a time, as `2035-03-16T10:00`. */
  time(field: Locator, text: string): Promise<void>;
  /** Nothing was in the way. */
  end(): Promise<void>;
}

type Opened = (path: string, isSignedIn?: boolean) => Promise<InHand>;

/** `path` is below /dashboard. */
export const withHand =
  (browser: () => Browser, server: Server, by: HandName): Opened =>
  async (path, isSignedIn = true) => {
    const dashboard = await Dashboard.open(browser(), server.url, {
      ...(by === "touch" ? PHONE : DESK),
      ...(isSignedIn && { token: server.adminToken }),
      expected: /401|404/,
    });
    await dashboard.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const page = await dashboard.page(path);
    const hand = handOn(page, by);
    return {
      page,
      hand,
      dashboard,
      go: async (entry) => {
        if (by === "touch") await hand.press(button(page, "Menu"));
        await hand.press(link(page.getByRole("navigation", { name: "Dashboard" }), entry));
        await heading(page, entry).waitFor();
      },
      time: async (field, text) => {
        // On a phone the browser asks for it.
        if (by === "touch") return field.fill(text);
        const [, year = "", month = "", day = "", hour = "", minute = ""] =
          /^(\d+)-(\d+)-(\d+)T(\d+):(\d+)$/.exec(text) ?? [];
        await hand.reach(field);
        await page.keyboard.type(`${month}${day}${year}`);
        await page.keyboard.press("ArrowRight");
        await page.keyboard.type(`${hour}${minute}AM`);
        expect(await field.inputValue()).toBe(text);
      },
      end: async () => expect([...hand.complaints]).toEqual([]),
      [Symbol.asyncDispose]: () => dashboard[Symbol.asyncDispose](),
    };
  };
