/** What a listener such as the live tail is shown. */
import { describe, expect, test } from "bun:test";
import { signToken } from "../../access/tokens/token.ts";
import { KICKED } from "../../protocol/close.ts";
import { Problem } from "../../protocol/codes.ts";
import { Traffic } from "../../telemetry/traffic.ts";
import type { SocketData } from "../frames/socket-handlers.ts";
import { Heard } from "../testing/heard.ts";
import {
  APP,
  OTHER_KEY,
  PUBLISHABLE_KEY,
  SECOND_KEY,
  SECRET_KEY,
  turn,
  World,
  type WorldOptions,
} from "../testing/kit.ts";
import { Emitter } from "./emitter.ts";
import type { RealtimeListener } from "./events.ts";
import { Refusals } from "./refusals.ts";

function heardWorld(options?: WorldOptions): { world: World; heard: Heard } {
  const world = new World(options);
  const heard = new Heard();
  world.node.hub.events.listener = heard;
  return { world, heard };
}

describe("a connection is reported", () => {
  test("from its connect to its close, with subscribes, messages and presence in between", () => {
    const { world, heard } = heardWorld();
    const ann = world.connect("ann");
    ann.subscribe("c");
    ann.subscribe("c");
    const ben = world.join("ben", "c");
    expect(heard.take()).toEqual([
      `connect ann ${SECRET_KEY} 127.0.0.1`,
      "subscribe ann c",
      `connect ben ${SECRET_KEY} 127.0.0.1`,
      "subscribe ben c",
      "presence app c ann joined",
      "presence app c ben joined",
    ]);
    ann.publish("c", { n: 1 });
    ben.send("ann", [2]);
    ben.unsubscribe("c");
    ben.unsubscribe("c");
    world.settle();
    expect(heard.take()).toEqual([
      'publish app c ann {"n":1} socket',
      "send app ann ben [2] socket",
      "unsubscribe ben c",
      "presence app c ben left",
    ]);
    ben.vanish();
    // Its subscriptions end with it, without an event each.
    world.node.hub.connections.close(ann.connection, KICKED);
    expect(heard.take()).toEqual(["close ben 1006", "close ann 4020"]);
  });

  test("when its token is renewed, with the key that signed the new one, and not when that is refused", () => {
    const { world, heard } = heardWorld();
    const ann = world.join("ann", "c");
    heard.take();
    ann.request({ type: "renew", token: world.keys.token("ann", { key: SECOND_KEY, channels: [] }) });
    ann.request({ type: "renew", token: world.keys.token("ben") });
    expect(heard.take()).toEqual([
      `renew ann ${SECOND_KEY}`,
      "unsubscribe ann c",
      "error ann channel_not_authorized c",
      "error ann invalid_token",
    ]);
  });

  test("as a member where its connections are, once, and not again for new metadata", () => {
    const world = new World({ nodes: 3 });
    const heard = world.nodes.map(({ hub }) => {
      const one = new Heard();
      hub.events.listener = one;
      return one;
    });
    const presence = (): string[][] => heard.map((one) => one.take().filter((line) => line.startsWith("presence")));
    for (const node of [0, 1, 2]) world.connect(`w${node}`, { node }).subscribe("c");
    world.settle();
    expect(presence()).toEqual([0, 1, 2].map((node) => [`presence app c w${node} joined`]));
    const ann = world.connect("ann", { node: 1, metadata: 1 });
    ann.subscribe("c");
    world.settle();
    expect(presence()).toEqual([[], ["presence app c ann joined"], []]);
    const returned = world.connect("ann", { node: 1, metadata: 2 });
    returned.subscribe("c");
    world.settle();
    expect(presence()).toEqual([[], [], []]);
    for (const one of [ann, returned]) one.vanish();
    world.settle();
    expect(presence()).toEqual([[], ["presence app c ann left"], []]);
    world.kill(1);
    world.settle();
    // Every node that is left reports what the one that is gone cannot.
    expect(presence()).toEqual([["presence app c w1 left"], [], ["presence app c w1 left"]]);
  });

  test("with an id of its own and the address of its client", () => {
    const { world } = heardWorld();
    const [one, two] = [world.connect("ann").connection, world.connect("ann").connection];
    expect(one.id).not.toBe(two.id);
    expect(one.id).toMatch(/^[0-9a-z]{1,7}-[0-9a-z]+$/);
    expect(one.id).toBe(one.id);
    expect(one.address).toBe("127.0.0.1");
    const { hub } = world.node;
    const from = (client: readonly number[]): string =>
      hub.connections.connect(world.keys.grant("cat"), one.socket, client).address;
    expect(from([203, 0, 113, 255])).toBe("203.0.113.255");
    expect(from([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7])).toBe("2001:db8::7");
  });
});

