/** What fields of rooms and access tokens change for a visitor, by clicking. Who is let in, and acts of admins, are in meetings-page.test.ts. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { IS_FULL } from "../support/slack.ts";
import { eventually } from "./support/eventually.ts";
import { meetingRooms } from "./support/meeting-rooms.ts";
import type { Visitor } from "./support/visitor.ts";

setDefaultTimeout(60_000);

const isFull = process.env.PARLEY_TEST_FULL === "1";

const rooms = meetingRooms();

afterEach(() => rooms().allLeave());

const nameOf = (url: string): string => new URL(url).pathname.slice(1);
const change = (url: string, fields: object): Promise<unknown> =>
  rooms().app.must("PUT", `/room/${nameOf(url)}`, fields);
const linkOf = async (url: string, fields: object): Promise<string> =>
  `${url}#token=${await rooms().token(url, fields)}`;

/** Through the door, as it is. */
async function enter(url: string): Promise<Visitor> {
  const visitor = await rooms().visit(url);
  await visitor.button("Join").click();
  await visitor.inside();
  return visitor;
}

const hasNone = async (visitor: Visitor, ...names: string[]): Promise<void> => {
  for (const name of names) expect([name, await visitor.button(name).count()]).toEqual([name, 0]);
};

async function entriesOfMenu({ page }: Visitor): Promise<string[]> {
  await page.getByRole("button", { name: "More", exact: true }).click();
  const entries = await page.getByRole("menuitem").allInnerTexts();
  await page.keyboard.press("Escape");
  return entries;
}

test("without chat, screens and invitations there are no controls for them; changes show and hide them", async () => {
  const off = { enableChat: false, enableScreenSharing: false, showInviteBox: false };
  const url = await rooms().room({ ...off, joinVideoOn: false, joinAudioOn: false });
  const ada = await enter(`${url}#name=Ada`);
  // Off at first, as the room says; the visitor may turn them on.
  await ada.button("Turn on camera").waitFor();
  await ada.button("Turn on microphone").click();
  await ada.button("Turn off microphone").waitFor();
  await hasNone(ada, "Open chat", "Share screen");
  expect(await entriesOfMenu(ada)).not.toContain("Invite others");
  await ada.choose("People");
  await hasNone(ada, "Invite others");
  await ada.page.keyboard.press("c");
  await ada.page.keyboard.press("s");
  await eventually(() => ada.heading("Chat").count(), 0);
  await eventually(() => ada.page.getByText("You are presenting").count(), 0);

  const ben = await enter(`${url}#name=Ben`);
  await change(url, { enableChat: true, enableScreenSharing: true, showInviteBox: true });
  await ada.button("Open chat").waitFor();
  await ada.button("Invite others").waitFor();
  await ada.button("Share screen").click();
  await ben.plays("Screen of Ada", "screen");
  await ada.page.getByText("You are presenting").waitFor();
  // No tile shows one's own screen: it would show itself.
  expect(await ada.page.locator('.tile[data-kind="screen"]').count()).toBe(0);
  await change(url, { enableScreenSharing: false, enableChat: false, showInviteBox: false });
  await ben.tile("Screen of Ada", "screen").waitFor({ state: "detached" });
  await ada.page.getByText("You are presenting").waitFor({ state: "detached" });
  await ada.button("Invite others").waitFor({ state: "detached" });
  await hasNone(ada, "Stop sharing your screen", "Open chat");
});

test("where only hosts speak, a host is seen and the others cannot turn anything on", async () => {
  const url = await rooms().room({ ownerOnlyBroadcast: true });
  const host = await enter(await linkOf(url, { isAdmin: true, name: "Hana" }));
  const ada = await enter(`${url}#name=Ada`);
  await ada.plays("Hana");
  // `force`: they are disabled for assistive technology only, so that they can be found and say why.
  await ada.button("Microphone: Only hosts can speak in this room.").click({ force: true });
  await ada.button("Camera: You cannot use your camera in this room.").click({ force: true });
  await host.tile("Ada").getByText("microphone off").waitFor({ state: "attached" });
  await eventually(() => host.tile("Ada").locator("video").count(), 0);
  await eventually(() => ada.page.locator(".tile video").count(), 1);
});

