import { expect, test } from "bun:test";
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { CHAT_LINES_OF_GUESTS, CHAT_LINES_OF_INVITED } from "../contract/limits.ts";
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
const host: RoomClaims = { ...guest(1000, "token of the host"), accessToken: "token of the host" };

/** How many lines are taken until one is refused. */
function fill(budget: ChatBudget, sender: (nr: number) => RoomClaims): number {
  for (let nr = 0; ; nr++) if (budget.take(sender(nr)) > 0) return nr;
}

test("an address has a burst of lines and then a rate, however often its guests join; others write on", () => {
  const budget = newBudget();
  expect(fill(budget, (nr) => guest(nr, "eve"))).toBe(CHAT_LINES_OF_GUESTS.each.burst);
  expect(budget.take(guest(9001, "eve"))).toBe(1);
  for (const sender of [guest(9002, "bob"), host, guest(9003, "eve", "another room")])
    expect(budget.take(sender)).toBe(0);
  clock.ms += 10_000;
  expect(fill(budget, (nr) => guest(nr, "eve"))).toBe(10 * CHAT_LINES_OF_GUESTS.each.perSecond);
});

test("lines that are refused take nothing from other guests", () => {
  const budget = newBudget();
  for (let nr = 0; nr < 10 * CHAT_LINES_OF_GUESTS.together.burst; nr++) budget.take(guest(nr, "eve"));
  expect(fill(budget, (nr) => guest(nr, `address ${nr}`))).toBe(
    CHAT_LINES_OF_GUESTS.together.burst - CHAT_LINES_OF_GUESTS.each.burst,
  );
});

test("guests of many addresses use up what guests have, and not what the host has", () => {
  const budget = newBudget();
  expect(fill(budget, (nr) => guest(nr))).toBe(CHAT_LINES_OF_GUESTS.together.burst);
  expect(fill(budget, () => host)).toBe(CHAT_LINES_OF_INVITED.each.burst);
});

test("twenty people of one office can all greet each other at once", () => {
  const budget = newBudget();
  for (let nr = 0; nr < 20; nr++) expect(budget.take(guest(nr, "office"))).toBe(0);
});
