/** The people of the start page's demo, as its tests see them. */
import type { Locator, Page } from "playwright-core";
import { within } from "../../support/wait.ts";

/** The left and the right person of a tab. */
type Slot = "first" | "other";
const paneOf = (page: Page, slot: Slot = "first"): Locator => page.locator(`#${slot}`);

/** Resolves when the text of a part of the pane fits; a timeout reports what the page shows instead. */
export async function shows(page: Page, part: string, text: string | RegExp, slot?: Slot): Promise<void> {
  try {
    await paneOf(page, slot).locator(`.${part}`).filter({ hasText: text }).waitFor();
  } catch {
    throw new Error(`.${part} should show ${text}; the page shows: ${await page.locator("body").innerText()}`);
  }
}

export const said = (page: Page, text: string, slot?: Slot): Locator =>
  paneOf(page, slot).getByRole("log").locator("p").filter({ hasText: text });
export const button = (page: Page, name: string | RegExp, slot?: Slot): Locator =>
  paneOf(page, slot).getByRole("button", { name });

/** The person's name, once it is connected. */
export async function nameOf(page: Page, slot?: Slot): Promise<string> {
  await shows(page, "state", /^Connected$/, slot);
  return paneOf(page, slot).getByLabel("Your name").inputValue();
}

export async function rename(page: Page, name: string, slot?: Slot): Promise<void> {
  await paneOf(page, slot).getByLabel("Your name").fill(name);
  await paneOf(page, slot).getByLabel("Your name").press("Enter");
}

export async function say(page: Page, text: string, slot?: Slot): Promise<void> {
  await paneOf(page, slot).getByLabel("Message", { exact: true }).fill(text);
  await paneOf(page, slot).getByLabel("Message", { exact: true }).press("Enter");
}

/** Resolves when the video shows moving pictures. */
export const moves = (page: Page, kind: "mine" | "theirs"): Promise<unknown> =>
  within(
    `moving pictures in ${kind}`,
    page.evaluate(`new Promise((resolve) => {
      const video = document.querySelector("#first .${kind}");
      video.requestVideoFrameCallback(() => video.requestVideoFrameCallback(() => resolve()));
    })`),
  );

export const hasNoCall = async (page: Page): Promise<void> => {
  await paneOf(page).locator(".call").waitFor({ state: "hidden" });
};
