import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { settled } from "./testing/clock.ts";
import { Kit } from "./testing/kit.ts";

let kit: Kit;
beforeEach(() => {
  kit = new Kit();
  kit.clock.random = 0;
});
afterEach(() => kit.restore());

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "resolved",
    (error) => error.code,
  );

describe("a subscription", () => {
  test("lasts as long as something listens; one turn is one decision", async () => {
    const chat = (await kit.connected()).channel("chat");
    const { socket } = kit.service;
    chat.on("error", () => undefined);
    await settled();
    expect(socket.sent).toEqual([]);
    const off = chat.on("message", () => undefined);
    await settled();
    await socket.ack("subscribe");
    off();
    const offPresence = chat.presence.on("joined", () => undefined);
    await settled();
    expect(socket.sent).toHaveLength(1);
    offPresence();
    await settled();
    expect(socket.sent.map(({ type }) => type)).toEqual(["subscribe", "unsubscribe"]);
  });

  test("subscribe() resolves with the ack of this connection, or of the next one", async () => {
    const parley = kit.client();
    const chat = parley.channel("chat");
    const ready = codeOf(chat.subscribe());
    await settled();
    await kit.service.socket.welcome();
    await kit.reconnected();
    expect(await Promise.race([ready, settled().then(() => "waits")])).toBe("waits");
    await kit.service.socket.ack("subscribe");
    expect(await ready).toBe("resolved");
    chat.unsubscribe();
    await settled();
    expect(kit.service.socket.of("unsubscribe")).toHaveLength(1);
  });

  test("begins with `subscribed` although nothing listens, and lasts until unsubscribe()", async () => {
    const chat = (await kit.connected()).channel("chat");
    const { socket } = kit.service;
    const ready = codeOf(chat.subscribed);
    await settled();
    await socket.ack("subscribe");
    expect(await ready).toBe("resolved");
    await socket.receive({ type: "presence", channel: "chat", joined: [{ peerId: "bob" }], left: [], snapshot: true });
    expect(chat.presence.members).toEqual([{ peerId: "bob" }]);
    await chat.subscribed;
    expect(socket.sent.map(({ type }) => type)).toEqual(["subscribe"]);
    await kit.reconnected();
    expect(kit.service.socket.of("subscribe")).toHaveLength(1);
    chat.unsubscribe();
    await settled();
    expect(kit.service.socket.of("unsubscribe")).toHaveLength(1);
  });

  test("that `subscribed` has begun goes over to listeners, whichever came first", async () => {
    const parley = await kit.connected();
    const { socket } = kit.service;
    for (const isFirst of [true, false]) {
      const chat = parley.channel(`first/${isFirst}`);
      if (isFirst) chat.subscribed.catch(() => undefined);
      if (isFirst) await settled();
      const stop = chat.on("message", () => undefined);
      chat.subscribed.catch(() => undefined);
      await settled();
      await socket.ack("subscribe");
      stop();
      await settled();
      expect(socket.last("unsubscribe")).toMatchObject({ channel: chat.name });
    }
    const held = parley.channel("held");
    const ready = [held.subscribe(), held.subscribed];
    await settled();
    await socket.ack("subscribe");
    await Promise.all(ready);
    held.unsubscribe();
    await settled();
    expect(socket.last("unsubscribe")).toMatchObject({ channel: "held" });
  });

  test("that was refused is asked for again by `subscribed`", async () => {
    const chat = (await kit.connected()).channel("chat");
    chat.on("message", () => undefined);
    const first = codeOf(chat.subscribed);
    await settled();
    await kit.service.socket.refuse("subscribe", "channel_not_authorized");
    expect(await first).toBe("channel_not_authorized");
    const second = codeOf(chat.subscribed);
    await settled();
    await kit.service.socket.ack("subscribe");
    expect(await second).toBe("resolved");
    expect(kit.service.socket.of("subscribe")).toHaveLength(2);
  });

  test("that only `subscribed` waits for ends with the client", async () => {
    const parley = kit.client();
    const ready = codeOf(parley.channel("chat").subscribed);
    await settled();
    parley.close();
    expect(await ready).toBe("closed");
  });

  test("that is taken back before the ack rejects those who wait for it", async () => {
    const chat = (await kit.connected()).channel("chat");
    for (const isAsked of [true, false]) {
      const waiting = chat.subscribe().catch((error) => error.code);
      if (isAsked) await settled();
      chat.unsubscribe();
      expect(await waiting).toBe("closed");
    }
    const next = chat.subscribe();
    await settled();
    await kit.service.socket.ack("subscribe");
    await next;
  });

  test("refused: an event, a rejection, and a new try with the next subscribe()", async () => {
    const chat = (await kit.connected()).channel("chat");
    const errors: string[] = [];
    chat.on("error", ({ code }) => errors.push(code));
    const first = codeOf(chat.subscribe());
    await settled();
    await kit.service.socket.refuse("subscribe", "channel_not_authorized");
    expect(await first).toBe("channel_not_authorized");
    expect(errors).toEqual(["channel_not_authorized"]);
    const second = codeOf(chat.subscribe());
    await settled();
    expect(kit.service.socket.of("subscribe")).toHaveLength(2);
    await kit.service.socket.ack("subscribe");
    expect(await second).toBe("resolved");
  });

  test("that fails for a passing reason is tried again", async () => {
    const chat = (await kit.connected()).channel("chat");
    const ready = codeOf(chat.subscribe());
    await settled();
    await kit.service.socket.refuse("subscribe", "backend_error");
    expect(kit.errors).toEqual(["backend_error"]);
    await kit.clock.advance(2000);
    expect(kit.service.socket.of("subscribe")).toHaveLength(2);
    await kit.service.socket.ack("subscribe");
    expect(await ready).toBe("resolved");
  });

  test("without an answer for 15 s ends the connection: a second subscribe would not recover", async () => {
    kit.service.answersPings = true;
    const chat = (await kit.connected()).channel("chat");
    const ready = codeOf(chat.subscribe());
    await settled();
    await kit.clock.advance(16_000);
    expect(kit.service.sockets[0]?.closedWith).toBe(4000);
    expect(kit.statuses.at(1)).toBe("reconnecting timeout");
    await kit.service.socket.welcome();
    await kit.service.socket.ack("subscribe");
    expect(await ready).toBe("resolved");
  });

  test("that the service ends is an error of the channel; it is asked for again on the next connection", async () => {
    const parley = await kit.connected();
    const chat = parley.channel("chat");
    const seen: string[] = [];
    chat.on("error", ({ code }) => seen.push(code));
    chat.on("gap", ({ reason }) => seen.push(reason));
    await settled();
    await kit.service.socket.ack("subscribe", { pos: "p1" });
    const frame = { type: "error", code: "channel_not_authorized", message: "no longer", channel: "chat" };
    await kit.service.socket.receive(frame, { type: "message", channel: "chat", data: 1, pos: "p2" });
    expect(seen).toEqual(["channel_not_authorized"]);
    expect(kit.errors).toEqual([]);
    await kit.reconnected();
    expect(kit.service.socket.last("subscribe")).toMatchObject({ recover: "p1" });
  });

  test("takes over options and what extensions ask for", async () => {
    const parley = await kit.connected();
    const chat = parley.channel("chat", { senderMetadata: true, occupancy: true, presence: false });
    const counts: unknown[] = [];
    chat.on("occupancy", (count) => counts.push(count));
    await settled();
    expect(kit.service.socket.last("subscribe")).toMatchObject({
      includeSenderMetadata: true,
      occupancy: true,
      presence: false,
    });
    await kit.service.socket.ack("subscribe", { pos: "p1" });
    await kit.service.socket.receive({ type: "occupancy", channel: "chat", peers: 2, connections: 3 });
    expect(counts).toEqual([{ peers: 2, connections: 3 }]);
    const end = chat.extend({ fields: { state: true } });
    await settled();
    const repeated = kit.service.socket.last("subscribe");
    expect(repeated).toMatchObject({ state: true });
    expect(repeated).not.toHaveProperty("recover");
    end();
  });
});

