import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Channel } from "./channel.ts";
import type { ChannelOptions } from "./events/message.ts";
import type { Parley } from "./parley.ts";
import { settled } from "./testing/clock.ts";
import { Kit } from "./testing/kit.ts";

let kit: Kit;
let seen: string[];
beforeEach(() => {
  kit = new Kit();
  kit.clock.random = 0;
  seen = [];
});
afterEach(() => kit.restore());

const message = (pos: string, more: object = {}): object => ({
  type: "message",
  channel: "chat",
  from: "bob",
  data: pos,
  pos,
  ...more,
});
const plain = (data: string): object => ({ type: "message", channel: "chat", from: "bob", data });

function listen(parley: Parley, options: ChannelOptions = {}): Channel {
  const chat = parley.channel("chat", options);
  chat.on("message", ({ data }) => seen.push(String(data)));
  chat.on("gap", ({ reason }) => seen.push(reason));
  chat.on("subscribed", ({ recovered, replay }) => seen.push(`subscribed ${recovered} ${replay}`));
  chat.on("error", ({ code }) => seen.push(`error ${code}`));
  return chat;
}

async function listening(options: ChannelOptions = {}, ack: object = { pos: "p0" }): Promise<Channel> {
  const chat = listen(await kit.connected(), options);
  await settled();
  await kit.service.socket.ack("subscribe", ack);
  seen.length = 0;
  return chat;
}

const subscribe = (): object => kit.service.socket.last("subscribe");

describe("with history", () => {
  test("recovers behind the last message, and leaves out what the connection before has published", async () => {
    await listening();
    expect(subscribe()).not.toHaveProperty("recover");
    await kit.service.socket.receive(message("p1"), message("p2"));
    await kit.reconnected();
    expect(subscribe()).toMatchObject({ recover: "p2", connection: "c1" });
    await kit.service.socket.ack("subscribe", { pos: "p9", recovered: true, replay: 1 });
    await kit.service.socket.receive(message("p3", { replay: true }));
    expect(seen).toEqual(["p1", "p2", "subscribed true 1", "p3"]);
    // Not behind the end of the stream, which the replay may not have reached.
    await kit.reconnected(1006, { connection: "c3" });
    expect(subscribe()).toMatchObject({ recover: "p3", connection: "c2" });
  });

  test("a connection without any message recovers from where it began", async () => {
    await listening();
    await kit.reconnected(1001);
    expect(subscribe()).toMatchObject({ recover: "p0" });
    await kit.service.socket.ack("subscribe", { pos: "p5", recovered: true, replay: 5 });
    await kit.reconnected(1001);
    expect(subscribe()).toMatchObject({ recover: "p0" });
  });

  test("what cannot be recovered is one gap, and the next recovery begins at the new position", async () => {
    await listening();
    await kit.reconnected();
    // In one turn: a message behind the ack must not be taken back by it.
    const ack = kit.service.socket.ackOf("subscribe", { pos: "q7", recovered: false, replay: 0 });
    await kit.service.socket.receive(ack, message("q8"));
    expect(seen).toEqual(["subscribed false 0", "not_recovered", "q8"]);
    await kit.reconnected();
    expect(subscribe()).toMatchObject({ recover: "q8" });
  });

  test("a history that was switched off is a gap, and is not asked for again", async () => {
    await listening();
    await kit.reconnected();
    await kit.service.socket.ack("subscribe");
    expect(seen).toEqual(["subscribed undefined 0", "no_history"]);
    await kit.reconnected();
    expect(subscribe()).not.toHaveProperty("recover");
  });
});

test("without history every connection but the first begins with a gap", async () => {
  await listening({}, {});
  await kit.service.socket.receive(plain("a"));
  for (let round = 0; round < 2; round++) {
    await kit.reconnected();
    await kit.service.socket.ack("subscribe");
  }
  expect(seen).toEqual(["a", "subscribed undefined 0", "no_history", "subscribed undefined 0", "no_history"]);
});

