/** For tests: several nodes, and a subscriber on each of them that sees what its node shows. */
import { delayed, type Traffic } from "../../engine/testing/traffic.ts";
import { type Client, World } from "./kit.ts";

/** How long everything takes between nodes, if the test does not say. */
export const LATE_MS = 4;

export const worldOf = (nodes = 3, traffic: Traffic = delayed(LATE_MS)): World => new World({ nodes, traffic });

/** One subscriber on each node. */
export function watchers(world: World, channel = "c"): Client[] {
  const clients = world.nodes.map((_, node) => world.connect(`w${node}`, { node }));
  for (const client of clients) client.subscribe(channel);
  world.settle();
  return clients;
}

/** The same, and they have read everything up to now. `newFrames`: what each of them has read since, in short. */
export function watching(world: World, channel = "c"): { clients: Client[]; newFrames: () => string[][] } {
  const clients = watchers(world, channel);
  for (const client of clients) client.take();
  return { clients, newFrames: () => clients.map((client) => client.newFrames()) };
}

/** The same frames on every node. */
export const everywhere = (world: World, ...frames: string[]): string[][] => world.nodes.map(() => frames);
