/** Connections, channels and their members: of this node for the other nodes, and of all nodes for REST. */
import type { Clock } from "../../base/clock.ts";
import type { AppId, SpaceId } from "../../base/ids.ts";
import type { ChannelCount, Engine, MemberState } from "../../engine/engine.ts";
import { newestOfEach } from "../state/newest.ts";
import type { Spaces } from "../state/spaces.ts";
import { isUnsent } from "./announce.ts";
import { forOthers } from "./between-nodes.ts";

export class Occupancy {
  constructor(
    private readonly spaces: Spaces,
    private readonly engine: Engine,
    private readonly clock: Clock,
  ) {}

  localMembers(app: SpaceId, name: string): readonly MemberState[] {
    const channel = this.spaces.channel(app, name);
    if (!channel) return [];
    return [...channel.members.values()].flatMap((member) => {
      if (isUnsent(member.announced)) member.announced = member.toAnnounce();
      // A node that asks only now has never been sent a member that a node that is gone has left to this one. It learns of its end
      // from this one too.
      member.announced ??= member.stay?.state;
      return member.announced ? forOthers(member.announced, this.clock) : [];
    });
  }

  /** Including peers that wait for their roster, and members without a connection. */
  localPeers(app: SpaceId, name: string): readonly MemberState[] {
    const members = this.spaces.channel(app, name)?.members.values() ?? [];
    return [...members].flatMap((member) => {
      const state = member.arrivedHere();
      return state ? forOthers(state, this.clock) : [];
    });
  }

  localChannels(app: SpaceId): readonly ChannelCount[] {
    const channels = [...(this.spaces.get(app)?.channels.values() ?? [])];
    return channels
      .filter((channel) => channel.subscribers + channel.replaying > 0)
      .map((channel) => ({
        channel: channel.name,
        peerIds: [...channel.members.values()]
          .filter((one) => one.hasSubscription || one.stay)
          .map((one) => one.peer.peerId),
        connections: channel.subscribers + channel.replaying,
      }));
  }

  localConnections(app: AppId): number {
    return this.spaces.connectionsOf(app);
  }

  localCounts(): ReadonlyMap<AppId, number> {
    return new Map([...this.spaces.all()].map(({ owner }) => [owner, this.spaces.connectionsOf(owner)]));
  }

  /** Members of a channel with metadata, including those that wait for their roster; `undefined` if a node has not answered. */
  async members(app: SpaceId, name: string): Promise<MemberState[] | undefined> {
    const remote = await this.engine.members(app, name);
    if (!remote) return undefined;
    return newestOfEach([...[...remote.values()].flat(), ...this.localPeers(app, name)]);
  }

  /** Returns `undefined` if a node has not answered. */
  async channels(app: SpaceId): Promise<{ channel: string; peers: number; connections: number }[] | undefined> {
    const remote = await this.engine.channels(app);
    if (!remote) return undefined;
    const all = [...this.localChannels(app), ...remote];
    return [...Map.groupBy(all, (one) => one.channel)].map(([channel, counts]) => ({
      channel,
      peers: new Set(counts.flatMap((count) => count.peerIds)).size,
      connections: counts.reduce((sum, count) => sum + count.connections, 0),
    }));
  }

  connectionsOf(app: AppId): number {
    return this.localConnections(app) + this.engine.connections(app);
  }
}