describe("rewind", () => {
  test("only at first: later connections recover", async () => {
    await listening({ rewind: 50 }, { pos: "p9", recovered: true, replay: 2 });
    expect(subscribe()).toMatchObject({ rewind: 50 });
    await kit.service.socket.receive(message("p8", { replay: true }));
    await kit.reconnected();
    expect(subscribe()).toMatchObject({ recover: "p8" });
    expect(subscribe()).not.toHaveProperty("rewind");
  });

  test("again, if nothing of it came; that is no gap", async () => {
    await listening({ rewind: "5m" }, { pos: "p9", recovered: true, replay: 2 });
    await kit.reconnected();
    expect(subscribe()).toMatchObject({ rewind: "5m" });
    await kit.service.socket.ack("subscribe", { pos: "p9", recovered: true, replay: 2 });
    expect(seen).toEqual(["subscribed true 2"]);
  });

  test("of an empty history is over at once", async () => {
    await listening({ rewind: 50 }, { pos: "p0", recovered: true, replay: 0 });
    await kit.reconnected();
    expect(subscribe()).toMatchObject({ recover: "p0" });
  });

  test("of a channel whose history begins while the client is away is a gap", async () => {
    await listening({ rewind: 50 }, {});
    await kit.reconnected();
    expect(subscribe()).toMatchObject({ rewind: 50 });
    await kit.service.socket.ack("subscribe", { pos: "p1", recovered: true, replay: 1 });
    expect(seen).toEqual(["subscribed true 1", "not_recovered"]);
  });

  test("that the service cannot give is a gap", async () => {
    listen(await kit.connected(), { rewind: 50 });
    await settled();
    await kit.service.socket.ack("subscribe", { pos: "p0", recovered: false, replay: 0 });
    expect(seen).toEqual(["subscribed false 0", "not_recovered"]);
  });

  test("unsubscribe and subscribe again is a first time; messages of the time before do not count", async () => {
    const parley = await kit.connected();
    const chat = parley.channel("chat", { rewind: 10 });
    const off = chat.on("message", () => seen.push("first"));
    await settled();
    const { socket } = kit.service;
    await socket.ack("subscribe", { pos: "p0", recovered: true, replay: 0 });
    off();
    await settled();
    expect(socket.of("unsubscribe")).toHaveLength(1);
    chat.on("message", ({ data }) => seen.push(String(data)));
    await settled();
    expect(socket.last("subscribe")).toMatchObject({ rewind: 10 });
    // It was on its way when the client unsubscribed, and is replayed.
    await socket.receive(message("p1"));
    await socket.receive(socket.ackOf("subscribe", { pos: "p1", recovered: true, replay: 1 }), message("p1"));
    expect(seen).toEqual(["p1"]);
  });
});

test("without a connection: replaced within a turn, a listener recovers; added after the channel was left, it begins anew", async () => {
  const parley = await kit.connected();
  const chat = parley.channel("chat", { rewind: 10 });
  let off = chat.on("gap", ({ reason }) => seen.push(reason));
  await settled();
  await kit.service.socket.ack("subscribe", { pos: "p0", recovered: true, replay: 0 });
  for (const isLeft of [false, true]) {
    await kit.service.socket.end();
    off();
    if (isLeft) await settled();
    off = chat.on("gap", ({ reason }) => seen.push(reason));
    await kit.comesBack();
    await kit.service.socket.welcome({ connection: "c2" });
    const { recover, rewind } = kit.service.socket.last("subscribe");
    expect([recover, rewind]).toEqual(isLeft ? [undefined, 10] : ["p0", undefined]);
    await kit.service.socket.ack("subscribe", { pos: "p0", recovered: true, replay: 0 });
  }
  expect(seen).toEqual([]);
});

test("an ack of a subscribe that was taken back does not count", async () => {
  const parley = await kit.connected();
  const chat = parley.channel("chat");
  chat.on("message", () => undefined)();
  const off = chat.on("message", () => undefined);
  await settled();
  const { socket } = kit.service;
  const early = socket.ackOf("subscribe", { pos: "p0" });
  off();
  await settled();
  chat.on("message", ({ data }) => seen.push(String(data)));
  await settled();
  await socket.receive(early, message("p1"));
  await socket.receive(socket.ackOf("subscribe", { pos: "p1" }), message("p2"));
  expect(seen).toEqual(["p2"]);
});

test("without history, a channel that is left and taken again has no gap", async () => {
  const parley = await kit.connected();
  const chat = parley.channel("chat");
  for (let round = 0; round < 2; round++) {
    const off = chat.on("gap", ({ reason }) => seen.push(reason));
    await settled();
    await kit.service.socket.ack("subscribe");
    off();
    await settled();
  }
  expect(seen).toEqual([]);
});

