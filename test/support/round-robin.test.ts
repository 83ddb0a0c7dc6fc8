import { expect, test } from "bun:test";
import { Caller, Echo } from "./echo.ts";
import { RoundRobin } from "./round-robin.ts";
import { until } from "./wait.ts";

test("connections take turns, and the log says which went where", async () => {
  using a = await Echo.start("a:");
  using b = await Echo.start("b:");
  using c = await Echo.start("c:");
  await using balancer = await RoundRobin.over(a.port, b.port, c.port);
  const heard: string[] = [];
  for (let i = 0; i < 6; i++) {
    using caller = await Caller.call(balancer.port);
    await caller.say("hi").hears("hi");
    heard.push(caller.received);
  }
  expect(heard).toEqual(["a:hi", "b:hi", "c:hi", "a:hi", "b:hi", "c:hi"]);
  expect(balancer.log.map(({ number, target }) => [number, target])).toEqual(
    [a, b, c, a, b, c].map(({ port }, at) => [at + 1, port]),
  );
  expect([...balancer.shares.values()]).toEqual([2, 2, 2]);
});

test("requests on one HTTP connection stay on one target", async () => {
  const serve = (name: string) => Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(name) });
  using a = serve("a");
  using b = serve("b");
  await using balancer = await RoundRobin.over(a.port ?? 0, b.port ?? 0);
  using caller = await Caller.call(balancer.port);
  const ask = async (times: number): Promise<void> => {
    caller.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await caller.until(({ received }) => received.split("\r\n\r\na").length === times + 1);
  };
  await ask(1);
  await ask(2);
  expect(balancer.log).toHaveLength(1);
});

test("a target that refuses connections is skipped and logged; when all refuse, the client is reset", async () => {
  const gone = await Echo.start();
  gone[Symbol.dispose]();
  using there = await Echo.start();
  await using balancer = await RoundRobin.over(gone.port, there.port);
  using caller = await Caller.call(balancer.port);
  await caller.say("x").hears("x");
  expect(balancer.log).toEqual([{ number: 1, target: there.port, passedOver: [gone.port] }]);
  balancer.use(gone.port);
  const unlucky = await Caller.call(balancer.port).catch(() => undefined);
  await unlucky?.ended();
  await caller.say("y").hears("xy");
  expect(balancer.log).toHaveLength(1);
});

test("an end and a reset pass", async () => {
  using echo = await Echo.start();
  await using balancer = await RoundRobin.over(echo.port);
  using polite = await Caller.call(balancer.port);
  polite.say("bye").socket.end();
  await polite.ended();
  expect([polite.ending, polite.received]).toEqual(["end", "bye"]);
  using rude = await Caller.call(balancer.port);
  await rude.say("x").hears("x");
  rude.socket.resetAndDestroy();
  await until("a reset", () => echo.resets > 0);
});
