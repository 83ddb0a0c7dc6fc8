import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Channel } from "./channel.ts";
import { stateOf } from "./state.ts";
import { settled } from "./testing/clock.ts";
import { Kit } from "./testing/kit.ts";

let kit: Kit;
let chat: Channel;

beforeEach(async () => {
  kit = new Kit();
  chat = (await kit.connected()).channel("chat");
});
afterEach(() => kit.restore());

const types = (): string[] => kit.service.socket.sent.map(({ type }) => type);

test("states are asked for while something listens to them, and one turn is one decision", async () => {
  const states = stateOf<{ typing: boolean }>(chat);
  await settled();
  expect(types()).toEqual([]);
  const off = states.on("changed", () => undefined);
  await settled();
  await kit.service.socket.ack("subscribe");
  expect(kit.service.socket.last("subscribe")).toMatchObject({ channel: "chat", state: true });
  off();
  const offLater = states.on("changed", () => undefined);
  await settled();
  expect(types()).toEqual(["subscribe"]);
  offLater();
  await settled();
  expect(types()).toEqual(["subscribe", "unsubscribe"]);
});

test("a state that is set keeps the channel; close() removes it before the subscription ends", async () => {
  const states = stateOf<{ typing: boolean }>(chat);
  const set = states.set({ typing: true });
  await settled();
  await kit.service.socket.ack("subscribe");
  await settled();
  await kit.service.socket.ack("state");
  await set;
  states.close();
  await settled();
  expect(types()).toEqual(["subscribe", "state", "state", "unsubscribe"]);
  expect(kit.service.socket.last("state")).toMatchObject({ state: null });
});

test("what is known of others ends with the interest in it, and the same object can be used again", async () => {
  const states = stateOf<{ typing: boolean }>(chat);
  const off = states.on("changed", () => undefined);
  await settled();
  await kit.service.socket.ack("subscribe");
  kit.service.socket.frames({ type: "state", channel: "chat", changed: [{ peerId: "bob", state: { typing: true } }] });
  expect([...states.all.keys()]).toEqual(["bob"]);
  off();
  await settled();
  expect(states.all.size).toBe(0);
  expect(stateOf<{ typing: boolean }>(chat)).toBe(states);
  states.on("changed", () => undefined);
  await settled();
  expect(types()).toEqual(["subscribe", "unsubscribe", "subscribe"]);
});

test("a roster in several parts keeps the states of all of them; who is in none of them has left", async () => {
  const states = stateOf<{ typing: boolean }>(chat);
  states.on("changed", () => undefined);
  await settled();
  await kit.service.socket.ack("subscribe");
  const roster = (...peerIds: string[]): object => ({
    type: "presence",
    channel: "chat",
    snapshot: true,
    left: [],
    joined: peerIds.map((peerId) => ({ peerId, state: { typing: true }, metadata: "x".repeat(20_000) })),
  });
  kit.service.socket.frames(roster("ann"), roster("bob"));
  expect([...states.all.keys()]).toEqual(["ann", "bob"]);
  await kit.service.socket.end(1006);
  await kit.comesBack();
  await kit.service.socket.welcome({ connection: "c2" });
  await kit.service.socket.ack("subscribe");
  kit.service.socket.frames(roster("bob"));
  await kit.clock.advance(5000);
  expect([...states.all.keys()]).toEqual(["bob"]);
});

test("to remove a state without a connection is no error: it has ended with its connection", async () => {
  const states = stateOf<{ typing: boolean }>(chat);
  const set = states.set({ typing: true });
  await settled();
  await kit.service.socket.ack("subscribe");
  await settled();
  await kit.service.socket.ack("state");
  await set;
  await kit.service.socket.end(1006);
  await states.set(null);
});

test("set() is settled: refused with its channel, or overtaken by a later one", async () => {
  const states = stateOf<{ typing: boolean }>(chat);
  states.on("changed", () => undefined);
  await settled();
  await kit.service.socket.ack("subscribe");
  await kit.service.socket.receive({ type: "error", channel: "chat", code: "channel_not_authorized", message: "no" });
  const refused = states.set({ typing: true }).catch((error) => error.code);
  await settled();
  await kit.service.socket.refuse("subscribe", "channel_not_authorized");
  expect(await refused).toBe("channel_not_authorized");
  const overtaken = states.set({ typing: true });
  await settled();
  const removed = states.set(null);
  await kit.service.socket.ack("subscribe");
  await kit.service.socket.ack("state");
  await Promise.all([overtaken, removed]);
  expect(kit.service.socket.of("state").map(({ state }) => state)).toEqual([null]);
});

test("of several parts of an application the last state counts; one that takes back its own leaves the others", async () => {
  const states = stateOf<{ typing: boolean }>(chat);
  const [one, other] = [{}, {}];
  const settle = async (set: Promise<void>): Promise<void> => {
    await settled();
    await kit.service.socket.ack("state");
    await set;
  };
  const first = states.say(one, { typing: true });
  await settled();
  await kit.service.socket.ack("subscribe");
  await settle(first);
  await settle(states.say(other, { typing: false }));
  await states.say(one, null);
  await states.say({}, null);
  const sent = (): unknown[] => kit.service.socket.of("state").map(({ state }) => state);
  expect(sent()).toEqual([{ typing: true }, { typing: false }]);
  await settle(states.say(one, { typing: true }));
  await settle(states.say(one, null));
  expect(sent().slice(2)).toEqual([{ typing: true }, { typing: false }]);
  await settle(states.say(other, null));
  expect(sent().slice(4)).toEqual([null]);
});