test("messages of REST are reported without a connection, refused ones not at all", async () => {
  const { world, heard } = heardWorld();
  world.join("ann", "c");
  heard.take();
  const { delivery, directs } = world.node.hub;
  const envelope = { from: "server", metadataJson: undefined, dataJson: "1" };
  delivery.publish(APP, "c", envelope);
  await directs.send(APP, "ann", envelope);
  await directs.send(APP, "away", envelope);
  world.keys.editApp({ maxMessagesPerPeriod: 2 });
  delivery.publish(APP, "c", envelope);
  expect(heard.take()).toEqual(["publish app c server 1 rest", "send app ann server 1 rest"]);
});

test("a direct message is reported once it has reached a connection on another node", async () => {
  let reached = 1;
  const { world, heard } = heardWorld({ engine: (engine) => Object.assign(engine, { send: async () => reached }) });
  const ann = world.connect("ann");
  heard.take();
  ann.send("far", 1);
  expect(heard.take()).toEqual([]);
  await turn();
  expect(heard.take()).toEqual(["send app far ann 1 socket"]);
  reached = 0;
  ann.send("far", 1);
  await turn();
  expect(heard.take()).toEqual(["error ann peer_not_found"]);
});

describe("an error frame is reported", () => {
  test("with the channel if it has a valid name", () => {
    const { world, heard } = heardWorld();
    const ann = world.connect("ann", { channels: ["c"] });
    heard.take();
    ann.subscribe("other");
    ann.request({ type: "publish", channel: "c" });
    ann.request({ type: "publish", channel: "*" });
    ann.text("{");
    expect(heard.take()).toEqual([
      "error ann channel_not_authorized other",
      "error ann missing_data c",
      "error ann invalid_channel",
      "error ann malformed_message",
    ]);
  });

  test("if a change of the key ends a subscription, or the connection", () => {
    const { world, heard } = heardWorld();
    world.join("ann", "c");
    heard.take();
    world.keys.editKey(SECRET_KEY, { channelPatterns: ["d"] });
    expect(heard.take()).toEqual(["unsubscribe ann c", "error ann channel_not_authorized c"]);
    world.keys.rotate(SECRET_KEY, 1000);
    world.advance(1500);
    expect(heard.take()).toContain("error ann token_expired");
  });
});

