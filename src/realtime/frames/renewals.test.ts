/** The frame `renew`: what a new token changes on an open connection, and that a refused one changes nothing. */
import { describe, expect, test } from "bun:test";
import type { ConnectOptions } from "../testing/kit.ts";
import { type Client, OTHER_SECRET_KEY, PUBLISHABLE_KEY, SECOND_KEY, SECRET_KEY, World } from "../testing/kit.ts";

const renew = (
  world: World,
  client: Client,
  options: ConnectOptions & { peerId?: string; seq?: number } = {},
): void => {
  const { peerId = client.connection.peerId } = options;
  client.request({ type: "renew", token: world.keys.token(peerId, options) });
};

/** Without the request ids. */
const codes = (client: Client): string[] => client.newFrames().map((one) => one.replace(/ r\d+$/, ""));

describe("a renewed token", () => {
  test("is answered with its effective expiry, and the old expiry passes without a close", () => {
    const world = new World();
    const ann = world.connect("ann", { expiresInMs: 2000 });
    renew(world, ann, { expiresInMs: 60_000 });
    const expiresAt = Math.floor(world.clock.wallMs() / 1000) + 60;
    expect(ann.take()).toEqual([{ type: "ack", requestId: "r1", expiresAt }]);
    world.advance(59_000);
    expect(ann.closeCode).toBeUndefined();
    world.advance(1000);
    expect(ann.closeCode).toBe(4002);
  });

  test("may also end earlier than the one before", () => {
    const world = new World();
    const ann = world.connect("ann", { expiresInMs: 60_000 });
    renew(world, ann, { expiresInMs: 5000 });
    world.advance(5000);
    expect(ann.closeCode).toBe(4002);
  });

  test("that is the same again changes nothing, 200 times", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const ann = world.join("ann", "c", { metadata: { name: "Ann" }, expiresInMs: 1000 });
    ben.take();
    for (let i = 0; i < 200; i++) {
      renew(world, ann, { metadata: { name: "Ann" }, expiresInMs: 2000 });
      world.advance(1000);
    }
    expect(new Set(codes(ann))).toEqual(new Set(["ack"]));
    expect([ben.newFrames(), ann.closeCode]).toEqual([[], undefined]);
  });

  test("that covers less ends subscriptions: an error for each before the ack, left for the others", () => {
    const world = new World();
    const [ann, ben] = [world.connect("ann"), world.connect("ben")];
    for (const channel of ["a/1", "a/2", "b/1"]) for (const one of [ann, ben]) one.subscribe(channel);
    world.advance(600);
    for (const one of [ann, ben]) one.take();
    renew(world, ben, { channels: ["b/*"] });
    const frames = ben.take();
    expect(frames.map(({ type, code }) => code ?? type)).toEqual([
      "channel_not_authorized",
      "channel_not_authorized",
      "ack",
    ]);
    expect(frames[0]?.channel).toBe("a/1");
    expect(frames[0]?.message).toBe('The token no longer allows subscribing to the channel "a/1".');
    world.advance(10);
    expect(ann.take().map((frame) => [frame.channel, frame.left])).toEqual([
      ["a/1", [{ peerId: "ben" }]],
      ["a/2", [{ peerId: "ben" }]],
    ]);
    for (const channel of ["a/1", "b/1"]) ben.publish(channel, 1);
    expect(codes(ben)).toEqual(["error channel_not_authorized", "ack"]);
  });

  test("that permits less takes the presence, and what was published to before is checked again", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c");
    ben.publish("c", 1);
    ann.take();
    renew(world, ben, { actions: ["subscribe"] });
    world.advance(10);
    expect(ann.newFrames()).toEqual(["left: ben"]);
    ben.publish("c", 2);
    expect(codes(ben)).toEqual(["ack", "ack", "error action_not_permitted"]);
    ann.publish("c", 3);
    expect(codes(ben)).toEqual(["message ann 3"]);
  });

  test("that covers and permits more counts at once", () => {
    const world = new World();
    const ann = world.connect("ann", { channels: ["a"], actions: ["subscribe"] });
    ann.subscribe("b");
    renew(world, ann);
    ann.subscribe("b");
    ann.publish("b", 1);
    expect(codes(ann)).toEqual(["error channel_not_authorized", "ack", "ack", "ack"]);
  });

  test("with other metadata shows the peer as joined again, before its next message", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c", { metadata: { n: 1 } });
    ann.take();
    renew(world, ben, { metadata: { n: 2 } });
    ben.publish("c", "hi");
    ben.send("ann", "you");
    expect(ann.newFrames()).toEqual(['joined: ben{"n":2}', 'message ben "hi"', 'direct ben "you"']);
    expect(ann.received.at(-1)?.fromMetadata).toEqual({ n: 2 });
    world.settle();
    expect(ann.newFrames()).toEqual([]);
    renew(world, ben);
    world.advance(10);
    expect(ann.newFrames()).toEqual(["joined: ben"]);
  });

  test("on an older connection does not change what the newest one shows", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const older = world.join("ben", "c", { metadata: { n: 1 } });
    const newer = world.join("ben", "c", { metadata: { n: 2 } });
    ann.take();
    renew(world, older, { metadata: { n: 3 } });
    world.settle();
    expect(ann.newFrames()).toEqual([]);
    newer.vanish();
    world.advance(10);
    expect(ann.newFrames()).toEqual(['joined: ben{"n":3}']);
  });

  test("with other metadata is seen on the other nodes", () => {
    const world = new World({ nodes: 2 });
    const ann = world.join("ann", "c", { node: 1 });
    const ben = world.join("ben", "c", { metadata: { n: 1 } });
    world.settle();
    ann.take();
    renew(world, ben, { metadata: { n: 2 } });
    world.settle();
    expect(ann.newFrames()).toEqual(['joined: ben{"n":2}']);
  });
});

