/**
 * For tests: what nodes still hold in memory of connections and channels. It reads private fields by name: no interface shows
 * them, but memory that grows without a limit is a bug like any other.
 */
import type { World } from "./kit.ts";
import type { TestNode } from "./node.ts";

/** What is not zero a second from now; `{}` when all clients are gone. Nodes that died do not count. */
export function leftovers(world: World): Record<string, number> {
  world.advance(1000);
  // Peers that the service has closed are expected back for 10 s.
  if (world.nodes.some(({ hub }) => hub.holds.size + hub.presence.lingering.size > 0)) world.advance(11_000);
  const living = world.nodes.filter((node) => !node.clock.isStopped);
  const sum = (of: (node: TestNode) => number): number => living.reduce((total, node) => total + of(node), 0);
  const inHub = (...path: string[]): number => sum(({ hub }) => sizeOf(hub, path));
  const left = {
    connections: sum(({ hub }) => hub.connections.count),
    channels: sum(({ hub }) => hub.spaces.channelCount),
    spaces: inHub("spaces", "byId"),
    keys: inHub("connections", "byKey"),
    changedChannels: inHub("presence", "ticks", "dirty"),
    waitingForPong: inHub("presence", "rosterWaits", "waiting"),
    lingering: inHub("presence", "lingering", "members"),
    streams: inHub("streams", "inUse"),
    ringBytes: sum(({ hub }) => hub.streams.ringBytes),
    replays: inHub("replays", "active"),
    holds: inHub("holds", "held"),
    waitingSends: inHub("directs", "waiting", "queues"),
    undrainedRosters: inHub("presence", "queue", "busy"),
    deadlines: inHub("deadlines", "slots"),
    liveness: inHub("liveness", "count"),
    watchers: sizeOf(world.exchange, ["watches"]),
    sockets: sum(({ server }) => server.sockets.size),
  };
  return Object.fromEntries(Object.entries(left).filter(([, count]) => count !== 0));
}

/** The size of a collection, or the number, at a path of fields. A field that is not there is a mistake in the path. */
function sizeOf(root: object, path: readonly string[]): number {
  let at: unknown = root;
  for (const field of path) {
    at = Reflect.get(at as object, field);
    if (at === undefined) throw new Error(`there is no field ${path.join(".")}: update leftovers()`);
  }
  if (typeof at === "number") return at;
  return Array.isArray(at) ? at.length : (at as Map<unknown, unknown>).size;
}
