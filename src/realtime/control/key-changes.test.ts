/** Edits of keys: what they end, and how, when very many subscriptions are affected. */
import { describe, expect, spyOn, test } from "bun:test";
import { Scope } from "../../protocol/patterns/scope.ts";
import { type Client, leftovers, PUBLISHABLE_KEY, SECRET_KEY, World } from "../testing/kit.ts";

describe("a key that is changed", () => {
  test("and is revoked ends its connections with 4001, and no others", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c", { key: PUBLISHABLE_KEY });
    ann.take();
    world.keys.editKey(PUBLISHABLE_KEY, { revoked: 1 });
    world.advance(10);
    expect([ben.closeCode, ann.closeCode, ann.newFrames()]).toEqual([4001, undefined, ["left: ben"]]);
  });

  test("and covers less ends the subscriptions it no longer covers: an error for each, left for the others", () => {
    const world = new World();
    const ann = world.connect("ann");
    const ben = world.connect("ben", { key: PUBLISHABLE_KEY });
    for (const channel of ["a/1", "a/2", "b/1"]) for (const one of [ann, ben]) one.subscribe(channel);
    world.advance(600);
    for (const one of [ann, ben]) one.take();
    world.keys.editKey(PUBLISHABLE_KEY, { channelPatterns: ["b/*"] });
    expect(ben.newFrames()).toEqual(["error channel_not_authorized", "error channel_not_authorized"]);
    world.advance(10);
    expect(ann.take().map((frame) => [frame.channel, frame.left])).toEqual([
      ["a/1", [{ peerId: "ben" }]],
      ["a/2", [{ peerId: "ben" }]],
    ]);
    for (const channel of ["a/1", "b/1"]) ann.publish(channel, 1);
    expect(ben.take().map((frame) => frame.channel)).toEqual(["b/1"]);
    ben.subscribe("a/1");
    ben.publish("a/2", 1);
    expect(ben.newFrames().map((one) => one.replace(/ r\d+$/, ""))).toEqual(
      new Array(2).fill("error channel_not_authorized"),
    );
    expect(ben.closeCode).toBeUndefined();
  });

  test("and loses the subscribe action ends every subscription, with an error for each", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c", { key: PUBLISHABLE_KEY });
    ann.take();
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "presence", "send"] });
    world.advance(10);
    expect(ann.newFrames()).toEqual(["left: ben"]);
    expect(ben.newFrames()).toEqual(["error channel_not_authorized"]);
    ann.publish("c", 1);
    ben.publish("c", 2);
    expect([ben.newFrames(), ann.newFrames()]).toEqual([["ack r2"], ["ack r2", "message ben 2"]]);
  });

  test("and covers more gives a token no more than its claims", () => {
    const world = new World();
    world.keys.editKey(SECRET_KEY, { channelPatterns: ["a/*", "b/*"], actions: ["subscribe"] });
    const ann = world.connect("ann", { channels: ["a/*"], actions: ["subscribe"] });
    const key = world.connect("ben");
    world.keys.editKey(SECRET_KEY, { channelPatterns: ["**"], actions: ["subscribe", "publish"] });
    for (const one of [ann, key]) {
      one.subscribe("c/1");
      one.publish("a/1", 1);
    }
    expect(ann.newFrames()).toEqual(["error channel_not_authorized r1", "error action_not_permitted r2"]);
    expect(key.newFrames()).toEqual(["ack r1", "ack r2"]);
  });

  test("and only changes its label ends nothing", () => {
    const world = new World();
    const ben = world.join("ben", "c", { key: PUBLISHABLE_KEY });
    const ann = world.join("ann", "c");
    world.keys.editKey(PUBLISHABLE_KEY, {});
    world.keys.editKey(SECRET_KEY, {});
    world.advance(600);
    expect([ann.newFrames(), ben.newFrames()]).toEqual([[], ["joined: ann"]]);
  });
});

const CHANNELS = Array.from({ length: 100 }, (_, i) => `room/${i}`);

