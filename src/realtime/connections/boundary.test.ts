/** Exceptions planted in realtime: what they cost, and that everything else goes on. */
import { describe, expect, spyOn, test } from "bun:test";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type { Engine, Envelope, RemoteMembers } from "../../engine/engine.ts";
import { Faults } from "../../telemetry/faults.ts";
import { guardedClock } from "../../telemetry/guarded-clock.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { Usage } from "../counting/usage.ts";
import { type Client, leftovers, PUBLISHABLE_KEY, SECRET_KEY, turn, World, type WorldOptions } from "../testing/kit.ts";
import { slowly } from "../testing/late-engine.ts";
import { MemoryUsage, silentLog } from "../testing/stubs.ts";

interface Planted extends World {
  /** `<place> <message>` of every fault. */
  readonly faults: string[];
}

function plantedWorld(options: WorldOptions = {}): Planted {
  const faults: string[] = [];
  const caught = (where: string, error: unknown): void => void faults.push(`${where} ${(error as Error).message}`);
  return Object.assign(new World({ ...options, faults: { caught } }), { faults });
}

/** Makes a method throw whenever `fits` returns true. */
function plant<T extends object, K extends keyof T>(object: T, method: K, fits: (...args: never[]) => boolean): void {
  const real = object[method] as (...args: never[]) => unknown;
  const planted = function (this: T, ...args: never[]): unknown {
    if (fits(...args)) throw new Error("planted");
    return real.apply(this, args);
  };
  Object.assign(object, { [method]: planted });
}

const closeCodes = (...clients: Client[]): (number | undefined)[] => clients.map((client) => client.closeCode);

/** All clients leave, and the nodes remember none of them. */
function expectNothingLeft(world: World, ...clients: Client[]): void {
  for (const client of clients) client.vanish();
  expect(leftovers(world)).toEqual({});
}

