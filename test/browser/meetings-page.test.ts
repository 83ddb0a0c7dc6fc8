/** The page of a meeting, with a real service: from the door to leaving. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { IS_FULL } from "../support/slack.ts";
import { eventually } from "./support/eventually.ts";
import { meetingRooms } from "./support/meeting-rooms.ts";
import type { Visitor } from "./support/visitor.ts";

setDefaultTimeout(60_000);

const rooms = meetingRooms();

afterEach(() => rooms().allLeave());

test("two visitors meet: camera, chat, hand, and leaving", async () => {
  const url = await rooms().room();
  const ada = await rooms().visit(url);
  await ada.page.getByText("No one is here yet.").waitFor();
  await ada.enter("Ada");
  const ben = await rooms().visit(url);
  await ben.page.getByText("One person is here.").waitFor();
  await ben.enter("Ben");
  await ada.announced("Ben joined.");
  await Promise.all([ada.plays("Ben"), ben.plays("Ada")]);
  await eventually(() => ada.tile("Ben").getByText("guest").count(), 1);

  await ada.button("Open chat").click();
  await ada.page.getByLabel("Write a message").fill("See https://example.com/a, not javascript:alert(1)");
  await ada.button("Send").click();
  await ben.button("Open chat, 1 unread").click();
  const link = ben.page.getByRole("link");
  await eventually(() => link.count(), 1);
  await eventually(() => link.getAttribute("href"), "https://example.com/a");
  await eventually(() => link.getAttribute("rel"), "noopener noreferrer nofollow");

  await ben.button("Raise hand").click();
  await ada.tile("Ben").getByText("hand raised").waitFor({ state: "attached" });
  await ben.button("Turn off microphone").click();
  await ada.tile("Ben").getByText("microphone off").waitFor({ state: "attached" });
  await ben.button("Turn off camera").click();
  await ada.tile("Ben").locator("video").waitFor({ state: "detached" });
  await ben.button("Leave").click();
  await ben.heading("You have left the meeting").waitFor();
  await ada.announced("Ben left.");
  await ada.page.getByText("You are the only one here.").waitFor();
});

// The lobby is also in meetings-door.test.ts.
test.if(IS_FULL)("a private room: ask, be declined, ask again, be let in", async () => {
  const url = await rooms().room({ privacy: "private" });
  const guest = await rooms().visit(url, { expected: /403/ });
  await guest.page.getByLabel("Your name").fill("Gil");
  await guest.button("Ask to join").click();
  await guest.heading("Waiting to be let in").waitFor();
  await guest.page.clock.install();

  // It works although no admin was there: the queue is shown on arrival.
  const host = await rooms().visit(`${url}#token=${await rooms().token(url, { isAdmin: true, name: "Hana" })}`);
  expect(host.page.url()).toBe(url);
  await host.button("Join").click();
  await host.announced("Gil wants to join.");
  await host.button("Decline Gil").click();
  await guest.heading("You were not let in").waitFor();
  // Asking at once would be refused, which looks like a second decision of the host.
  await guest.page.getByText("You can ask again in").waitFor();
  expect(await guest.button("Try again").isDisabled()).toBe(true);
  await guest.page.clock.fastForward(60_000);
  await guest.page.getByText("You can ask again now.").waitFor();
  expect(await guest.button("Try again").isEnabled()).toBe(true);
  await host.button("Decline Gil").waitFor({ state: "detached" });

  const other = await rooms().visit(url);
  await other.page.getByLabel("Your name").fill("Olga");
  await other.button("Ask to join").click();
  await host.button("Let in Olga").click();
  await other.inside();
  await host.plays("Olga");
  await eventually(() => host.tile("Olga").getByText("guest").count(), 1);
  await eventually(() => other.tile("Hana").getByText("guest").count(), 0);

  // Who was removed may ask again; the host is reminded.
  await host.choose("People");
  await host.button("Remove Olga").click();
  await host.button("Remove").click();
  await other.heading("You were removed from the meeting").waitFor();
  await other.page.reload();
  await other.page.getByLabel("Your name").fill("Olga");
  await other.button("Ask to join").click();
  await host.page.getByText("You removed someone with this name before.").waitFor();
});

test("an admin mutes, removes, locks, unlocks and ends", async () => {
  // Four pages at once: pictures would take most of the time.
  const url = await rooms().room({ audioOnlyRoom: true });
  const token = await rooms().token(url, { isAdmin: true, name: "Hana" });
  const host = await rooms().visit(`${url}?token=${token}`);
  expect(host.page.url()).toBe(url);
  await host.button("Join").click();
  await host.inside();
  const gil = await rooms().visit(url);
  await gil.enter("Gil");
  const olga = await rooms().visit(url);
  await olga.enter("Olga");
  await eventually(() => olga.button(/Remove/).count(), 0);

  await host.choose("People");
  await host.button("Mute Gil").click();
  await gil.announced("A host turned off your microphone.");
  await gil.button("Turn on microphone").waitFor();

  await gil.button("Turn on microphone").click();
  await gil.button("Raise hand").click();
  await host.button("Lower all hands").click();
  await gil.announced("A host lowered your hand.");
  await gil.button("Raise hand").waitFor();
  await host.button("Mute all").click();
  for (const one of [gil, olga]) await one.button("Turn on microphone").waitFor();
  await host.button("Turn off microphone").waitFor();

  await host.button("Rename Olga").click();
  await host.page.getByLabel("New name").fill("Ola");
  await host.button("Save").click();
  await gil.announced("Olga is now Ola.");
  await olga.button("React with an emoji").click();
  await olga.page.getByRole("menuitem", { name: "Applause" }).click();
  await gil.announced("Ola reacted: Applause");

  await host.button("Remove Gil").click();
  await host.page.getByText("Gil is a guest, and can join again or ask to be let in.").waitFor();
  await host.button("Remove and lock the room").click();
  await gil.heading("You were removed from the meeting").waitFor();
  await eventually(() => gil.page.getByRole("button").count(), 0);
  await host.announced("Gil left.");

  await olga.announced("The room is locked: no one else can join.");
  const late = await rooms().visit(url, { expected: /409/ });
  await late.page.getByLabel("Your name").fill("Lea");
  await late.button("Join").click();
  await late.heading("This room is locked").waitFor();
  await host.choose("Unlock the room");
  await olga.announced("The room is unlocked: others can join again.");
  await late.button("Try again").click();
  await late.button("Join").click();
  await late.inside();

  // The last host is asked before the others are left alone.
  await host.button("Leave").click();
  await host.heading("Leave the meeting?").waitFor();
  await host.button("Cancel").click();
  await host.choose("End for everyone");
  await host.button("Cancel").click();
  await host.button("Leave").click();
  await host.button("End for everyone").click();
  await olga.heading("The meeting has ended").waitFor();
  await host.heading("The meeting has ended").waitFor();
  await olga.button("Start a new meeting").click();
  await olga.heading("Ready to join?").waitFor();
});

test.if(IS_FULL)("a button keeps its meaning while the list changes under it", async () => {
  const url = await rooms().room({ privacy: "private", audioOnlyRoom: true });
  const link = async (fields: object): Promise<string> => `${url}#token=${await rooms().token(url, fields)}`;
  const enter = async (fields: object): Promise<Visitor> => {
    const visitor = await rooms().visit(await link(fields));
    await visitor.button("Join").click();
    await visitor.inside();
    return visitor;
  };
  const host = await enter({ isAdmin: true, name: "Hana" });
  const ann = await enter({ name: "Ann" });
  const asks = async (name: string): Promise<Visitor> => {
    const visitor = await rooms().visit(url);
    await visitor.page.getByLabel("Your name").fill(name);
    await visitor.button("Ask to join").click();
    return visitor;
  };
  const gil = await asks("Gil");
  const letIn = await host.button("Let in Gil").elementHandle();
  await asks("Olga");
  await host.page.getByText("2 waiting").first().waitFor();
  await gil.button("Stop waiting").click();
  await host.button("Let in Olga").waitFor();
  // A click that was meant for Gil must not let in Olga.
  const isThere = (button: { readonly isConnected: boolean }): boolean => button.isConnected;
  expect(await letIn?.evaluate<boolean>(isThere as never)).toBe(false);

  await host.choose("People");
  const remove = await host.button("Remove Ann").elementHandle();
  await host.button("Mute Ann").waitFor();
  await ann.button("Turn off microphone").click();
  await host.button("Mute Ann").waitFor({ state: "detached" });
  await ann.button("Turn on microphone").click();
  await host.button("Mute Ann").waitFor();
  expect(await remove?.getAttribute("aria-label")).toBe("Remove Ann");
});

test("a reload continues the stay; a second window takes it over, and it can be brought back", async () => {
  const url = await rooms().room();
  const ada = await rooms().visit(url);
  await ada.enter("Ada");
  const ben = await rooms().visit(url);
  await ben.enter("Ben");
  await ben.button("Turn off camera").click();
  await ben.page.reload();
  await ben.inside();
  await ben.plays("Ada");
  // As it was before.
  await ben.button("Turn on camera").waitFor();
  await eventually(() => ada.page.locator(".tile").count(), 2);

  const second = await ben.context.newPage();
  await second.goto(url);
  await second.getByRole("button", { name: "Join", exact: true }).click();
  await ben.heading("The meeting continues in another window").waitFor();
  await ben.button("Continue here").click();
  await ben.inside();
  await second.getByRole("heading", { name: "The meeting continues in another window" }).waitFor();
  await eventually(() => ada.page.locator(".tile").count(), 2);
});

test("a room that is over, not open yet or full says so", async () => {
  const inTwoHours = Math.floor(Date.now() / 1000) + 7200;
  const early = await rooms().visit(await rooms().room({ notBeforeUnixSec: inTwoHours }));
  await early.heading("This room is not open yet").waitFor();
  const time = new Intl.DateTimeFormat("en", { timeStyle: "short" }).format(inTwoHours * 1000);
  await early.page.getByText(`Opens: ${time}`).waitFor();
  const text = await early.page.locator(".closed-card").innerText();
  for (const absent of ["Closes", "recorded", "A host", "Keep this page open"]) expect(text).not.toContain(absent);

  const soon = Math.floor(Date.now() / 1000) + 1800;
  const url = await rooms().room({
    notBeforeUnixSec: soon,
    expireUnixSec: soon + 3600,
    privacy: "private",
    recordRoom: true,
  });
  const guest = await rooms().visit(url);
  await guest.page.getByText(/^Closes: \d/).waitFor();
  await guest.page
    .getByText(
      "This meeting will be recorded. This room is private. Without an invitation, a host has to let you in. Keep this page open.",
    )
    .waitFor();
  // A host opens it now: the page that is looked at shows it soon.
  const { app } = rooms();
  await app.must("PUT", `/room${new URL(url).pathname}`, { notBeforeUnixSec: soon - 1860 });
  await guest.page.getByRole("button", { name: "Agree and ask to join" }).waitFor({ timeout: 20_000 });

  const over = await rooms().visit(await rooms().room({ expireUnixSec: inTwoHours - 10_800 }));
  await over.heading("This room is closed").waitFor();
  await over.page.getByText(/^Closed: \d/).waitFor();

  const full = await rooms().room({ maxParticipants: 1 });
  await (await rooms().visit(full)).enter("Ada");
  const late = await rooms().visit(full, { expected: /409/ });
  await late.page.getByLabel("Your name").fill("Ben");
  await late.button("Join").click();
  await late.heading("This room is full").waitFor();
  await late.button("Try again").waitFor();
});

test.if(IS_FULL)("autoJoin enters muted and with the camera off", async () => {
  const url = await rooms().room({ autoJoin: true });
  const ada = await rooms().visit(`${url}#name=Ada%E2%80%AE`);
  await ada.inside();
  expect(ada.page.url()).toBe(url);
  await ada.button("Turn on microphone").waitFor();
  await ada.button("Turn on camera").waitFor();
  const ben = await rooms().visit(url);
  await ben.inside();
  await ben.tile("Ada").waitFor();
});

test.if(IS_FULL)(
  "a screen is shown beside the camera, and can be pinned; the speaker view; flags that change act on people inside",
  async () => {
    const url = await rooms().room();
    const ada = await rooms().visit(url);
    await ada.enter("Ada");
    const ben = await rooms().visit(url);
    await ben.enter("Ben");
    await ada.button("Share screen").click();
    await ben.plays("Screen of Ada", "screen");
    await ben.plays("Ada");
    await eventually(() => ben.page.locator(".focus .tile").getAttribute("data-kind"), "screen");
    await ben.button("Pin Ada").click();
    await eventually(() => ben.page.locator(".focus .tile").getAttribute("data-kind"), "camera");
    await ben.button("Unpin Ada").click();
    await ada.button("Stop sharing your screen").click();
    await ben.tile("Screen of Ada", "screen").waitFor({ state: "detached" });

    await eventually(() => ben.page.locator(".focus").count(), 0);
    await ben.choose("Speaker view");
    await ben.page.locator(".focus .tile", { hasText: "Ada" }).waitFor();
    await ben.choose("Grid view");
    await ben.page.locator(".focus").waitFor({ state: "detached" });

    const flags = (fields: object): Promise<unknown> =>
      rooms().app.must("PUT", `/room/${new URL(url).pathname.slice(1)}`, fields);
    await ada.plays("Ben");
    await flags({ audioOnlyRoom: true, enableChat: false });
    await ada.tile("Ben").locator("video").waitFor({ state: "detached" });
    await ada.button("Turn off camera").waitFor({ state: "detached" });
    await eventually(() => ada.button("Open chat").count(), 0);
    await flags({ audioOnlyRoom: false, ownerOnlyBroadcast: true });
    await ada.button("Microphone: Only hosts can speak in this room.").waitFor();
    await ada.tile("Ben").getByText("microphone off").waitFor({ state: "attached" });
  },
);

/** As behind a firewall that lets nothing but a relay through, and there is none. */
const FIREWALL = `
  const Real = RTCPeerConnection;
  globalThis.isBlocked = true;
  globalThis.RTCPeerConnection = class extends Real {
    constructor(setup) { super(isBlocked ? { ...setup, iceTransportPolicy: "relay" } : setup); }
  };`;

test.if(IS_FULL)(
  "a person to whom there is no connection: the page says so and why, until the connection comes",
  async () => {
    const url = await rooms().room();
    const ada = await (await rooms().visit(url, { script: FIREWALL })).enter("Ada");
    await ada.page.clock.install();
    await (await rooms().visit(url)).enter("Ben");
    await ada.tile("Ben").getByText("connecting").waitFor({ state: "attached" });
    const notice = ada.page.locator(".banner");
    expect(await notice.count()).toBe(0);
    await ada.page.clock.fastForward(15_000);
    await notice.getByText("Still connecting to Ben…").waitFor();
    await ada.page.clock.fastForward(30_000);
    await notice.getByText(/^No connection to Ben\. .*relay server/).waitFor();
    await ada.tile("Ben").locator(".tile-away").getByText("no connection").waitFor();
    await ada.page.evaluate("isBlocked = false");
    await ada.page.clock.fastForward(20_000);
    await ada.plays("Ben");
    await notice.waitFor({ state: "detached" });
    expect(await ada.tile("Ben").locator(".tile-away").count()).toBe(0);
  },
);
