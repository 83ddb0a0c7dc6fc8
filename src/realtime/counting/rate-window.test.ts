/** Rates and counters of connections, channels and applications. */
import { describe, expect, test } from "bun:test";
import type { AppId } from "../../base/ids.ts";
import { SAMPLE_EVERY_MS } from "../../telemetry/series.ts";
import { APP, type Client, World } from "../testing/kit.ts";

class Sampled {
  readonly world = new World();
  readonly hub = this.world.node.hub;

  constructor() {
    this.hub.sampling.start();
  }

  now(): number {
    return this.world.clock.monotonicMs();
  }

  frames({ connection }: Client): number {
    return connection.framesPerSec(this.now());
  }

  channel(name: string): [number, number] {
    const channel = this.hub.spaces.channel(APP, name);
    if (!channel) throw new Error("there is no such channel");
    return [channel.ratePerSec(this.now()), channel.bytesPerSec(this.now())];
  }
}

describe("the rate of a connection", () => {
  test("follows its frames, and is zero after two windows of silence", () => {
    const sampled = new Sampled();
    const { world } = sampled;
    const ann = world.connect("ann");
    expect(sampled.frames(ann)).toBe(0);
    for (let i = 0; i < 200; i++) {
      ann.publish("c", i);
      world.advance(100);
    }
    expect(sampled.frames(ann)).toBeCloseTo(10, 0);
    world.advance(SAMPLE_EVERY_MS / 2);
    expect(sampled.frames(ann)).toBeCloseTo(5, 0);
    world.advance(SAMPLE_EVERY_MS);
    expect(sampled.frames(ann)).toBe(0);
    ann.publish("c", 1);
    expect(sampled.frames(ann)).toBeCloseTo(1000 / SAMPLE_EVERY_MS);
  });

  test("stays right when the windows advance late", () => {
    const { world, hub } = new Sampled();
    const ann = world.connect("ann");
    for (let i = 0; i < 100; i++) ann.publish("c", i);
    const late = world.clock.monotonicMs() + 4 * SAMPLE_EVERY_MS;
    expect(ann.connection.framesPerSec(late)).toBeCloseTo(100_000 / (4 * SAMPLE_EVERY_MS), 1);
    expect(ann.connection.framesPerSec(world.clock.monotonicMs() - 3_600_000)).toBeGreaterThanOrEqual(0);
    expect(hub.rateWindow.number).toBe(1);
  });
});

test("the rate of a channel counts each message once, of connections and of REST", () => {
  const sampled = new Sampled();
  const { world, hub } = sampled;
  const ann = world.join("ann", "c");
  for (const peer of ["ben", "cat"]) world.join(peer, "c");
  const [text] = [{ from: "server", metadataJson: undefined, dataJson: '"1234567890"' }];
  for (let i = 0; i < 50; i++) {
    ann.publish("c", "1234567890");
    hub.delivery.publish(APP, "c", text);
    world.advance(200);
  }
  const [messages, bytes] = sampled.channel("c");
  expect(messages).toBeCloseTo(10, 0);
  const frame = '{"type":"message","channel":"c","from":"ann","data":"1234567890"}'.length;
  expect(bytes / messages).toBeGreaterThan(frame - 10);
  expect(bytes / messages).toBeLessThan(frame + 10);
  world.advance(2 * SAMPLE_EVERY_MS);
  expect(sampled.channel("c")).toEqual([0, 0]);
});

test("the counters of an application are in the series of the node", () => {
  const { world, hub } = new Sampled();
  const ann = world.join("ann", "c");
  world.join("ben", "c");
  for (let i = 0; i < 10; i++) ann.publish("c", i);
  ann.send("ben", 1);
  ann.text("{");
  hub.emitter.refused("token_expired", { app: APP }, [127, 0, 0, 1]);
  const { traffic } = world.node.metrics;
  const { connections, connects, messages, deliveries, errors, refusals, latency } = traffic.of(APP);
  expect([connections, connects, messages, deliveries, errors]).toEqual([2, 2, 11, 11, 1]);
  expect([[...refusals], latency.count]).toEqual([[["token_expired", 1]], 10]);
  expect(traffic.of(APP).bytesOut).toBeGreaterThan(11 * '{"type":"direct","from":"ann","data":1}'.length);
  world.advance(SAMPLE_EVERY_MS);
  const last = (metric: "messages" | "connections", app?: AppId): unknown =>
    hub.sampling.series.values(metric, "15m", { app }).values.at(-1);
  expect([last("connections"), last("connections", APP)]).toEqual([2, 2]);
  expect(last("messages", APP)).toBe(last("messages"));
  expect(last("messages")).toBeGreaterThan(0);
  ann.vanish();
  expect(traffic.of(APP).connections).toBe(1);
});

test("the counters of an application go on when it has had no connection for a while", () => {
  const { world, hub } = new Sampled();
  world.connect("ann").vanish();
  hub.delivery.publish(APP, "c", { from: "server", metadataJson: undefined, dataJson: "1" });
  world.connect("ann");
  const { connects, connections, messages } = world.node.metrics.traffic.of(APP);
  expect([connects, connections, messages]).toEqual([2, 1, 1]);
});