test("a room for sound only has no camera; a private one without a lobby asks for an invitation", async () => {
  const sound = await rooms().visit(await rooms().room({ audioOnlyRoom: true }));
  await sound.page.getByText("This room is audio only.").first().waitFor();
  await hasNone(sound, "Turn off camera", "Turn on camera");
  await sound.enter("Ada");
  await hasNone(sound, "Turn off camera", "Turn on camera", "Share screen");

  const url = await rooms().room({ privacy: "private", enableRequestToJoin: false });
  const stranger = await rooms().visit(url);
  await stranger.heading("This room needs an invitation").waitFor();
});

test.if(IS_FULL)("times: each page counts down, says why it ends, and does not return by itself", async () => {
  // They enter by themselves, without camera and microphone.
  const stay = { autoJoin: true, showInviteBox: false };
  const soon = Math.floor(Date.now() / 1000) + 15;
  const visit = async (fields: object): Promise<Visitor> =>
    rooms().visit(await rooms().room({ ...stay, ...fields }), { expected: /404/ });
  const [elapsed, expired, archived, idle] = await Promise.all([
    visit({ ejectAfterElapsedTimeInSec: 6 }),
    visit({ ejectAtRoomExp: true, expireUnixSec: soon }),
    visit({ deleteOnExp: true, expireUnixSec: soon }),
    visit({ endMeetingAfterNoActivityInSec: 6 }),
  ]);
  /** `next`: what the page offers then, where the room can be entered again. */
  const ends = async (visitor: Visitor, banner: string, title: string, next?: string): Promise<void> => {
    await visitor.page.locator(".banner", { hasText: banner }).waitFor();
    await visitor.heading(title).waitFor();
    if (next) await visitor.button(next).waitFor();
    await eventually(() => visitor.page.getByRole("button").count(), next ? 1 : 0);
  };
  await Promise.all([
    ends(elapsed, "Your time in this meeting ends in", "Your time in this meeting is over", "Rejoin"),
    ends(expired, "The meeting ends in", "Your time in this meeting is over"),
    ends(archived, "The meeting ends in", "The meeting has ended"),
    ends(idle, "The meeting ends in", "The meeting has ended", "Start a new meeting"),
  ]);
  await archived.page.reload();
  await archived.heading("Room not found").waitFor();
});

test.if(isFull)("a page that shares something keeps a meeting from ending", async () => {
  const idleSeconds = 2;
  const url = await rooms().room({ autoJoin: true, endMeetingAfterNoActivityInSec: idleSeconds });
  const ada = await rooms().visit(url);
  await ada.inside();
  await ada.button("Turn on microphone").click();
  await ada.button("Turn off microphone").waitFor();
  // By then it would have ended.
  await Bun.sleep(2 * idleSeconds * 1000);
  await ada.button("Turn off microphone").click();
  await ada.heading("The meeting has ended").waitFor();
});

test.if(isFull)(
  "the countdown of a meeting in which nothing happens disappears when a page shares something",
  async () => {
    const url = await rooms().room({ autoJoin: true, endMeetingAfterNoActivityInSec: 20 });
    const [ada, ben] = [await rooms().visit(url), await rooms().visit(url)];
    const banner = ({ page }: Visitor) => page.locator(".banner", { hasText: "The meeting ends in" });
    for (const visitor of [ada, ben]) await banner(visitor).waitFor();
    await ada.button("Turn on microphone").click();
    for (const visitor of [ada, ben]) await banner(visitor).waitFor({ state: "detached" });
  },
);

