/** For tests: an application whose calls have a grace period, and clients that leave it in all ways. */
import type { Traffic } from "../../engine/testing/traffic.ts";
import { type Client, World } from "./kit.ts";

/** In this channel members stay for 30 s when they are lost. */
export const CALL = "calls/1";

export function graceWorld(nodes = 1, traffic?: Traffic): World {
  const world = new World({ nodes, ...(traffic && { traffic }) });
  world.keys.editApp({ channelRules: [{ pattern: "calls/*", graceSec: 30 }] });
  return world;
}

/** Subscribed with states, roster read. */
export function withStates(world: World, peerId: string, channel: string, node = 0): Client {
  const client = world.connect(peerId, { node });
  client.subscribe(channel, { state: true });
  world.advance(600);
  client.take();
  return client;
}

export const clientCloses = (client: Client, code: number): void => client.socket.close(code, "");

export const drain = (world: World, node = 0): void => void world.nodeAt(node).gateway.drain(100);
