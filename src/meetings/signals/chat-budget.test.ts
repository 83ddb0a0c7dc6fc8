import { expect, test } from "bun:test";
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { CHAT_LINES_OF_GUESTS, CHAT_LINES_OF_INVITED, OWN_CHAT_LINES } from "../contract/limits.ts";
import { ChatBudget } from "./chat-budget.ts";

const clock = { ms: 0 };
const newBudget = (): ChatBudget => new ChatBudget(() => clock.ms);

const guest = (nr: number, holder = `address ${nr}`, room = "room"): RoomClaims => ({
  kind: "stay",
  id: `${nr}`,
  app: anAppId("app"),
  room,
  name: "Ada",
  isAdmin: false,
  isGuest: true,
  holder,
  exp: 0,
});
const host: RoomClaims = { ...guest(1000, "token of the host"), opens: {} };

/** How many lines are taken until one is refused. */
function fill(budget: ChatBudget, sender: (nr: number) => RoomClaims): number {
  for (let nr = 0; ; nr++) if (budget.take(sender(nr)) > 0) return nr;
}

/** How many lines one holder may write at once: what it has for itself comes first. */
const MOST = OWN_CHAT_LINES.burst + CHAT_LINES_OF_GUESTS.each.burst;

test("an address has a burst of lines and then a rate, however often its guests join; others write on", () => {
  const budget = newBudget();
  expect(fill(budget, (nr) => guest(nr, "eve"))).toBe(MOST);
  expect(budget.take(guest(9001, "eve"))).toBe(1);
  for (const sender of [guest(9002, "bob"), host, guest(9003, "eve", "another room")])
    expect(budget.take(sender)).toBe(0);
  clock.ms += 10_000;
  expect(fill(budget, (nr) => guest(nr, "eve"))).toBe(
    10 * (OWN_CHAT_LINES.perSecond + CHAT_LINES_OF_GUESTS.each.perSecond),
  );
});

test("lines that are refused take nothing from other guests", () => {
  const budget = newBudget();
  for (let nr = 0; nr < 10 * MOST; nr++) budget.take(guest(nr, "eve"));
  const { each, together } = CHAT_LINES_OF_GUESTS;
  expect(fill(budget, (nr) => guest(nr, "bob"))).toBe(MOST);
  expect(2 * each.burst).toBe(together.burst);
});

test("two who use up what all have together silence no one", () => {
  for (const attacker of [guest, (nr: number, holder: string): RoomClaims => ({ ...guest(nr, holder), opens: {} })]) {
    const budget = newBudget();
    for (const holder of ["eve", "mallory"]) fill(budget, (nr) => attacker(nr, holder));
    for (const sender of [guest(9001, "bob"), host])
      for (let nr = 0; nr < OWN_CHAT_LINES.burst; nr++) expect(budget.take(sender)).toBe(0);
  }
});

test("who has an access token of another room is counted as a guest", () => {
  const budget = newBudget();
  expect(fill(budget, (nr) => ({ ...guest(nr, "eve"), accessToken: "of another room" }))).toBe(MOST);
});

test("guests of very many addresses use up what guests have, and not what the host has", () => {
  const budget = newBudget();
  expect(fill(budget, (nr) => guest(nr))).toBe(2 * CHAT_LINES_OF_GUESTS.together.burst);
  expect(fill(budget, () => host)).toBe(OWN_CHAT_LINES.burst + CHAT_LINES_OF_INVITED.each.burst);
});

test("twenty people of one office can all greet each other at once", () => {
  const budget = newBudget();
  for (let nr = 0; nr < 20; nr++) expect(budget.take(guest(nr, "office"))).toBe(0);
});