/** This many connections, each in a hundred channels. */
function crowd(connections: number): { world: World; clients: Client[] } {
  const world = new World();
  const clients = Array.from({ length: connections }, (_, i) => world.connect(`p${i}`, { channels: ["room/*"] }));
  for (const client of clients) for (const channel of CHANNELS) client.subscribe(channel);
  world.advance(600);
  for (const client of clients) client.take();
  return { world, clients };
}

const held = (clients: readonly Client[]): number =>
  clients.reduce((sum, { connection }) => sum + connection.subscriptions.length, 0);

test("each channel is compared with the key's patterns once, however many connections subscribe to it", () => {
  const { world, clients } = crowd(5);
  const matches = spyOn(Scope.prototype, "matches");
  try {
    world.keys.editKey(SECRET_KEY, { channelPatterns: ["room/*", "more"] });
    expect([matches.mock.calls.length, held(clients)]).toEqual([CHANNELS.length, 500]);
  } finally {
    matches.mockRestore();
  }
});

test("one turn ends about a thousand subscriptions, later turns the rest; no new permissions meanwhile", () => {
  const { world, clients } = crowd(25);
  const last = clients.at(-1) as Client;
  world.keys.editKey(SECRET_KEY, { channelPatterns: ["elsewhere"] });
  // A hundred steps were comparisons.
  expect(held(clients)).toBe(1600);
  for (const client of clients) client.subscribe("room/new");
  expect(last.newFrames()).toEqual(["error channel_not_authorized r101"]);
  world.advance(20);
  expect(held(clients)).toBe(0);
  for (const { connection, closeCode } of clients) expect([connection.open, closeCode]).toEqual([true, undefined]);
  expect(last.newFrames()).toEqual(CHANNELS.map(() => "error channel_not_authorized"));
  for (const client of clients) client.vanish();
  expect(leftovers(world)).toEqual({});
});

test("one turn compares about a thousand channels with the key's patterns", () => {
  const world = new World();
  const clients = Array.from({ length: 15 }, (_, i) => world.connect(`p${i}`));
  for (const [i, client] of clients.entries()) for (const channel of CHANNELS) client.subscribe(`${i}/${channel}`);
  world.advance(600);
  const matches = spyOn(Scope.prototype, "matches");
  try {
    world.keys.editKey(SECRET_KEY, { channelPatterns: ["*/room/*"] });
    expect(matches.mock.calls.length).toBe(1000);
    world.advance(20);
    expect([matches.mock.calls.length, held(clients)]).toEqual([1500, 1500]);
  } finally {
    matches.mockRestore();
  }
});

test("a later edit of the key applies to subscriptions that the earlier one has not ended yet", () => {
  const { world, clients } = crowd(15);
  world.keys.editKey(SECRET_KEY, { channelPatterns: ["elsewhere"] });
  world.keys.editKey(SECRET_KEY, { channelPatterns: ["room/*"] });
  world.advance(20);
  expect(held(clients)).toBe(600);
});

test("a turn ends earlier if comparing takes long, and other work is done before the next", () => {
  const { world, clients } = crowd(25);
  const { matches } = Scope.prototype;
  let isEdited = false;
  let lateMs = 0;
  const slow = spyOn(Scope.prototype, "matches").mockImplementation(function (this: Scope, channel: string) {
    // Every comparison takes a millisecond, in which no timer fires.
    if (isEdited) lateMs++;
    return matches.call(this, channel);
  });
  const monotonic = world.clock.monotonicMs;
  world.clock.monotonicMs = () => monotonic() + lateMs;
  try {
    isEdited = true;
    world.keys.editKey(SECRET_KEY, { channelPatterns: ["elsewhere"] });
    // The hundred channels of the first connection took longer than a turn may.
    expect(held(clients)).toBe(2400);
    world.advance(20);
    expect(held(clients)).toBe(0);
  } finally {
    slow.mockRestore();
  }
});