test.if(isFull).each([true, false])(
  "newChatForMeetingSession %p: what the next meeting finds in the chat",
  async (isNew) => {
    const url = await rooms().room({ newChatForMeetingSession: isNew });
    const host = await enter(await linkOf(url, { isAdmin: true, name: "Hana" }));
    await host.button("Open chat").click();
    await host.page.getByLabel("Write a message").fill("before");
    await host.button("Send").click();
    await host.page.getByRole("list", { name: "Chat" }).getByText("before").waitFor();
    await host.choose("End for everyone");
    await host.button("End the meeting").click();
    await host.heading("The meeting has ended").waitFor();

    const next = await enter(`${url}#name=Ada`);
    await next.button("Open chat").click();
    await next.page.getByLabel("Write a message").fill("after");
    await next.button("Send").click();
    const lines = next.page.getByRole("list", { name: "Chat" });
    await lines.getByText("after").waitFor();
    await eventually(() => lines.getByText("before").count(), isNew ? 0 : 1);
  },
);

test.if(isFull)("fields of an access token win over the room's", async () => {
  const url = await rooms().room({ joinVideoOn: false });
  const on = await enter(await linkOf(url, { name: "Ann", joinVideoOn: true, joinAudioOn: false }));
  await on.button("Turn off camera").waitFor();
  await on.button("Turn on microphone").waitFor();

  const disabled = { disableAudio: true, disableVideo: true, disableScreenSharing: true };
  const off = await enter(`${await linkOf(url, { name: "Olga", ...disabled })}&name=Other`);
  await off.button("Microphone: You cannot use your microphone in this room.").waitFor();
  await off.button("Camera: You cannot use your camera in this room.").waitFor();
  await off.button("Screen: You cannot share your screen in this room.").waitFor();
  // The token vouches for the name.
  await on.tile("Olga").waitFor();
  await eventually(() => on.tile("Olga").getByText("guest").count(), 0);
  await off.plays("Ann");

  const short = await enter(await linkOf(url, { ejectAfterElapsedTimeInSec: 4 }));
  await short.page.locator(".banner", { hasText: "Your time in this meeting ends in" }).waitFor();
  await short.heading("Your time in this meeting is over").waitFor();
});

test.if(isFull)("times of an access token: not yet, no longer, and before the room opens", async () => {
  const now = Math.floor(Date.now() / 1000);
  const closed = await rooms().room({ notBeforeUnixSec: now + 3600 });
  const early = await enter(await linkOf(closed, { notBeforeUnixSec: now - 60 }));
  await early.button("Leave").waitFor();

  const url = await rooms().room();
  const late = await rooms().visit(await linkOf(url, { notBeforeUnixSec: now + 3600 }), { expected: /403/ });
  await late.heading("This room is not open yet").waitFor();
  const time = new Intl.DateTimeFormat("en", { timeStyle: "short" }).format((now + 3600) * 1000);
  await late.page.getByText(`It opens ${time}.`).waitFor();

  const stale = await rooms().visit(`${url}#token=${(await rooms().token(url)).slice(0, -6)}AAAAAA`, {
    expected: /400/,
  });
  await stale.heading("This invitation is not valid").waitFor();
  await stale.button("Continue without it").click();
  await stale.enter("Ada");
});

test.if(isFull)("a removed person is refused with every link for the same user", async () => {
  const url = await rooms().room();
  const host = await enter(await linkOf(url, { isAdmin: true, name: "Hana" }));
  const gil = await enter(await linkOf(url, { name: "Gil", externalUserId: "u-1" }));
  await host.choose("People");
  await host.button("Remove Gil").click();
  await host.button("Remove").click();
  await gil.heading("You were removed from the meeting").waitFor();
  const returning = await rooms().visit(await linkOf(url, { name: "Gus", externalUserId: "u-1" }), { expected: /403/ });
  await returning.button("Join").click();
  await returning.heading("You were removed from the meeting").waitFor();
});