test("a channel that was left without a connection begins anew, without the members of before", async () => {
  const parley = await kit.connected();
  const chat = parley.channel("chat");
  const stop = chat.on("message", () => undefined);
  await settled();
  await kit.service.socket.ack("subscribe", { pos: "p0" });
  const joined = [{ peerId: "bob" }];
  await kit.service.socket.receive({ type: "presence", channel: "chat", joined, left: [], snapshot: true });
  await kit.service.socket.end();
  stop();
  await kit.comesBack();
  await kit.service.socket.welcome({ connection: "c2" });
  expect(kit.service.socket.sent).toEqual([]);
  expect(chat.presence.members).toEqual([]);
  const gaps: string[] = [];
  chat.on("gap", ({ reason }) => gaps.push(reason));
  await settled();
  expect(kit.service.socket.last("subscribe")).not.toHaveProperty("recover");
  await kit.service.socket.ack("subscribe", { pos: "p9" });
  expect(gaps).toEqual([]);
});

describe("requests", () => {
  test("without a connection they are rejected", async () => {
    const parley = kit.client();
    expect(await codeOf(parley.channel("chat").publish(1))).toBe("not_connected");
    expect(await codeOf(parley.send("bob", 1))).toBe("not_connected");
  });

  test("a connection that ends leaves their fate open", async () => {
    const parley = await kit.connected();
    const publish = codeOf(parley.channel("chat").publish(1));
    const send = codeOf(parley.send("bob", 1));
    await kit.service.socket.end();
    expect(await publish).toBe("connection_lost");
    expect(await send).toBe("connection_lost");
    await kit.reconnected();
    expect(kit.service.socket.sent).toEqual([]);
  });

  test("without an answer for 15 s they are rejected", async () => {
    const parley = await kit.connected();
    const publish = codeOf(parley.channel("chat").publish(1));
    await kit.clock.advance(15_000);
    expect(await publish).toBe("timeout");
    await kit.service.socket.ack("publish");
  });

  test("a thousand may wait, and no more", async () => {
    const parley = await kit.connected();
    for (let count = 0; count < 1000; count++) parley.send("bob", count).catch(() => undefined);
    expect(await codeOf(parley.send("bob", "one more"))).toBe("queue_full");
    expect(kit.service.socket.sent).toHaveLength(1000);
  });

  test("a subscription that is one too many is tried again when there is room", async () => {
    const parley = await kit.connected();
    for (let count = 0; count < 1000; count++)
      parley
        .channel("other")
        .publish(count)
        .catch(() => undefined);
    const ready = parley.channel("chat").subscribe();
    await settled();
    expect(kit.service.socket.of("subscribe")).toEqual([]);
    await kit.service.socket.ack("publish");
    await kit.clock.advance(2000);
    await kit.service.socket.ack("subscribe");
    await ready;
  });

  test("a message that would end the connection is not sent; one that is just small enough is", async () => {
    const parley = await kit.connected();
    expect(await codeOf(parley.send("bob", "ü".repeat(33_780)))).toBe("message_too_large");
    expect(kit.service.socket.sent).toEqual([]);
    parley.send("bob", "ü".repeat(33_700)).catch(() => undefined);
    expect(kit.service.socket.sent).toHaveLength(1);
  });

  test("what cannot be written as JSON leaves nothing behind", async () => {
    const parley = await kit.connected();
    const waiting = kit.clock.waiting;
    expect(await parley.send("bob", 1n).catch((error) => error.name)).toBe("TypeError");
    expect(kit.clock.waiting).toBe(waiting);
  });

  test("a direct message reaches the client, and its errors the caller", async () => {
    const parley = await kit.connected();
    const directs: unknown[] = [];
    parley.on("direct", ({ from, data }) => directs.push([from, data]));
    await kit.service.socket.receive({ type: "direct", from: "bob", data: 1 });
    expect(directs).toEqual([["bob", 1]]);
    const send = codeOf(parley.send("eve", 1));
    await kit.service.socket.refuse("send", "peer_not_found");
    expect(await send).toBe("peer_not_found");
  });
});

test("a channel that is left after the end still says why", async () => {
  const parley = await kit.connected();
  const chat = parley.channel("chat");
  const stop = chat.on("message", () => undefined);
  await settled();
  parley.close();
  stop();
  await settled();
  expect(await chat.subscribe().catch((error) => error.message)).toBe("The client was closed.");
});

test("a channel that is used after the end says why", async () => {
  const parley = await kit.connected();
  const [old, held] = [parley.channel("old"), parley.channel("held")];
  const ready = held.subscribe();
  await settled();
  await kit.service.socket.ack("subscribe");
  await ready;
  await kit.service.socket.end(4020);
  for (const channel of [old, held, parley.channel("new")]) {
    expect(await codeOf(channel.subscribe())).toBe("kicked");
    expect(await codeOf(channel.publish(1))).toBe("kicked");
    expect(await codeOf(channel[Symbol.asyncIterator]().next())).toBe("kicked");
  }
});
