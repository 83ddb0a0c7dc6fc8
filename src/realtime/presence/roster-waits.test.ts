/** Rosters that wait for a pong, and the time after which they wait no longer. */
import { expect, test } from "bun:test";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { ROSTER_WAIT_MS } from "../../protocol/limits.ts";
import type { Channel } from "../state/channel.ts";
import type { Connection } from "../state/connection.ts";
import type { Member } from "../state/member.ts";
import { Subscription } from "../state/subscription.ts";
import { RosterWaits } from "./roster-waits.ts";

/** A subscription of which only the channel's name and the state matter. */
const subscriptionTo = (name: string): Subscription =>
  new Subscription({ awaitingPong: 0 } as unknown as Connection, { name } as unknown as Channel);

/** The next tick writes its roster. */
function writeRoster(subscription: Subscription): void {
  subscription.stopAwaitingPong();
  subscription.tick();
}

function watchedWaits() {
  const clock = new FakeClock();
  const overdue: string[][] = [];
  const waits = new RosterWaits(clock, (some) => overdue.push(some.map(({ channel }) => channel.name)));
  let pings = 0;
  /** Promises a roster to a new subscription to this channel, or once more to this one. */
  const promise = (to: Subscription | string): Subscription => {
    const subscription = typeof to === "string" ? subscriptionTo(to) : to;
    subscription.awaitPong({} as unknown as Member, ++pings);
    waits.add(subscription, pings);
    return subscription;
  };
  const names = (): string[] => overdue.splice(0).flat();
  const waiting = (): number => (Reflect.get(waits, "waiting") as unknown[]).length;
  return { clock, overdue, promise, names, waiting };
}

test("a roster whose pong does not come is due shortly before its deadline, and once", () => {
  const { clock, promise, names, waiting } = watchedWaits();
  promise("a");
  clock.advance(ROSTER_WAIT_MS - 100);
  expect(names()).toEqual([]);
  clock.advance(99);
  expect(names()).toEqual(["a"]);
  clock.advance(2 * ROSTER_WAIT_MS);
  expect([names(), waiting(), clock.waiting]).toEqual([[], 0, 0]);
});

test("a roster that is promised once more waits from then on", () => {
  const { clock, promise, names } = watchedWaits();
  const one = promise("a");
  clock.advance(300);
  promise(one);
  clock.advance(ROSTER_WAIT_MS - 100);
  expect(names()).toEqual([]);
  clock.advance(99);
  expect(names()).toEqual(["a"]);
});

test("a roster that was written, or is no longer wanted, is not due", () => {
  const { clock, promise, names } = watchedWaits();
  writeRoster(promise("written"));
  promise("ended").end("left");
  promise("ready").stopAwaitingPong();
  promise("waits");
  clock.advance(ROSTER_WAIT_MS);
  expect(names()).toEqual(["ready", "waits"]);
});

test("rosters that were written are forgotten with the first that is due, even before their own deadline", () => {
  const { clock, promise, waiting } = watchedWaits();
  promise("a");
  clock.advance(100);
  for (let i = 0; i < 100; i++) writeRoster(promise("b"));
  clock.advance(ROSTER_WAIT_MS - 149);
  expect(waiting()).toBe(0);
});

test("rosters that are due within 10 ms are due together", () => {
  const { clock, overdue, promise } = watchedWaits();
  for (let i = 0; i < 5; i++) {
    promise(`${i}`);
    clock.advance(2);
  }
  clock.advance(ROSTER_WAIT_MS);
  expect(overdue.filter((some) => some.length > 0)).toEqual([["0"], ["1", "2", "3", "4"]]);
});
