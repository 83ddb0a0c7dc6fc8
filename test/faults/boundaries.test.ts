/** Exceptions planted in a running node: each costs one connection or one channel, and is logged and counted. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { SignallingClient } from "@metered-ca/realtime";
import { metricChanges } from "../conformance/raw/support/metrics.ts";
import { join, startWorld, type World } from "../conformance/raw/support/world.ts";
import { PLANTED, PLANTING } from "./support/planted.ts";

setDefaultTimeout(60_000);

let world: World;
beforeAll(async () => {
  world = await startWorld({ env: { ...PLANTING, PARLEY_DRAIN_SECONDS: "1" } });
});
afterAll(() => world.stop());

const faults = (where: string): string => `parley_faults_total{where="${where}"}`;
const causeIs =
  (message: string) =>
  ({ level, err }: { level: string; err?: unknown }): boolean =>
    level === "error" && (err as { message?: string } | undefined)?.message === message;

test("an exception in a socket event closes that socket with 1011; other sockets are not affected", async () => {
  const [victim, ann, ben] = [await world.member("room"), await world.member("room"), await world.member("room")];
  const by = await metricChanges(world.server, async () => {
    victim.wire.send({ type: "publish", channel: "room", data: PLANTED.message });
    expect(await victim.wire.closed()).toMatchObject({ code: 1011, reason: "internal error" });
  });
  expect([by(faults("socket")), by('parley_closes_total{code="1011"}')]).toEqual([1, 1]);
  const left = await ann.wire.until("presence", (frame) => frame.left.length > 0);
  expect(left.left).toMatchObject([{ peerId: victim.peerId }]);
  expect(await ben.wire.request({ type: "publish", channel: "room", data: 1 })).toMatchObject({ type: "ack" });
  expect(await ann.wire.until("message")).toMatchObject({ from: ben.peerId, data: 1 });
  const line = await world.server.logged(causeIs(PLANTED.message));
  expect(line).toMatchObject({
    where: "socket",
    event: "message",
    err: { stack: expect.stringContaining("planted.ts") },
  });
});

test("an SDK client reconnects by itself after a 1011", async () => {
  const client = new SignallingClient({
    url: world.url.replace("http", "ws"),
    tokenProvider: async () => world.token({ sub: "sdk" }),
  });
  const back = Promise.withResolvers<void>();
  let connects = 0;
  client.on("connected", () => {
    if (++connects === 2) back.resolve();
  });
  await client.connect();
  await client.publish("room", PLANTED.message).catch(() => undefined);
  await back.promise;
  await client.close();
});

test("an exception in a timer resynchronises that channel; other channels are not affected", async () => {
  const [victim, ann] = [await world.guest(), await world.member("room")];
  const by = await metricChanges(world.server, async () => {
    await victim.wire.request({ type: "subscribe", channel: PLANTED.tick });
    expect(await victim.wire.closed()).toMatchObject({ code: 1001, reason: "resynchronise" });
  });
  // On a busy machine a second tick may find the channel before it is out of use.
  expect(by(faults("timer"))).toBeGreaterThanOrEqual(1);
  expect(world.server.log.filter((line) => line.where === "timer" && !causeIs(PLANTED.tick)(line))).toEqual([]);
  const ben = await world.member("room");
  expect(await ann.wire.until("presence", ({ joined }) => joined.length > 0)).toMatchObject({
    joined: [{ peerId: ben.peerId }],
  });
  expect(await world.server.logged(causeIs(PLANTED.tick))).toMatchObject({ where: "timer" });
});

test("repeated uncaught exceptions drain the node, which exits with 1", async () => {
  const [victim, ann] = [await world.guest(), await world.guest()];
  await join(ann.wire, "room");
  victim.wire.send({ type: "ping", requestId: PLANTED.uncaught });
  await ann.wire.until("going_away");
  expect(await ann.wire.closed()).toMatchObject({ code: 1001 });
  expect(await world.server.exited).toBe(1);
  const fatal = world.server.log.filter(({ level }) => level === "fatal");
  expect(fatal[0]).toMatchObject({ err: { message: PLANTED.uncaught } });
  expect(fatal.length).toBeLessThanOrEqual(10);
  expect(world.server.log.at(-1)).toMatchObject({ msg: "stopped" });
});