describe("a fault in a socket event", () => {
  test("of a message closes that socket with 1011; the others stay open and see it leave", () => {
    const world = plantedWorld();
    const [ann, ben, cat] = ["ann", "ben", "cat"].map((id) => world.join(id, "room")) as [Client, Client, Client];
    for (const client of [ann, ben, cat]) client.take();
    plant(world.node.hub.delivery, "publish", (_app: string, _channel: string, { from }: Envelope) => from === "ann");
    ann.publish("room", 1);
    ben.publish("room", 2);
    world.advance(600);
    expect(closeCodes(ann, ben, cat)).toEqual([1011, undefined, undefined]);
    expect(ann.socket.closed?.reason).toBe("internal error");
    expect(cat.newFrames()).toEqual(["message ben 2", "left: ann"]);
    expect(world.faults).toEqual(["socket planted"]);
    expectNothingLeft(world, ben, cat);
  });

  test("of an open closes that socket with 1011 and leaves nothing behind", () => {
    const world = plantedWorld();
    const ann = world.join("ann", "room");
    plant(world.node.engine, "serve", () => true);
    const ben = world.connect("ben");
    expect(closeCodes(ann, ben)).toEqual([undefined, 1011]);
    expect(world.node.hub.connections.count).toBe(1);
    expectNothingLeft(world, ann);
  });

  test("of a pong or a drain closes that socket with 1011", () => {
    const world = plantedWorld();
    const [ann, ben] = [world.connect("ann"), world.connect("ben")];
    plant(world.node.hub.presence, "onPong", () => true);
    plant(world.node.hub.presence, "onDrained", () => true);
    ann.subscribe("room");
    world.advance(1);
    ben.socket.read();
    expect(closeCodes(ann, ben)).toEqual([1011, 1011]);
    expect(world.faults).toEqual(["socket planted", "socket planted"]);
    expectNothingLeft(world);
  });

  test("of a close leaves nothing of the connection behind, wherever it happens", () => {
    const methods = ["release", "counted", "announce", "unwatch"] as const satisfies (keyof Engine)[];
    for (const method of methods) {
      const world = plantedWorld({ nodes: 2 });
      const ann = world.join("ann", "room");
      let isArmed = true;
      plant(world.node.engine, method, () => isArmed);
      ann.vanish();
      world.advance(600);
      isArmed = false;
      expect(world.faults.length).toBeGreaterThan(0);
      // The engine goes on watching a channel if `unwatch` has failed.
      expect(leftovers(world)).toEqual(method === "unwatch" ? { watchers: 1 } : {});
      const ben = world.join("ben", "room");
      expect(ben.received.at(-1)).toMatchObject({ type: "presence", joined: [], snapshot: true });
    }
  });

  test("while a subscription ends resynchronises the channel, which might still show the member", async () => {
    const world = plantedWorld();
    const [ann, ben, cat] = [world.join("ann", "room"), world.join("ben", "room"), world.join("cat", "other")];
    const { presence } = world.node.hub;
    plant(presence, "onLeft", () => true);
    ann.unsubscribe("room");
    await turn();
    expect(closeCodes(ann, ben, cat)).toEqual([undefined, 1001, undefined]);
    expect(ann.newFrames().at(-1)).toBe("ack r2");
  });

  test("on one connection of a key that was narrowed leaves no other connection with the old permissions", () => {
    const world = plantedWorld();
    const [ann, ben] = [world.join("ann", "room"), world.join("ben", "room")];
    plant(ann.socket, "send", () => true);
    world.keys.editKey(SECRET_KEY, { channelPatterns: ["elsewhere"] });
    expect(closeCodes(ann, ben)).toEqual([1011, undefined]);
    expect(ben.newFrames()).toEqual(["error channel_not_authorized"]);
  });

  test("while a key is narrowed on one connection leaves no other connection with the old permissions", () => {
    const world = plantedWorld();
    const [ann, ben] = [world.join("ann", "room"), world.join("ben", "room")];
    ben.take();
    plant(ann.connection, "narrowTo", () => true);
    world.keys.editKey(SECRET_KEY, { channelPatterns: ["elsewhere"] });
    expect(closeCodes(ann, ben)).toEqual([1011, undefined]);
    expect(ben.newFrames()).toEqual(["error channel_not_authorized"]);
  });

  test("while the subscriptions of a narrowed key end does not end any of them twice", () => {
    const world = plantedWorld();
    const ann = world.connect("ann");
    for (const channel of ["bad", "worse", "good"]) ann.subscribe(channel);
    const ben = world.connect("ben", { key: PUBLISHABLE_KEY });
    for (const channel of ["bad", "worse"]) ben.subscribe(channel);
    const cat = world.join("cat", "good", { key: PUBLISHABLE_KEY });
    const { presence } = world.node.hub;
    plant(presence, "onLeft", ({ channel }: { channel: { name: string } }) => channel.name !== "good");
    // Ann leaves "bad": Ben is closed for it and leaves "worse": Ann is closed for that, while her subscriptions end.
    world.keys.editKey(SECRET_KEY, { channelPatterns: ["elsewhere"] });
    expect(closeCodes(ann, ben, cat)).toEqual([1001, 1001, undefined]);
    world.advance(600);
    cat.take();
    world.connect("dan", { key: PUBLISHABLE_KEY }).publish("good", 1);
    expect(cat.newFrames()).toEqual(["message dan 1"]);
  });

  test("of a drain that makes a channel tick resynchronises the channel, where others wait for their rosters", () => {
    const shown = { metadataJson: JSON.stringify("x".repeat(4000)), node: "far" };
    const far = Array.from({ length: 200 }, (_, i) => ({ ...shown, peerId: `far${i}`, since: i + 1 }));
    type Found = (members: RemoteMembers) => void;
    const world = plantedWorld({
      nodes: 2,
      engine: (engine) =>
        Object.assign(engine, { watch: (_a: string, _c: string, found: Found) => found(new Map([["far", far]])) }),
    });
    const ann = world.connect("ann");
    for (const channel of ["first", "second"]) ann.subscribe(channel);
    ann.socket.stalled = true;
    const ben = world.connect("ben").withholdPongs();
    world.advance(300);
    ben.subscribe("second");
    world.advance(300);
    plant(world.node.engine, "announce", (_app: string, channel: string) => channel === "second");
    ben.socket.pong();
    ann.socket.read();
    expect(closeCodes(ann, ben)).toEqual([1001, 1001]);
  });

  test("on one connection does not prevent a drain from closing the others", async () => {
    const world = plantedWorld();
    const [ann, ben] = [world.connect("ann"), world.connect("ben")];
    plant(ann.socket, "send", () => true);
    await world.node.gateway.drain(0);
    expect(closeCodes(ann, ben)).toEqual([1001, 1001]);
    expect(ben.newFrames()).toEqual(["going_away"]);
  });

  test("when the answer to a send comes from other nodes closes that socket with 1011", async () => {
    const world = plantedWorld({
      engine: (engine) => Object.assign(engine, { send: () => Promise.reject(new Error("planted")) }),
    });
    const [ann, ben] = [world.connect("ann"), world.connect("ben")];
    ann.send("ben", 1);
    await turn();
    expect(closeCodes(ann, ben)).toEqual([1011, undefined]);
    expect(world.faults).toEqual(["engine planted"]);
  });
});

