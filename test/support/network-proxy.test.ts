import { expect, test } from "bun:test";
import { Caller, Echo } from "./echo.ts";
import { NetworkProxy } from "./network-proxy.ts";
import { nextTurn, until } from "./wait.ts";

/** Long enough for anything to arrive on loopback that would arrive: an absence cannot be waited for. */
const A_WHILE_MS = 150;

test("a link proxy passes bytes both ways and counts them", async () => {
  using echo = await Echo.start();
  await using link = await NetworkProxy.to(echo.port);
  using caller = await Caller.call(link.port);
  await caller.say("hello").hears("hello");
  expect([link.bytes, link.open, link.accepted]).toEqual([{ up: 5, down: 5 }, 1, 1]);
});

test("an end passes, one direction at a time", async () => {
  using echo = await Echo.start();
  await using link = await NetworkProxy.to(echo.port);
  using caller = await Caller.call(link.port);
  caller.say("last bytes").socket.end();
  await caller.ended();
  expect([caller.ending, caller.received]).toEqual(["end", "last bytes"]);
});

test("megabytes pass completely, however slowly they are read", async () => {
  using echo = await Echo.start();
  await using link = await NetworkProxy.to(echo.port);
  using caller = await Caller.call(link.port);
  const much = Buffer.alloc(4 * 1024 * 1024, "0123456789abcdef").toString();
  caller.socket.pause();
  caller.say(much);
  await Bun.sleep(A_WHILE_MS);
  caller.socket.resume();
  await caller.until(({ received }) => received.length >= much.length);
  expect(caller.received === much).toBeTrue();
});

test("a stalled link keeps its connections and passes nothing; resumed it passes everything in order", async () => {
  using echo = await Echo.start();
  await using link = await NetworkProxy.to(echo.port);
  using caller = await Caller.call(link.port);
  await caller.say("a").hears("a");
  link.stall();
  caller.say("b");
  using newcomer = await Caller.call(link.port);
  newcomer.say("n");
  await Bun.sleep(A_WHILE_MS);
  expect([echo.received, caller.received, caller.ending, newcomer.ending]).toEqual(["a", "a", "open", "open"]);
  caller.say("c").socket.end();
  link.resume();
  await caller.ended();
  await newcomer.hears("n");
  expect([caller.received, caller.ending]).toEqual(["abc", "end"]);
});

test("an end during a stall arrives only after it", async () => {
  using echo = await Echo.start();
  await using link = await NetworkProxy.to(echo.port);
  using caller = await Caller.call(link.port);
  await caller.say("a").hears("a");
  link.stall();
  caller.socket.end();
  await Bun.sleep(A_WHILE_MS);
  expect(caller.ending).toBe("open");
  link.resume();
  await caller.ended();
  expect(caller.ending).toBe("end");
});

test("one direction can stall alone", async () => {
  using echo = await Echo.start();
  await using link = await NetworkProxy.to(echo.port);
  using caller = await Caller.call(link.port);
  link.stall("down");
  caller.say("question");
  await until("the question arrives", () => echo.received === "question");
  await Bun.sleep(A_WHILE_MS);
  expect([echo.received, caller.received, link.bytes.down]).toEqual(["question", "", 0]);
  link.resume("down");
  await caller.hears("question");
});

test("a delay applies once in each direction, and keeps the order", async () => {
  using echo = await Echo.start();
  await using link = await NetworkProxy.to(echo.port);
  using caller = await Caller.call(link.port);
  link.delay(100);
  const began = performance.now();
  for (let i = 0; i < 10; i++) {
    caller.say(`${i}`);
    await nextTurn();
  }
  await caller.hears("0");
  expect(performance.now() - began).toBeGreaterThanOrEqual(199);
  await caller.hears("9");
  expect(caller.received).toBe("0123456789");
  link.delay(60_000, "up");
  link.delay(0, "down");
  caller.say("x");
  await Bun.sleep(A_WHILE_MS);
  expect(echo.received).not.toContain("x");
});

test("bytes on their way when the sender closes still arrive", async () => {
  using echo = await Echo.start();
  await using link = await NetworkProxy.to(echo.port);
  using caller = await Caller.call(link.port);
  link.delay(100);
  caller.say("bye").socket.end();
  await caller.ended();
  expect([echo.received, caller.received]).toEqual(["bye", "bye"]);
});

test("a cut resets both sides and every new connection, until it is mended", async () => {
  using echo = await Echo.start();
  await using link = await NetworkProxy.to(echo.port);
  using caller = await Caller.call(link.port);
  await caller.say("a").hears("a");
  link.cut();
  await caller.ended();
  expect(caller.ending).toBe("reset");
  // The reset may come before or with the notice that it was connected.
  const newcomer = await Caller.call(link.port).catch(() => undefined);
  await newcomer?.ended();
  await until("a reset", () => echo.resets > 0);
  expect([link.refused, echo.connections, link.open]).toEqual([1, 1, 0]);
  link.stall();
  link.mend();
  using later = await Caller.call(link.port);
  await later.say("again").hears("again");
});

test("a cut ends stalled connections too", async () => {
  using echo = await Echo.start();
  await using link = await NetworkProxy.to(echo.port);
  using caller = await Caller.call(link.port);
  await caller.say("a").hears("a");
  link.stall();
  link.cut();
  await caller.ended();
  expect(caller.ending).toBe("reset");
});

test("an unreachable target resets the client", async () => {
  const echo = await Echo.start();
  await using link = await NetworkProxy.to(echo.port);
  echo[Symbol.dispose]();
  const caller = await Caller.call(link.port).catch(() => undefined);
  await caller?.ended();
  expect(link.bytes).toEqual({ up: 0, down: 0 });
});
