import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Channel } from "./channel.ts";
import type { Parley } from "./parley.ts";
import { settled } from "./testing/clock.ts";
import { Kit } from "./testing/kit.ts";

let kit: Kit;
let parley: Parley;
let chat: Channel;
beforeEach(async () => {
  kit = new Kit();
  parley = await kit.connected();
  chat = parley.channel("chat");
});
afterEach(() => kit.restore());

const held = async (): Promise<void> => {
  await settled();
  await kit.service.socket.ack("subscribe");
};
const receive = (...data: unknown[]): Promise<void> =>
  kit.service.socket.receive(...data.map((one) => ({ type: "message", channel: "chat", from: "bob", data: one })));

test("gives messages in their order, also those that came while the loop was busy", async () => {
  const got: unknown[] = [];
  const loop = (async () => {
    for await (const { data } of chat) {
      got.push(data);
      if (data === 4) break;
    }
  })();
  await held();
  await receive(1);
  await receive(2, 3, 4, 5);
  await loop;
  expect(got).toEqual([1, 2, 3, 4]);
  await settled();
  expect(kit.service.socket.of("unsubscribe")).toHaveLength(1);
});

test("can be ended while it waits", async () => {
  const loop = chat[Symbol.asyncIterator]();
  await held();
  const waiting = [loop.next(), loop.next()];
  await loop.return?.();
  expect(await Promise.all(waiting)).toEqual([
    { value: undefined, done: true },
    { value: undefined, done: true },
  ]);
  await settled();
  expect(kit.service.socket.of("unsubscribe")).toHaveLength(1);
});

test("ends when the client is closed, behind what came before", async () => {
  const loop = chat[Symbol.asyncIterator]();
  await held();
  await receive(1);
  parley.close();
  expect((await loop.next()).value).toMatchObject({ data: 1 });
  expect(await loop.next()).toEqual({ value: undefined, done: true });
  expect(await chat[Symbol.asyncIterator]().next()).toEqual({ value: undefined, done: true });
});

test("throws once if the subscription is refused", async () => {
  const loop = chat[Symbol.asyncIterator]();
  const waiting = loop.next().catch((error) => error.code);
  await settled();
  await kit.service.socket.refuse("subscribe", "action_not_permitted");
  expect(await waiting).toBe("action_not_permitted");
  expect(await loop.next()).toEqual({ value: undefined, done: true });
});

test("throws if it falls too far behind, and loses nothing before that", async () => {
  const loop = chat[Symbol.asyncIterator]();
  await held();
  await receive(...Array.from({ length: 1001 }, (_, at) => at));
  for (let at = 0; at < 1000; at++) expect((await loop.next()).value).toMatchObject({ data: at });
  expect(await loop.next().catch((error) => error.code)).toBe("slow_reader");
});

test("goes on behind a gap, which a listener beside it hears before any message that follows", async () => {
  const got: unknown[] = [];
  const off = chat.on("gap", ({ reason }) => got.push(reason));
  const loop = (async () => {
    for await (const { data } of chat) {
      got.push(data);
      if (data === "after") break;
    }
  })();
  await held();
  await receive("before");
  await kit.reconnected();
  await held();
  await receive("after");
  await loop;
  expect(got).toEqual(["before", "no_history", "after"]);
  await settled();
  expect(kit.service.socket.of("unsubscribe")).toHaveLength(0);
  off();
  await settled();
  expect(kit.service.socket.of("unsubscribe")).toHaveLength(1);
});
