import { describe, expect, test } from "bun:test";
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { anAppId } from "../../base/testing/ids.ts";
import {
  GUESTS_SHARE_OF_SIGNALS,
  HOLDER_SHARE_OF_SIGNALS,
  INBOX_BYTES_PER_MINUTE,
  ROOM_SIGNALS_BYTES_PER_MINUTE,
  SENDER_SIGNALS_BYTES_PER_MINUTE,
  SIGNAL_MAX_BYTES,
} from "../contract/limits.ts";
import { SignalBudget } from "./budget.ts";

const person = (nr: number): string => nr.toString(16).padStart(24, "0");
const guest = (nr: number, holder = `address ${nr}`): RoomClaims => ({
  kind: "stay",
  id: person(nr),
  app: anAppId("app"),
  room: "room",
  name: "Ada",
  isAdmin: false,
  isGuest: true,
  holder,
  exp: 0,
});
const invited = (nr: number, holder = `token ${nr}`): RoomClaims => ({ ...guest(nr, holder), opens: {} });

class Trial {
  nowMs = 1_000_000;
  private readonly budget = new SignalBudget(() => this.nowMs);

  sends(from: RoomClaims, to: string, bytes = 100): boolean {
    return this.waits(from, to, bytes) === 0;
  }

  waits(from: RoomClaims, to: string, bytes = 100): number {
    return this.budget.take(from, to, bytes);
  }

  /** How many bytes get through until one is refused. */
  fill(sender: (nr: number) => RoomClaims, receiver: (nr: number) => string): number {
    for (let nr = 0; ; nr++) if (!this.sends(sender(nr), receiver(nr), SIGNAL_MAX_BYTES)) return nr * SIGNAL_MAX_BYTES;
  }
}

const within = (bytes: number, limit: number): void => {
  expect(bytes).toBeLessThanOrEqual(limit);
  expect(bytes).toBeGreaterThan(limit * 0.9);
};

test("signals are bounded per minute: of one sender, in one inbox, in one room", () => {
  const trial = new Trial();
  within(
    trial.fill(() => guest(1), person),
    SENDER_SIGNALS_BYTES_PER_MINUTE,
  );
  expect(trial.sends(guest(1), person(2), SIGNAL_MAX_BYTES)).toBe(false);
  expect(trial.sends(guest(2), person(2))).toBe(true);
  trial.nowMs += 60_000;
  within(
    trial.fill(
      (nr) => invited(nr % 100, `token ${nr % 2}`),
      () => person(100),
    ),
    INBOX_BYTES_PER_MINUTE,
  );
  expect(trial.sends(guest(2), person(2))).toBe(true);
  trial.nowMs += 60_000;
  within(
    trial.fill(
      (nr) => invited(nr % 100, `token ${nr % 2}`),
      (nr) => person(nr % 99),
    ),
    ROOM_SIGNALS_BYTES_PER_MINUTE,
  );
});

test("who is refused hears how long to wait", () => {
  const trial = new Trial();
  trial.fill(() => guest(1), person);
  trial.nowMs += 20_500;
  expect(trial.waits(guest(1), person(2), SIGNAL_MAX_BYTES)).toBe(40);
  trial.nowMs += 39_500;
  expect(trial.waits(guest(1), person(2), SIGNAL_MAX_BYTES)).toBe(0);
});

describe("an address whose guests join again and again", () => {
  test("uses up its share of the room, and not what others have", () => {
    const trial = new Trial();
    within(
      trial.fill((nr) => guest(nr, "eve"), person),
      ROOM_SIGNALS_BYTES_PER_MINUTE * HOLDER_SHARE_OF_SIGNALS,
    );
    for (const sender of [guest(9001, "bob"), invited(9002), invited(9003, "a token at the same address")])
      expect(trial.sends(sender, person(1), SIGNAL_MAX_BYTES)).toBe(true);
  });

  test("uses up its share of an inbox, and not what others have", () => {
    const trial = new Trial();
    within(
      trial.fill(
        (nr) => guest(nr, "eve"),
        () => person(1),
      ),
      INBOX_BYTES_PER_MINUTE * HOLDER_SHARE_OF_SIGNALS,
    );
    for (const sender of [guest(9001, "bob"), invited(9002)])
      expect(trial.sends(sender, person(1), SIGNAL_MAX_BYTES)).toBe(true);
  });
});

test("guests of several addresses leave enough to those who were invited or let in", () => {
  const trial = new Trial();
  within(
    trial.fill((nr) => guest(nr, `address ${nr % 3}`), person),
    ROOM_SIGNALS_BYTES_PER_MINUTE * GUESTS_SHARE_OF_SIGNALS,
  );
  for (const sender of [invited(9001), { ...guest(9002), isLetIn: true as const }])
    for (let nr = 0; nr < 30; nr++) expect(trial.sends(sender, person(nr), SIGNAL_MAX_BYTES)).toBe(true);
});

describe.each([
  ["guests of two addresses", (nr: number) => guest(nr, `address ${nr % 2}`)],
  ["two who were invited", (nr: number) => invited(nr, `token ${nr % 2}`)],
  ["two with access tokens of another room", (nr: number) => ({ ...guest(nr, `other ${nr % 2}`), accessToken: "x" })],
] as const)("%s cannot silence", (_, attacker) => {
  test.each([
    ["a room", person],
    ["an inbox", () => person(1)],
  ] as const)("%s: everyone else still calls a few people", (_, receiver) => {
    const trial = new Trial();
    trial.fill(attacker, receiver);
    for (const sender of [guest(9001, "bob"), invited(9002)])
      for (let nr = 0; nr < 3; nr++) expect(trial.sends(sender, person(1), 10_000)).toBe(true);
  });
});

test("very many addresses cannot write without a bound", () => {
  const trial = new Trial();
  within(
    trial.fill((nr) => guest(nr), person),
    2 * ROOM_SIGNALS_BYTES_PER_MINUTE,
  );
});

test("twenty people behind one address who enter together can all call each other", () => {
  const trial = new Trial();
  const people = Array.from({ length: 20 }, (_, nr) => guest(nr, "office"));
  for (const from of people)
    for (const { id } of people) {
      if (id === from.id) continue;
      // An offer or an answer for a microphone, a camera and a screen, then candidates.
      expect(trial.sends(from, id, 10_000)).toBe(true);
      for (let nr = 0; nr < 15; nr++) expect(trial.sends(from, id, 250)).toBe(true);
    }
});