describe("own messages", () => {
  test("the ack of a publish is a position", async () => {
    const chat = await listening();
    const publish = chat.publish("mine");
    await kit.service.socket.ack("publish", { pos: "p1" });
    await publish;
    await kit.reconnected();
    expect(subscribe()).toMatchObject({ recover: "p1" });
  });

  test("that of a message which was followed by others, or of a duplicate, is an old one", async () => {
    const chat = await listening();
    const { socket } = kit.service;
    const first = chat.publish("mine");
    socket.frames(socket.ackOf("publish", { pos: "p1" }), message("p2"));
    expect(await first).toMatchObject({ pos: "p1" });
    await kit.reconnected();
    expect(subscribe()).toMatchObject({ recover: "p2" });
    await kit.service.socket.ack("subscribe", { pos: "p2", recovered: true, replay: 0 });
    const second = chat.publish("mine", { id: "x" });
    await kit.service.socket.ack("publish", { pos: "p1", duplicate: true });
    expect(await second).toEqual({ id: "x", pos: "p1", duplicate: true });
    await kit.reconnected();
    expect(subscribe()).toMatchObject({ recover: "p2" });
  });

  test("one whose connection ended before the ack is not shown when it comes, on whichever connection", async () => {
    const chat = await listening();
    const publish = chat.publish("mine");
    const { id } = kit.service.socket.last("publish");
    await kit.reconnected(1006, { peerId: "me again", connection: "c2" });
    expect(await publish.catch((error) => error.code)).toBe("connection_lost");
    await kit.service.socket.ack("subscribe", { pos: "p0", recovered: true, replay: 0 });
    await kit.reconnected(1006, { peerId: "me a third time", connection: "c3" });
    await kit.service.socket.ack("subscribe", { pos: "p1", recovered: true, replay: 1 });
    await kit.service.socket.receive(message("p1", { id, from: "me", replay: true }), message("p2", { id }));
    // The second one has the same id, and is of someone else.
    expect(seen.filter((one) => !one.startsWith("subscribed"))).toEqual(["p2"]);
    await kit.reconnected();
    expect(subscribe()).toMatchObject({ recover: "p2" });
  });

  test("a message of a peer whose id and name together look like an own one is shown", async () => {
    const chat = await listening();
    chat.publish("mine", { id: "Smith 1" }).catch(() => undefined);
    await kit.reconnected();
    await kit.service.socket.ack("subscribe", { pos: "p1", recovered: true, replay: 1 });
    await kit.service.socket.receive(message("p1", { from: "me Smith", id: "1", replay: true }));
    expect(seen).toContain("p1");
  });

  test("one that was accepted while the subscription could not be made is not shown when it is replayed", async () => {
    const chat = await listening();
    await kit.reconnected();
    await kit.service.socket.refuse("subscribe", "backend_error");
    const publish = chat.publish("mine");
    const { id } = kit.service.socket.last("publish");
    await kit.service.socket.ack("publish", { pos: "p1" });
    await publish;
    await kit.clock.advance(2000);
    expect(subscribe()).toMatchObject({ recover: "p0" });
    await kit.service.socket.ack("subscribe", { pos: "p2", recovered: true, replay: 2 });
    await kit.service.socket.receive(message("p1", { id, from: "me", replay: true }), message("p2", { replay: true }));
    expect(seen.filter((one) => !one.startsWith("subscribed"))).toEqual(["p2"]);
  });

  test("have an id before the first ack too, because the channel may have history", async () => {
    const chat = (await kit.connected()).channel("chat");
    chat.on("message", () => undefined);
    await settled();
    chat.publish(1).catch(() => undefined);
    expect(kit.service.socket.last("publish")).toHaveProperty("id");
  });

  test("have random ids where they can be sent again, and none elsewhere", async () => {
    const chat = await listening();
    chat.publish(1).catch(() => undefined);
    chat.publish(2).catch(() => undefined);
    const ids = kit.service.socket.of("publish").map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    const other = (await kit.connected()).channel("other");
    other.publish(1).catch(() => undefined);
    expect(kit.service.socket.last("publish")).not.toHaveProperty("id");
  });
});