describe("a fault in a timer", () => {
  test("of presence resynchronises that channel; the others keep ticking, and the name can be used again", async () => {
    const world = plantedWorld({ nodes: 2 });
    const [ann, ben, cat] = [world.join("ann", "bad"), world.join("ben", "bad"), world.join("cat", "good")];
    let isArmed = true;
    plant(world.node.engine, "announce", (_app: string, channel: string) => isArmed && channel === "bad");
    ben.unsubscribe("bad");
    const dan = world.join("dan", "good");
    await turn();
    expect(closeCodes(ann, ben, cat, dan)).toEqual([1001, undefined, undefined, undefined]);
    expect(cat.newFrames()).toEqual(["joined: dan"]);
    expect(world.faults).toContain("timer planted");
    isArmed = false;
    ben.subscribe("bad");
    world.advance(600);
    const eve = world.join("eve", "bad");
    expect(ben.newFrames().slice(-2)).toEqual(["roster:", "joined: eve"]);
    expect(eve.received.at(-1)).toMatchObject({ joined: [{ peerId: "ben" }] });
    expectNothingLeft(world, ben, cat, dan, eve);
  });

  test("of a roster that is overdue does the same", async () => {
    const world = plantedWorld();
    const bad = world.connect("ann", { pongAfterMs: undefined });
    const good = world.connect("ben", { pongAfterMs: undefined });
    plant(bad.socket, "send", (text: string) => text.includes('"snapshot"'));
    bad.subscribe("bad");
    good.subscribe("good");
    world.advance(600);
    await turn();
    expect(closeCodes(bad, good)).toEqual([1001, undefined]);
    expect(good.newFrames()).toEqual(["ack r1", "roster:"]);
    expect(world.faults).toEqual(["timer planted"]);
  });

  test("of a deadline closes that connection with 1011; the others expire on time, also later ones", () => {
    const world = plantedWorld();
    const [ann, ben, cat] = [10_000, 10_000, 20_000].map((expiresInMs, i) =>
      world.connect(`p${i}`, { expiresInMs }),
    ) as [Client, Client, Client];
    plant(world.node.hub.connections, "expire", (connection: unknown) => connection === ann.connection);
    world.advance(10_000);
    expect(closeCodes(ann, ben, cat)).toEqual([1011, 4002, undefined]);
    world.advance(10_000);
    expect(closeCodes(cat)).toEqual([4002]);
    expect(world.faults).toEqual(["timer planted"]);
    expectNothingLeft(world);
  });

  test("of a liveness ping closes that connection with 1011; the others are still pinged", () => {
    const world = plantedWorld();
    const [ann, ben] = [world.connect("ann"), world.connect("ben")];
    plant(ann.socket, "ping", () => true);
    world.advance(31_000);
    expect(closeCodes(ann, ben)).toEqual([1011, undefined]);
    world.advance(30_000);
    expect(ben.socket.pings.length).toBe(2);
  });

  test("of a flush of usage does not prevent the next one", async () => {
    const fake = new FakeClock();
    const metrics = new Metrics();
    const clock = guardedClock(fake, new Faults(silentLog, metrics));
    const rows = new MemoryUsage();
    const usage = new Usage(rows.store, clock, silentLog);
    await usage.load();
    usage.message(anAppId("app"));
    const current = spyOn(usage, "current").mockImplementationOnce(() => {
      throw new Error("planted");
    });
    for (let i = 0; i < 3; i++) {
      fake.advance(5000);
      await turn();
    }
    expect([current.mock.calls.length, rows.writes]).toEqual([3, 1]);
    expect(metrics.text()).toContain('parley_faults_total{where="timer"} 1');
    await usage.stop();
  });
});

