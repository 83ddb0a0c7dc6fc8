import { expect, test } from "bun:test";
import { Caller, Echo } from "./echo.ts";
import { Wire } from "./wire.ts";

/** Long enough for anything to pass on loopback that would pass: what must not come cannot be waited for. */
const A_WHILE_MS = 150;

test("it passes bytes both ways and counts them", async () => {
  using echo = await Echo.start();
  await using wire = await Wire.to(echo.port);
  using caller = await Caller.call(wire.port);
  await caller.say("hello").hears("hello");
  expect([wire.bytes, wire.open, wire.accepted]).toEqual([{ up: 5, down: 5 }, 1, 1]);
});

test("an end passes, one side at a time", async () => {
  using echo = await Echo.start();
  await using wire = await Wire.to(echo.port);
  using caller = await Caller.call(wire.port);
  caller.say("last words").socket.end();
  await caller.ended();
  expect([caller.ending, caller.received]).toEqual(["end", "last words"]);
});

test("megabytes pass whole, however slowly they are read", async () => {
  using echo = await Echo.start();
  await using wire = await Wire.to(echo.port);
  using caller = await Caller.call(wire.port);
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
  await using wire = await Wire.to(echo.port);
  using caller = await Caller.call(wire.port);
  await caller.say("a").hears("a");
  wire.stall();
  caller.say("b");
  using newcomer = await Caller.call(wire.port);
  newcomer.say("n");
  await Bun.sleep(A_WHILE_MS);
  expect([echo.received, caller.received, caller.ending, newcomer.ending]).toEqual(["a", "a", "open", "open"]);
  caller.say("c").socket.end();
  wire.resume();
  await caller.ended();
  await newcomer.hears("n");
  expect([caller.received, caller.ending]).toEqual(["abc", "end"]);
});

test("an end during a stall is heard of only after it", async () => {
  using echo = await Echo.start();
  await using wire = await Wire.to(echo.port);
  using caller = await Caller.call(wire.port);
  await caller.say("a").hears("a");
  wire.stall();
  caller.socket.end();
  await Bun.sleep(A_WHILE_MS);
  expect(caller.ending).toBe("open");
  wire.resume();
  await caller.ended();
  expect(caller.ending).toBe("end");
});

test("one direction may stall alone", async () => {
  using echo = await Echo.start();
  await using wire = await Wire.to(echo.port);
  using caller = await Caller.call(wire.port);
  wire.stall("down");
  caller.say("question");
  await Bun.sleep(A_WHILE_MS);
  expect([echo.received, caller.received, wire.bytes.down]).toEqual(["question", "", 0]);
  wire.resume("down");
  await caller.hears("question");
});

test("a delay is paid once each way, and keeps the order", async () => {
  using echo = await Echo.start();
  await using wire = await Wire.to(echo.port);
  using caller = await Caller.call(wire.port);
  wire.delay(100);
  const began = performance.now();
  for (let i = 0; i < 10; i++) {
    caller.say(`${i}`);
    await Bun.sleep(2);
  }
  await caller.hears("0");
  expect(performance.now() - began).toBeGreaterThanOrEqual(199);
  await caller.hears("9");
  expect(caller.received).toBe("0123456789");
  wire.delay(60_000, "up");
  wire.delay(0, "down");
  caller.say("x");
  await Bun.sleep(A_WHILE_MS);
  expect(echo.received).not.toContain("x");
});

test("what was under way when its sender left arrives all the same", async () => {
  using echo = await Echo.start();
  await using wire = await Wire.to(echo.port);
  using caller = await Caller.call(wire.port);
  wire.delay(100);
  caller.say("bye").socket.end();
  await caller.ended();
  expect([echo.received, caller.received]).toEqual(["bye", "bye"]);
});

test("a cut resets both sides and every newcomer, until it is mended", async () => {
  using echo = await Echo.start();
  await using wire = await Wire.to(echo.port);
  using caller = await Caller.call(wire.port);
  await caller.say("a").hears("a");
  wire.cut();
  await caller.ended();
  expect(caller.ending).toBe("reset");
  // Its reset may come before or with the news that it was connected.
  const newcomer = await Caller.call(wire.port).catch(() => undefined);
  await newcomer?.ended();
  while (echo.resets === 0) await Bun.sleep(5);
  expect([wire.refused, echo.connections, wire.open]).toEqual([1, 1, 0]);
  wire.stall();
  wire.mend();
  using later = await Caller.call(wire.port);
  await later.say("again").hears("again");
});

test("a cut ends stalled connections too", async () => {
  using echo = await Echo.start();
  await using wire = await Wire.to(echo.port);
  using caller = await Caller.call(wire.port);
  await caller.say("a").hears("a");
  wire.stall();
  wire.cut();
  await caller.ended();
  expect(caller.ending).toBe("reset");
});

test("a target that is not there resets the client", async () => {
  const echo = await Echo.start();
  await using wire = await Wire.to(echo.port);
  echo[Symbol.dispose]();
  const caller = await Caller.call(wire.port).catch(() => undefined);
  await caller?.ended();
  expect(wire.bytes).toEqual({ up: 0, down: 0 });
});