describe("a refused connect is reported", () => {
  const refusal = (world: World, query: string, origin: string | null = null): void => {
    const client = [203, 0, 113, 7];
    const upgrade = (): boolean => true;
    try {
      void world.node.gateway.connect({ query, origin, client, wantsWebSocket: true, version: "13", upgrade });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
  };
  const tokenOf = (world: World, claims: { sub: string; exp: number; channels?: string[] }): string => {
    const key = world.keys.keyring.key(SECRET_KEY);
    const secret = key?.type === "secret" ? key.secrets[0] : undefined;
    if (!secret) throw new Error("there is no secret");
    return signToken(claims, SECRET_KEY, secret);
  };

  test("with what the checks before had found out", () => {
    const { world, heard } = heardWorld();
    const nowSeconds = Math.floor(world.clock.wallMs() / 1000);
    world.keys.editKey(OTHER_KEY, { allowedOrigins: ["https://own.example"] });
    refusal(world, "key=pk_live_none");
    refusal(world, `key=${OTHER_KEY}`, "https://elsewhere.example");
    refusal(world, `token=${tokenOf(world, { sub: "ann", exp: nowSeconds - 5 })}`);
    // Its signature is not good: anyone could have written that name.
    refusal(world, `token=${tokenOf(world, { sub: "ann", exp: nowSeconds + 60 }).slice(0, -4)}AAAA`);
    expect(heard.take()).toEqual([
      "refuse unauthorized - - - 203.0.113.7",
      `refuse origin_not_allowed other ${OTHER_KEY} - 203.0.113.7`,
      `refuse token_expired app ${SECRET_KEY} ann 203.0.113.7`,
      `refuse invalid_token app ${SECRET_KEY} - 203.0.113.7`,
    ]);
  });

  test("with a revoked key, or a token that it signed, for the application of the key", () => {
    const { world, heard } = heardWorld();
    const token = tokenOf(world, { sub: "ann", exp: Math.floor(world.clock.wallMs() / 1000) + 60 });
    for (const key of [PUBLISHABLE_KEY, SECRET_KEY]) world.keys.editKey(key, { revoked: 1 });
    refusal(world, `key=${PUBLISHABLE_KEY}`);
    refusal(world, `token=${token}`);
    expect(heard.take()).toEqual([
      `refuse key_revoked app ${PUBLISHABLE_KEY} - 203.0.113.7`,
      `refuse key_revoked app ${SECRET_KEY} - 203.0.113.7`,
    ]);
  });

  test("with a revoked key, which is counted; an outage that prevents the check is not its fault", () => {
    const { recorder, events } = new World().node.hub;
    const [traffic, refusals] = [new Traffic(), new Refusals(() => 0)];
    const emitter = new Emitter({ events, recorder, refusals, traffic, faults: { caught: () => undefined } });
    const known = { app: APP, keyId: PUBLISHABLE_KEY, isRevoked: true } as const;
    for (const code of ["unauthorized", "invalid_token", "internal_error"] as const)
      emitter.refused(code, known, [127, 0, 0, 1]);
    expect([...traffic.of(APP).refusals]).toEqual([
      ["key_revoked", 2],
      ["internal_error", 1],
    ]);
    expect([...traffic.unknown.refusals]).toEqual([]);
    expect(traffic.keys.known(PUBLISHABLE_KEY)?.refusedInAll).toBe(3);
  });

  test("a blocked peer", async () => {
    const { world, heard } = heardWorld();
    await world.node.hub.kicks.kick(APP, "ann", world.clock.wallMs() + 60_000);
    refusal(world, `token=${tokenOf(world, { sub: "ann", exp: Math.floor(world.clock.wallMs() / 1000) + 60 })}`);
    expect(heard.take()).toEqual([`refuse unauthorized app ${SECRET_KEY} ann 203.0.113.7`]);
  });

  test("one over the plan's cap, which is closed after its handshake", () => {
    const { world, heard } = heardWorld();
    world.keys.editApp({ maxConcurrentConnections: 1 });
    world.connect("ann");
    heard.take();
    const upgraded: SocketData[] = [];
    void world.node.gateway.connect({
      query: `key=${PUBLISHABLE_KEY}`,
      origin: null,
      client: [203, 0, 113, 7],
      wantsWebSocket: true,
      version: "13",
      upgrade: (data) => upgraded.push(data) > 0,
    });
    const closed: number[] = [];
    const socket = { data: upgraded[0], close: (code: number) => closed.push(code) };
    world.node.handlers.open?.(socket as never);
    expect(closed).toEqual([4010]);
    expect(heard.take()).toEqual([
      expect.stringMatching(/^refuse over_concurrent app pk_live_1 [0-9a-f-]{36} 203\.0\.113\.7$/),
    ]);
  });
});

test("a listener that throws harms no connection", () => {
  const faults: unknown[] = [];
  const world = new World({ faults: { caught: (_where, error) => void faults.push(error) } });
  const failing = (): never => {
    throw new Error("the listener fails");
  };
  world.node.hub.events.listener = Object.fromEntries(
    ["connected", "refused", "subscribed", "unsubscribed", "published", "sent", "presence", "failed", "closed"].map(
      (name) => [name, failing],
    ),
  ) as unknown as RealtimeListener;
  const ann = world.join("ann", "c");
  const ben = world.join("ben", "c");
  ann.publish("c", 1);
  ann.send("ben", 2);
  ann.text("{");
  ann.unsubscribe("c");
  world.settle();
  expect(ben.newFrames()).toEqual(["message ann 1", "direct ann 2", "left: ann"]);
  expect(ann.closeCode).toBeUndefined();
  ann.vanish();
  expect(world.node.hub.connections.count).toBe(1);
  // 2 connects, 2 subscribes, 2 joins, a publish, a send, an error, an unsubscribe, a leave, a close.
  expect(faults).toHaveLength(12);
});
