/** A meeting from the door to its end, by keyboard alone and by touch alone on a phone: as a host, and as one of the others. */
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { HANDS, type Hand, handOn, PHONE } from "./support/hands.ts";
import { meetingRooms } from "./support/meeting-rooms.ts";
import type { Visitor } from "./support/visitor.ts";

setDefaultTimeout(120_000);

const rooms = meetingRooms();
afterEach(() => rooms().allLeave());

describe.each([...HANDS])("by %s", (by) => {
  const visit = (url: string): Promise<Visitor> =>
    rooms().visit(url, { ...(by === "touch" && PHONE), expected: /AudioContext|403/ });

  /** An entry of the menu "More". */
  const more = async (hand: Hand, visitor: Visitor, entry: string): Promise<void> => {
    await hand.press(visitor.button("More"));
    await hand.pick(visitor.page.getByRole("menuitem", { name: entry, exact: true }));
  };
  const asks = async (url: string, name: string): Promise<Visitor> => {
    const guest = await rooms().visit(url, { expected: /403/ });
    await guest.page.getByLabel("Your name").fill(name);
    await guest.button("Ask to join").click();
    return guest;
  };
  const isClear = (hand: Hand): void => expect([...hand.complaints]).toEqual([]);

  test("a host lets in, declines, mutes, renames, removes, locks, records and ends", async () => {
    const url = await rooms().room({ privacy: "private", audioOnlyRoom: true, enableRecording: true });
    const host = await visit(`${url}#token=${await rooms().token(url, { isAdmin: true, name: "Hana" })}`);
    const hand = handOn(host.page, by);
    await hand.press(host.button("Join"));
    await host.inside();
    const gil = await asks(url, "Gil");
    await hand.press(host.button("Let in Gil"));
    await gil.inside();
    const olga = await asks(url, "Olga");
    await asks(url, "Zoe");
    await host.page.getByText("2 waiting").first().waitFor();
    await hand.press(host.button(/Show all$/));
    await host.heading("People").waitFor();
    await hand.press(host.button("Decline Zoe"));
    await hand.press(host.button("Let in Olga"));
    await olga.inside();
    await hand.press(host.button("Mute Gil"));
    await gil.button("Turn on microphone").waitFor();
    await gil.button("Raise hand").click();
    await hand.press(host.button("Lower all hands"));
    await gil.announced("A host lowered your hand.");
    await hand.press(host.button("Rename Olga"));
    await hand.fill(host.page.getByLabel("New name"), "Ola");
    await hand.press(host.button("Save"));
    await hand.press(host.button("Mute all"));
    await olga.button("Turn on microphone").waitFor();
    await hand.press(host.button("Remove Gil"));
    await hand.press(host.button("Remove and lock the room"));
    await gil.heading("You were removed from the meeting").waitFor();
    await host.button("Remove Gil").waitFor({ state: "detached" });
    await hand.press(host.button("Close").first());
    await more(hand, host, "Unlock the room");
    await olga.announced("The room is unlocked: others can join again.");
    await more(hand, host, "Record the meeting");
    await hand.press(host.button("Start recording"));
    await olga.button("Agree and stay").click();
    await more(hand, host, "Stop recording");
    await host.announced("Recording stopped.");
    await hand.press(host.button("Leave"));
    await host.heading("Leave the meeting?").waitFor();
    await hand.press(host.button("Cancel"));
    await more(hand, host, "End for everyone");
    await hand.press(host.button("End the meeting"));
    await olga.heading("The meeting has ended").waitFor();
    await host.heading("The meeting has ended").waitFor();
    isClear(hand);
  });

  test("one of the others joins, speaks, shows a screen, writes, reacts, agrees to be recorded, leaves and returns", async () => {
    const url = await rooms().room({ enableRecording: true });
    const host = await rooms().visit(`${url}#token=${await rooms().token(url, { isAdmin: true, name: "Hana" })}`);
    await host.button("Join").click();
    await host.inside();
    const ada = await visit(url);
    const { page } = ada;
    const hand = handOn(page, by);
    await ada.heading("Ready to join?").waitFor();
    const language = page.getByLabel(/^(Language|Sprache)$/);
    await hand.choose(language, "Deutsch");
    await ada.heading("Bereit zur Teilnahme?").waitFor();
    await hand.choose(language, "English");
    await hand.press(page.getByText("Devices", { exact: true }));
    await page.getByLabel("Microphone", { exact: true }).waitFor();
    await hand.press(ada.button("Turn off microphone"));
    await hand.fill(page.getByLabel("Your name"), "Ada");
    await hand.press(ada.button("Join"));
    await ada.inside();
    await hand.press(ada.button("Turn on microphone"));
    await hand.press(ada.button("Turn off camera"));
    await hand.press(ada.button("Turn on camera"));
    await host.plays("Ada");
    if (by === "keyboard") {
      await hand.press(ada.button("Choose camera"));
      await hand.pick(page.getByRole("menuitem", { name: "Devices" }));
      // Phones cannot show their screen.
      await page.getByRole("dialog").getByLabel("Camera").waitFor();
      await page.keyboard.press("Escape");
      await hand.press(ada.button("Share screen"));
      await host.plays("Screen of Ada", "screen");
      await hand.press(ada.button("Stop").first());
      await host.tile("Screen of Ada", "screen").waitFor({ state: "detached" });
    } else {
      await more(hand, ada, "Devices");
      await hand.choose(page.getByRole("dialog").getByLabel("Language"), "English");
      await hand.press(page.getByRole("dialog").getByRole("button", { name: "Close" }));
    }
    await hand.press(ada.button("Raise hand"));
    await hand.press(ada.button("Lower hand"));
    await hand.press(ada.button("React with an emoji"));
    await hand.pick(page.getByRole("menuitem", { name: "Applause" }));
    await host.announced("Ada reacted: Applause");
    if (by === "keyboard") await page.keyboard.press("Escape");
    await hand.press(ada.button("Open chat"));
    await hand.fill(page.getByLabel("Write a message"), "Good morning");
    await hand.press(ada.button("Send"));
    await page.getByRole("list", { name: "Chat" }).getByText("Good morning").waitFor();
    await hand.press(ada.button("Close").first());
    await hand.press(ada.tile("Hana").getByRole("button"));
    await hand.press(ada.tile("Hana").getByRole("button"));
    await more(hand, ada, "Speaker view");
    await more(hand, ada, "Grid view");
    await more(hand, ada, "Invite others");
    await hand.press(ada.button("Copy link"));
    await ada.button("Copied").waitFor();
    await hand.press(page.getByRole("dialog").getByRole("button", { name: "Close" }));
    await host.choose("Record the meeting");
    await host.button("Start recording").click();
    await ada.heading("This meeting is being recorded").waitFor();
    await hand.press(ada.button("Agree and stay"));
    await ada.heading("This meeting is being recorded").waitFor({ state: "detached" });
    await hand.press(ada.button("Leave"));
    await ada.heading("You have left the meeting").waitFor();
    await hand.press(ada.button("Rejoin"));
    await hand.press(ada.button("Agree and join"));
    await ada.inside();
    isClear(hand);
  });
});
