/** An edit of a key that affects very many subscriptions. */
import { expect, spyOn, test } from "bun:test";
import { Scope } from "../protocol/glob.ts";
import { type Client, leftovers, SECRET_KEY, World } from "./testing/kit.ts";

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
  clients.reduce((sum, { peer }) => sum + peer.subscriptions.length, 0);

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
  for (const { peer, closeCode } of clients) expect([peer.open, closeCode]).toEqual([true, undefined]);
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
