/** The meeting page by keyboard alone: from the door to leaving. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { eventually } from "./support/eventually.ts";
import { meetingRooms } from "./support/meeting-rooms.ts";
import type { Visitor } from "./support/visitor.ts";

setDefaultTimeout(60_000);

const rooms = meetingRooms();

afterEach(() => rooms().allLeave());

/** Presses Tab until this control has the focus. */
async function tabTo({ page }: Visitor, name: string): Promise<void> {
  for (let pressed = 0; pressed < 40; pressed++) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate<string>(
      "document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.labels?.[0]?.innerText ?? document.activeElement?.innerText ?? ''",
    );
    if (focused === name) return;
  }
  throw new Error(`no Tab reaches ${name}`);
}

test("from the door to leaving", async () => {
  const url = await rooms().room();
  const ada = await rooms().visit(url);
  const { keyboard } = ada.page;
  await ada.heading("Ready to join?").waitFor();
  await tabTo(ada, "Turn off microphone");
  await keyboard.press("Space");
  await ada.button("Turn on microphone").waitFor();
  await tabTo(ada, "Your name");
  await keyboard.type("Ada");
  await keyboard.press("Enter");
  await ada.inside();
  await ada.page.locator(".head-room:focus").waitFor();

  // What was chosen at the door holds.
  await ada.button("Turn on microphone").waitFor();
  await keyboard.press("m");
  await ada.button("Turn off microphone").waitFor();
  await keyboard.press("v");
  await ada.button("Turn on camera").waitFor();
  await keyboard.press("h");
  await ada.button("Lower hand").waitFor();

  await keyboard.press("c");
  await ada.page.getByLabel("Write a message").and(ada.page.locator(":focus")).waitFor();
  // Letters are text here, and Enter sends.
  await keyboard.type("hm");
  await keyboard.press("Enter");
  await ada.page.getByRole("list", { name: "Chat" }).getByText("hm").waitFor();
  await eventually(() => ada.button("Turn off microphone").count(), 1);
  await keyboard.press("Escape");
  await ada.button("Open chat").waitFor();

  await keyboard.press("?");
  await ada.heading("Keyboard shortcuts").waitFor();
  await tabTo(ada, "Use keyboard shortcuts");
  await keyboard.press("Space");
  await keyboard.press("Escape");
  await ada.heading("Keyboard shortcuts").waitFor({ state: "detached" });
  // Turned off: speech input types letters too.
  await keyboard.press("h");
  await eventually(() => ada.button("Lower hand").count(), 1);

  await tabTo(ada, "Choose microphone and speaker");
  await keyboard.press("Enter");
  await ada.page.locator('[role="menuitemradio"][aria-checked="true"]:focus').waitFor();
  await keyboard.press("End");
  await keyboard.press("Enter");
  await ada.heading("Devices").and(ada.page.locator(":focus")).waitFor();
  await keyboard.press("Escape");
  await ada.button("Choose microphone and speaker").and(ada.page.locator(":focus")).waitFor();

  await tabTo(ada, "More");
  await keyboard.press("Enter");
  await ada.page.getByRole("menuitem", { name: "Speaker view" }).and(ada.page.locator(":focus")).waitFor();
  await keyboard.press("ArrowUp");
  await keyboard.press("Home");
  await keyboard.press("ArrowDown");
  await ada.page.getByRole("menuitem", { name: "People" }).and(ada.page.locator(":focus")).waitFor();
  await keyboard.press("Enter");
  await ada.heading("People").and(ada.page.locator(":focus")).waitFor();
  await keyboard.press("Escape");
  await tabTo(ada, "Leave");
  await keyboard.press("Enter");
  await ada.heading("You have left the meeting").and(ada.page.locator(":focus")).waitFor();
});

test("the invitation is the plain link, without a token", async () => {
  const url = await rooms().room({ privacy: "private" });
  const host = await rooms().visit(`${url}#token=${await rooms().token(url, { isAdmin: true })}&name=Hana`);
  await host.button("Join").click();
  await host.inside();
  // The first one inside has it before anything else.
  expect(await host.page.getByLabel("Room link").inputValue()).toBe(url);
  await host.choose("Invite others");
  await host.button("Copy link").click();
  await host.button("Copied").waitFor();
  expect(await host.page.evaluate<string>("navigator.clipboard.readText()")).toBe(url);
});
