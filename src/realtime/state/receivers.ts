/** Which connections of this node a message comes from, and whether it reaches any. */
import type { Channel } from "./channel.ts";
import { type Connection, connectionNumber } from "./connection.ts";
import type { Peer } from "./peer.ts";

/** The connection that published a message, if it is one of this node. Connection ids are unique over all nodes. */
export function connectionOf(peer: Peer | undefined, id: string): Connection | undefined {
  // By number: an id is made with every use.
  const number = peer && connectionNumber(id);
  return number === undefined ? undefined : peer?.connections.find((connection) => connection.number === number);
}

/** Whether a message in this channel reaches a connection on this node, now or behind a replay. */
export function hasReceiver(channel: Channel | undefined, sender: Connection | undefined): boolean {
  if (!channel) return false;
  return channel.subscribers + channel.replaying > (sender?.subscriptionTo(channel.name) ? 1 : 0);
}
