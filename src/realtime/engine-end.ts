/** This node as the others see it: what the engine brings, and what it is asked. */
import type { Blocks } from "../access/blocks.ts";
import type { ChannelCount, Envelope, MemberState, NodeEnd, NodeId } from "../engine/engine.ts";
import type { Census } from "./census.ts";
import type { Channel } from "./channel.ts";
import type { Clock } from "./clock.ts";
import type { Delivery } from "./delivery.ts";
import type { Presence } from "./presence.ts";
import type { Space } from "./space.ts";
import type { Usage } from "./usage.ts";

/** Of a block: then nobody of that peer is connected any more, on any node. */
const KICK_WITHIN_MS = 800;

export interface EngineEndParts {
  readonly id: NodeId;
  readonly spaces: ReadonlyMap<string, Space>;
  readonly delivery: Delivery;
  readonly presence: Presence;
  readonly census: Census;
  readonly usage: Usage;
  readonly clock: Clock;
  readonly blocks?: Blocks;
  readonly nudged?: (app?: string) => Promise<void>;
  /** Closes a peer's connections here: how many there were. */
  readonly kicked: (app: string, peerId: string) => number;
  /** Closes whoever subscribes to it here. */
  readonly resync: (channel: Channel) => void;
}

/** Called through the boundary in guarded-end.ts, which goes over the channels when a node has gone. */
export class EngineEnd implements Omit<NodeEnd, "nodeGone"> {
  readonly id: NodeId;

  constructor(private readonly parts: EngineEndParts) {
    this.id = parts.id;
  }

  /** Words */

  deliver(app: string, name: string, envelope: Envelope): void {
    const channel = this.channel(app, name);
    if (!channel) return;
    const { delivery } = this.parts;
    delivery.settleSender(channel.space, envelope.from, channel);
    delivery.fanOut(channel, JSON.stringify(envelope.from), envelope, undefined);
  }

  deliverTo(app: string, to: string, envelope: Envelope): number {
    return this.parts.delivery.handTo(app, to, envelope);
  }

  lost(app: string, name: string): void {
    const channel = this.channel(app, name);
    if (channel) this.parts.resync(channel);
  }

  /** Members */

  membersChanged(
    node: NodeId,
    app: string,
    name: string,
    joined: readonly MemberState[],
    left: readonly string[],
  ): void {
    const channel = this.channel(app, name);
    // What comes before the answer to `watch` is in that answer.
    if (channel && !channel.opening) this.parts.presence.remoteChanged(node, channel, joined, left);
  }

  membersAre(node: NodeId, app: string, name: string, members: readonly MemberState[]): void {
    const channel = this.channel(app, name);
    if (!channel || channel.opening) return;
    const present = new Set(members.map(({ peerId }) => peerId));
    const left = membersThrough(node, channel).filter((peerId) => !present.has(peerId));
    this.parts.presence.remoteChanged(node, channel, members, left);
  }

  /** A node has gone: its members leave this channel. */
  nodeGoneFrom(node: NodeId, channel: Channel): void {
    this.parts.presence.remoteChanged(node, channel, [], membersThrough(node, channel));
  }

  /** Connections */

  connectionsChanged(app: string): void {
    const { census, usage } = this.parts;
    if (census.localConnections(app) > 0) usage.saw(app, census.connectionsOf(app));
  }

  blocked(app: string, peerId: string, untilMs: number): void {
    const { blocks, clock } = this.parts;
    blocks?.add({ app, peerId, untilMs });
    // The kick comes behind it; should it be lost, whoever is blocked is out all the same.
    clock.after(KICK_WITHIN_MS, () => {
      if (blocks?.isBlocked(app, peerId, clock.nowMs())) this.kicked(app, peerId);
    });
  }

  kicked(app: string, peerId: string): number {
    return this.parts.kicked(app, peerId);
  }

  nudged(app?: string): Promise<void> | undefined {
    return this.parts.nudged?.(app);
  }

  /** What it is asked */

  localMembers(app: string, name: string): readonly MemberState[] {
    return this.parts.census.localMembers(app, name);
  }

  localPeers(app: string, name: string): readonly MemberState[] {
    return this.parts.census.localPeers(app, name);
  }

  localChannels(app: string): readonly ChannelCount[] {
    return this.parts.census.localChannels(app);
  }

  localConnections(app: string): number {
    return this.parts.census.localConnections(app);
  }

  localCounts(): ReadonlyMap<string, number> {
    return this.parts.census.localCounts();
  }

  private channel(app: string, name: string): Channel | undefined {
    return this.parts.spaces.get(app)?.channels.get(name);
  }
}

const membersThrough = (node: NodeId, channel: Channel): string[] =>
  [...channel.members.values()].filter((member) => member.remote?.has(node)).map((member) => member.identity.peerId);
