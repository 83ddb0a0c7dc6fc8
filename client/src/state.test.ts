import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Channel } from "./channel.ts";
import { type States, stateOf } from "./state.ts";
import { settled } from "./testing/clock.ts";
import { Kit } from "./testing/kit.ts";

interface Typing {
  readonly typing: boolean;
}

let kit: Kit;
let chat: Channel;
let states: States<Typing>;
let seen: string[];
beforeEach(async () => {
  kit = new Kit();
  kit.clock.random = 0;
  seen = [];
  chat = (await kit.connected()).channel("chat");
  states = stateOf<Typing>(chat);
  states.on("changed", ({ peerId, state, lost }) => seen.push(`${peerId} ${lost ? "lost" : state?.typing}`));
  await settled();
  await kit.service.socket.ack("subscribe");
});
afterEach(() => kit.restore());

const entry = (peerId: string, typing?: boolean): object =>
  typing === undefined ? { peerId } : { peerId, state: { typing } };
const presence = (fields: object): Promise<void> =>
  kit.service.socket.receive({ type: "presence", channel: "chat", joined: [], left: [], ...fields });
/** A roster longer than what is known to be complete. */
const part = (...joined: object[]): Promise<void> => presence({ joined, snapshot: true, filling: "x".repeat(20_000) });
const names = (): string[] => [...states.all.keys()];

test("states are asked for, come with the roster and as changes, and end with their members", async () => {
  expect(kit.service.socket.last("subscribe")).toMatchObject({ state: true });
  await presence({ joined: [entry("a", true), entry("b")], snapshot: true });
  await kit.service.socket.receive({ type: "state", channel: "chat", changed: [entry("b", true)] });
  expect(states.get("b")).toEqual({ typing: true });
  await presence({ left: [entry("a")] });
  expect(names()).toEqual(["b"]);
  expect(seen).toEqual(["a true", "b true", "a undefined"]);
});

test("a roster in parts keeps the states of all its parts, and removes those who are gone", async () => {
  await presence({ joined: [entry("a", true), entry("b", true), entry("c", true)], snapshot: true });
  await kit.reconnected();
  await kit.service.socket.ack("subscribe");
  await part(entry("a", true));
  await part(entry("b", true));
  expect(names()).toEqual(["a", "b", "c"]);
  await kit.clock.advance(1000);
  expect(names()).toEqual(["a", "b"]);
});

test("new metadata of a member leaves its state", async () => {
  await presence({ joined: [entry("a", true)], snapshot: true });
  await presence({ joined: [{ peerId: "a", metadata: { name: "A" } }] });
  expect(names()).toEqual(["a"]);
});

/** One's own state is set; then the connection is lost, and the subscription is acked on the next one. */
async function resubscribed(): Promise<void> {
  const set = states.set({ typing: true });
  await settled();
  await kit.service.socket.ack("state");
  await set;
  await kit.reconnected();
  await kit.service.socket.ack("subscribe");
}

const repeated = (): number => kit.service.socket.of("state").length;

test("one's own state is set again on a new connection, when the roster is there", async () => {
  await resubscribed();
  // Before that it would be refused, and count against the rate.
  expect(repeated()).toBe(0);
  await presence({ snapshot: true });
  expect(kit.service.socket.last("state")).toMatchObject({ state: { typing: true } });
  await presence({ snapshot: true });
  expect(repeated()).toBe(1);
});

test("a state that is set now is sent once, also if its roster comes later", async () => {
  await kit.reconnected();
  const set = states.set({ typing: true });
  await settled();
  await kit.service.socket.ack("subscribe");
  expect(repeated()).toBe(1);
  await kit.service.socket.ack("state");
  await set;
  await presence({ snapshot: true });
  expect(repeated()).toBe(1);
});

test("it is set again and again while many channels use up the rate, until it is another one", async () => {
  await resubscribed();
  await presence({ snapshot: true });
  for (let tries = 1; tries < 20; tries++) {
    await kit.service.socket.refuse("state", "rate_limited");
    expect(repeated()).toBe(tries);
    await kit.clock.advance(1000);
    expect(repeated()).toBe(tries + 1);
  }
  await kit.service.socket.refuse("state", "rate_limited");
  const removed = states.set(null);
  await settled();
  await kit.service.socket.ack("state");
  await removed;
  const before = repeated();
  await kit.clock.advance(5000);
  expect(repeated()).toBe(before);
});

test("one's own state is not among those of the others, although the service sends it", async () => {
  await kit.service.socket.receive({ type: "state", channel: "chat", changed: [entry("me", true), entry("a", true)] });
  expect([names(), seen]).toEqual([["a"], ["a true"]]);
});
