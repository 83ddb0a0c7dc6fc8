/** An application may visit any number of channels: what it neither has nor listens to is forgotten. */
import { heapStats } from "bun:jsc";
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Channel } from "./channel.ts";
import type { Parley } from "./parley.ts";
import { settled } from "./testing/clock.ts";
import { Kit } from "./testing/kit.ts";

const VISITED = 400;
/** The collector may take something on the stack for a reference. */
const LEFT_MAX = 40;

let kit: Kit;
let parley: Parley;
beforeEach(async () => {
  kit = new Kit();
  parley = await kit.connected();
});
afterEach(() => kit.restore());

/**
 * Several turns of the event loop, because what is referred to weakly lives until the end of one; and more of them while the collector
 * still takes something for a reference. Returns the number that is left.
 */
async function collect(count: () => number): Promise<number> {
  for (let round = 0; round < 4 || (count() >= LEFT_MAX && round < 40); round++) {
    await new Promise((resolve) => setImmediate(resolve));
    Bun.gc(true);
  }
  return count();
}

/** The channels of these names that still exist. */
async function left(visit: (channel: Channel, at: number) => void | Promise<void>): Promise<number> {
  const all: WeakRef<Channel>[] = [];
  for (let at = 0; at < VISITED; at++) {
    const channel = parley.channel(`doc/${at}`);
    await visit(channel, at);
    all.push(new WeakRef(channel));
  }
  await settled();
  return collect(() => all.filter((one) => one.deref()).length);
}

test("channels that were asked for, published to, listened to or subscribed to and left are forgotten, with their names", async () => {
  const weakRefs = (): number => heapStats().objectTypeCounts.WeakRef ?? 0;
  const before = weakRefs();
  const { socket } = kit.service;
  const count = await left(async (channel, at) => {
    if (at % 4 === 0) {
      const published = channel.publish(at);
      await socket.ack("publish");
      await published;
    } else if (at % 4 === 1) {
      const off = channel.on("message", () => undefined);
      await settled();
      await socket.ack("subscribe", { pos: "1" });
      off();
      await settled();
      await socket.ack("unsubscribe");
    } else if (at % 4 === 2) await Promise.all([channel.subscribe().catch(() => undefined), channel.unsubscribe()]);
  });
  expect(count).toBeLessThan(LEFT_MAX);
  expect(await collect(() => weakRefs() - before)).toBeLessThan(LEFT_MAX);
});

test("what the application has is the same object, and is ended with the client", async () => {
  const mine = parley.channel("mine");
  const { presence } = parley.channel("seen");
  await left(() => undefined);
  expect(parley.channel("mine")).toBe(mine);
  expect(parley.channel("seen").presence).toBe(presence);
  const waiting = mine.subscribe().catch((error) => error.code);
  parley.close();
  expect(await waiting).toBe("closed");
});

test("listeners, those who wait and options keep a channel that the application does not have", async () => {
  const heard: unknown[] = [];
  const noted = (what: string) => (): unknown => heard.push(what);
  (() => {
    parley.channel("message").on("message", ({ data }) => heard.push(data));
    parley.channel("error").on("error", noted("error"));
    parley.channel("waited").subscribed.then(noted("subscribed"));
    parley.channel("held").subscribe().then(noted("held"));
    parley.channel("options", { rewind: 7 });
  })();
  await settled();
  await left(() => undefined);
  const { socket } = kit.service;
  const ack = (channel: string): Promise<void> => {
    const asked = socket.of("subscribe").find((frame) => frame.channel === channel);
    return socket.receive({ type: "ack", requestId: asked?.requestId });
  };
  await ack("message");
  await ack("held");
  await socket.receive({ type: "message", channel: "message", from: "bob", data: "hello" });
  parley.channel("waited").on("message", () => undefined);
  parley.channel("options").on("message", () => undefined);
  await settled();
  await ack("waited");
  expect(socket.last("subscribe")).toMatchObject({ channel: "options", rewind: 7 });
  parley.close();
  expect(heard).toEqual(["held", "hello", "subscribed", "error"]);
});