describe("the key of a renewed token", () => {
  test("counts from then on: its revocation closes the connection, that of the one before does not", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const { connections } = world.node.hub;
    renew(world, ann, { key: SECOND_KEY });
    expect([connections.countOfKey(SECRET_KEY), connections.countOfKey(SECOND_KEY)]).toEqual([0, 1]);
    world.keys.editKey(SECRET_KEY, { revoked: 1 });
    expect(ann.closeCode).toBeUndefined();
    world.keys.editKey(SECOND_KEY, { revoked: 1 });
    expect(ann.closeCode).toBe(4001);
    expect([...connections.all()]).toEqual([]);
  });

  test("limits it when that key is edited", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    renew(world, ann, { key: SECOND_KEY });
    world.keys.editKey(SECRET_KEY, { channelPatterns: ["x"] });
    expect(codes(ann)).toEqual(["ack"]);
    world.keys.editKey(SECOND_KEY, { channelPatterns: ["x"] });
    expect(codes(ann)).toEqual(["error channel_not_authorized"]);
  });

  test("gives the grace of the secret that signed it, not that of the one before", () => {
    const world = new World();
    const ann = world.connect("ann", { expiresInMs: 60_000 });
    const ben = world.connect("ben", { expiresInMs: 60_000 });
    world.keys.rotate(SECRET_KEY, 5000);
    renew(world, ann, { expiresInMs: 60_000 });
    renew(world, ben, { expiresInMs: 60_000, seq: 1 });
    world.advance(6000);
    expect([ann.closeCode, ben.closeCode]).toEqual([undefined, 4002]);
    expect(codes(ben)).toEqual(["ack", "error token_expired"]);
  });
});

describe("a token that is refused leaves the connection as it was", () => {
  test.each<[string, string, (world: World) => unknown]>([
    ["garbage", "invalid_token", () => "x.y.z"],
    ["empty", "invalid_token", () => ""],
    ["no text", "malformed_message", () => 7],
    ["absent", "malformed_message", () => undefined],
    ["of another peer", "invalid_token", ({ keys }) => keys.token("ben")],
    ["of another application", "invalid_token", ({ keys }) => keys.token("ann", { key: OTHER_SECRET_KEY })],
    ["expired", "token_expired", ({ keys }) => keys.token("ann", { expiresInMs: -5000 })],
    [
      "beyond its key",
      "invalid_token",
      ({ keys }) => {
        keys.editKey(SECOND_KEY, { channelPatterns: ["c"] });
        return keys.token("ann", { key: SECOND_KEY, channels: ["d"] });
      },
    ],
    [
      "of a revoked key",
      "invalid_token",
      ({ keys }) => {
        const token = keys.token("ann", { key: SECOND_KEY });
        keys.editKey(SECOND_KEY, { revoked: 1 });
        return token;
      },
    ],
    [
      "of a retired secret",
      "token_expired",
      ({ keys }) => {
        const token = keys.token("ann", { key: SECOND_KEY });
        keys.rotate(SECOND_KEY, 0);
        return token;
      },
    ],
  ])("%s: %s", (_name, code, token) => {
    const world = new World();
    const ben = world.join("ben", "c");
    const ann = world.join("ann", "c", { metadata: { n: 1 }, expiresInMs: 20_000 });
    ben.take();
    ann.request({ type: "renew", token: token(world) });
    ann.publish("c", 1);
    expect(ann.newFrames()).toEqual([`error ${code} r2`, "ack r3"]);
    world.advance(19_000);
    expect([ann.closeCode, ben.newFrames()]).toEqual([undefined, ["message ann 1"]]);
    world.advance(1000);
    expect(ann.closeCode).toBe(4002);
  });

  test("a publishable key has no token to renew", () => {
    const world = new World();
    const ann = world.connect("ann", { key: PUBLISHABLE_KEY });
    renew(world, ann);
    expect(ann.take()).toMatchObject([{ code: "invalid_token", message: expect.stringContaining("publishable key") }]);
    expect(ann.closeCode).toBeUndefined();
  });

  test("an ack needs a request id, an error does not", () => {
    const world = new World();
    const ann = world.connect("ann");
    ann.text(JSON.stringify({ type: "renew", token: world.keys.token("ann") }));
    ann.text(JSON.stringify({ type: "renew", token: "x" }));
    expect(ann.newFrames()).toEqual(["error invalid_token"]);
  });
});