describe("a fault in what the engine calls", () => {
  const worldOfTwo = (): { world: Planted; ann: Client; ben: Client; cat: Client } => {
    const world = plantedWorld({ nodes: 2 });
    const ann = world.join("ann", "bad", { node: 0 });
    const ben = world.join("ben", "bad", { node: 1 });
    const cat = world.join("cat", "good", { node: 1 });
    for (const client of [ann, ben, cat]) client.take();
    return { world, ann, ben, cat };
  };

  test("to deliver a message resynchronises that channel on this node alone", async () => {
    const { world, ann, ben, cat } = worldOfTwo();
    plant(world.nodeAt(1).hub.delivery, "deliver", (channel: { name: string }) => channel.name === "bad");
    ann.publish("bad", 1);
    ann.publish("good", 2);
    world.advance(600);
    await turn();
    expect(closeCodes(ann, ben, cat)).toEqual([undefined, 1001, undefined]);
    expect(ann.newFrames()).toEqual(["ack r2", "ack r3", "left: ben"]);
    expect(cat.newFrames()).toEqual(["message ann 2"]);
    expect(world.faults).toEqual(["engine planted"]);
    expectNothingLeft(world, ann, cat);
  });

  test("to announce members resynchronises that channel", async () => {
    const { world, ann, ben, cat } = worldOfTwo();
    const { presence } = world.nodeAt(1).hub;
    plant(presence, "onRemoteChanged", (_node: string, channel: { name: string }) => channel.name === "bad");
    const dan = world.join("dan", "bad", { node: 0 });
    await turn();
    expect(closeCodes(ann, ben, cat, dan)).toEqual([undefined, 1001, undefined, undefined]);
    expect(ann.newFrames()).toEqual(["joined: dan left: ben"]);
    expect(new Set(world.faults)).toEqual(new Set(["engine planted"]));
  });

  test("to deliver a direct message closes its receiver, which may have missed it", () => {
    const { world, ann, ben, cat } = worldOfTwo();
    plant(world.nodeAt(1).hub.directs, "deliverTo", () => true);
    ann.send("ben", 1);
    world.advance(600);
    expect(closeCodes(ann, ben, cat)).toEqual([undefined, 1011, undefined]);
    expect(world.faults).toEqual(["engine planted"]);
  });

  test("when a node is gone costs one channel; its members leave the others", async () => {
    const { world, ann, ben, cat } = worldOfTwo();
    const dan = world.join("dan", "good", { node: 0 });
    for (const client of [cat, dan]) client.take();
    const { presence } = world.nodeAt(1).hub;
    plant(presence, "onNodeGone", (_node: string, channel: { name: string }) => channel.name === "bad");
    world.kill(0);
    world.settle();
    await turn();
    expect(closeCodes(ben, cat)).toEqual([1001, undefined]);
    expect(cat.newFrames()).toEqual(["left: dan"]);
    expect([ann, dan].every((client) => client.closeCode === 1006)).toBe(true);
  });

  test("when it answers with the members of a new channel ends the subscription that waits for it, at once or later", async () => {
    for (const answerMs of [0, 50]) {
      const world = plantedWorld({
        nodes: 2,
        ...(answerMs > 0 && { engine: (engine, clock) => slowly(engine, clock, answerMs) }),
      });
      world.join("ann", "bad", { node: 0 });
      const ben = world.connect("ben", { node: 1 });
      const cat = world.connect("cat", { node: 1 });
      const { presence } = world.nodeAt(1).hub;
      plant(presence, "onRemoteChanged", (_node: string, channel: { name: string }) => channel.name === "bad");
      ben.subscribe("bad");
      world.settle();
      await turn();
      expect([1001, 1011]).toContain(ben.closeCode as number);
      expect(cat.closeCode).toBeUndefined();
      expect(ben.newFrames()).toEqual([]);
    }
  });
});
