import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Channel } from "./channel.ts";
import { settled } from "./testing/clock.ts";
import { Kit } from "./testing/kit.ts";

let kit: Kit;
let chat: Channel;
let seen: string[];
beforeEach(async () => {
  kit = new Kit();
  kit.clock.random = 0;
  seen = [];
  chat = (await kit.connected()).channel("chat");
  chat.presence.on("joined", ({ peerId }) => seen.push(`+${peerId}`));
  chat.presence.on("left", ({ peerId }) => seen.push(`-${peerId}`));
  await settled();
  await kit.service.socket.ack("subscribe");
});
afterEach(() => kit.restore());

const names = (): string => chat.presence.members.map(({ peerId }) => peerId).join(" ");
const entries = (...peers: string[]): object[] => peers.map((peerId) => ({ peerId }));
const roster = (...peers: string[]): Promise<void> => send({ joined: entries(...peers), snapshot: true });
const send = (fields: object): Promise<void> =>
  kit.service.socket.receive({ type: "presence", channel: "chat", joined: [], left: [], ...fields });
/** Longer than what is known to be complete. */
const part = (...peers: string[]): Promise<void> =>
  send({ joined: entries(...peers), snapshot: true, filling: "x".repeat(20_000) });

const reconnected = async (): Promise<void> => {
  await kit.reconnected();
  await kit.service.socket.ack("subscribe");
};

test("a roster and its changes", async () => {
  await roster("a", "b");
  await send({ joined: entries("c"), left: entries("a") });
  expect(names()).toBe("b c");
  expect(seen).toEqual(["+a", "+b", "+c", "-a"]);
  expect(chat.presence.get("c")).toEqual({ peerId: "c" });
});

test("new metadata is a change, and no join", async () => {
  const lists: unknown[] = [];
  chat.presence.on("changed", (members) => lists.push(members));
  await send({ joined: [{ peerId: "a", metadata: { n: 1 } }], snapshot: true });
  await send({ joined: [{ peerId: "a", metadata: { n: 2 } }] });
  expect(seen).toEqual(["+a"]);
  expect(lists).toEqual([[{ peerId: "a", metadata: { n: 1 } }], [{ peerId: "a", metadata: { n: 2 } }]]);
});

test("an entry about oneself, as earlier versions of the service send it for another tab, is no member", async () => {
  const lists: unknown[] = [];
  chat.presence.on("changed", (members) => lists.push(members));
  await roster("a", "me");
  await send({ joined: [{ peerId: "me", metadata: { tab: 2 } }] });
  await send({ joined: entries("b", "me"), left: entries("me") });
  expect([names(), seen]).toEqual(["a b", ["+a", "+b"]]);
  expect(lists).toHaveLength(2);
  expect(chat.presence.get("me")).toBeUndefined();
});

test("a peer id that becomes one's own with the next connection is no member any more", async () => {
  await roster("a", "bob");
  await kit.reconnected(1006, { peerId: "bob" });
  await kit.service.socket.ack("subscribe");
  await roster("a", "bob");
  expect([names(), seen]).toEqual(["a", ["+a", "+bob", "-bob"]]);
});

describe("after a reconnect", () => {
  test("who is still there has neither left nor joined, and the list is the same", async () => {
    await roster("a", "b");
    const before = chat.presence.members;
    let changes = 0;
    chat.presence.on("changed", () => changes++);
    await reconnected();
    expect(chat.presence.members).toBe(before);
    await roster("a", "b");
    expect(chat.presence.members).toBe(before);
    expect(seen).toEqual(["+a", "+b"]);
    expect(changes).toBe(0);
  });

  test("who has come or gone meanwhile has", async () => {
    await roster("a", "b");
    await reconnected();
    await roster("b", "c");
    expect(seen).toEqual(["+a", "+b", "+c", "-a"]);
    await reconnected();
    await roster();
    expect(names()).toBe("");
  });

  test("a roster in parts is complete with its last part", async () => {
    await roster("a", "b", "c");
    await reconnected();
    await part("a");
    await kit.clock.advance(900);
    await part("b");
    await kit.clock.advance(900);
    expect(seen).toEqual(["+a", "+b", "+c"]);
    await roster("d");
    expect(seen).toEqual(["+a", "+b", "+c", "+d", "-c"]);
  });

  test("or when no other part follows", async () => {
    await roster("a", "b");
    await reconnected();
    await part("a");
    await kit.clock.advance(1000);
    expect(names()).toBe("a");
  });

  test("a connection that ends within a roster makes no one leave", async () => {
    await roster("a", "b");
    await reconnected();
    await part("a");
    await kit.service.socket.end();
    await kit.clock.advance(5000);
    await kit.service.socket.welcome();
    await kit.service.socket.ack("subscribe");
    await kit.clock.advance(2000);
    expect(names()).toBe("a b");
    expect(seen).toEqual(["+a", "+b"]);
  });
});

test("a repeated subscribe begins a new roster, also within one that comes in parts", async () => {
  await roster("a", "b");
  await reconnected();
  await part("a");
  await kit.clock.advance(500);
  chat.extend({ fields: { state: true } });
  await settled();
  await kit.service.socket.ack("subscribe");
  await kit.clock.advance(600);
  expect(names()).toBe("a b");
});

test("changes before the ack of a repeated subscribe are not the new roster", async () => {
  await roster("a", "b");
  chat.extend({ fields: { state: true } });
  await settled();
  await send({ joined: entries("c") });
  await kit.service.socket.ack("subscribe");
  await roster("a", "b", "c");
  expect(seen).toEqual(["+a", "+b", "+c"]);
});

test("a subscription that ends empties the list, and no one has left because of that", async () => {
  await roster("a");
  let list: unknown;
  chat.presence.on("changed", (members) => {
    list = members;
  });
  const error = { type: "error", code: "channel_not_authorized", message: "", channel: "chat" };
  await kit.service.socket.receive(error);
  expect(list).toEqual([]);
  expect(seen).toEqual(["+a"]);
});
