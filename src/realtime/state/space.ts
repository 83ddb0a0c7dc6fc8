/** An application on this node, or its rooms: the peers that are connected, and the channels in use. */
import { type AppId, appOfSpace, type SpaceId } from "../../base/ids.ts";
import type { NodeId } from "../../engine/engine.ts";
import type { TrafficCounters } from "../../telemetry/traffic.ts";
import type { Payer } from "../counting/quota.ts";
import type { RateWindow } from "../counting/rate-window.ts";
import type { Count } from "../counting/usage.ts";
import type { Channel } from "./channel.ts";
import type { Connection } from "./connection.ts";
import { Peer } from "./peer.ts";

export class Space {
  /** The id of the application that usage and traffic count for. */
  readonly owner: AppId;
  /** Those that are connected here, and members of channels in use here. Bound: connections of all nodes. */
  readonly peers = new Map<string, Peer>();
  /** Those in use here. Bound: CHANNELS_PER_CONNECTION_MAX per connection. */
  readonly channels = new Map<string, Channel>();
  connectionCount = 0;
  /** Those of its connections that were guests of a room when they connected. Bound: one entry per connection. */
  guests: Set<Connection> | undefined;
  /** Members without a connection that are still shown (presence/lingering.ts). */
  lingeringCount = 0;

  constructor(
    readonly id: SpaceId,
    /** The node's own name, as other nodes know it. */
    readonly node: NodeId,
    readonly counters: TrafficCounters,
    readonly rateWindow: RateWindow,
    readonly usage: Count,
  ) {
    this.owner = appOfSpace(id);
  }

  /** An accepted publish or send. */
  countMessage(payer: Payer = "app"): void {
    this.counters.messages++;
    if (payer === "app") this.usage.countMessage();
    else if (payer === "guests") this.usage.countGuestMessage();
  }

  peer(peerId: string): Peer {
    let peer = this.peers.get(peerId);
    if (!peer) {
      peer = new Peer(this, peerId);
      this.peers.set(peerId, peer);
    }
    return peer;
  }

  /** Forgets a peer with no connection here and no membership. */
  forgetIfUnused(peer: Peer): void {
    if (!peer.isConnected && peer.memberships === 0) this.peers.delete(peer.peerId);
  }

  get isEmpty(): boolean {
    return this.connectionCount === 0 && this.channels.size === 0 && this.peers.size === 0;
  }
}
