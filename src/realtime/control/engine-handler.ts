/** What the engine calls on this node: messages and changes of other nodes, and their requests. */
import { type Blocks, UNBLOCKED_MS } from "../../access/admission/blocks.ts";
import type { Clock } from "../../base/clock.ts";
import { type AppId, appOfGuests, type SpaceId, spaceOf } from "../../base/ids.ts";
import type {
  ChannelsPage,
  DeliverResult,
  EngineCallbacks,
  Envelope,
  FoundChannels,
  MemberState,
  NodeId,
  NodeName,
} from "../../engine/engine.ts";
import type { NodeRequests } from "../../engine/node-requests.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { Usage } from "../counting/usage.ts";
import type { Delivery } from "../messages/delivery.ts";
import type { Directs } from "../messages/directs.ts";
import type { Occupancy } from "../presence/occupancy.ts";
import type { Presence } from "../presence/presence.ts";
import type { Channel } from "../state/channel.ts";
import type { Spaces } from "../state/spaces.ts";
import type { StreamRules } from "../streams/stream-rules.ts";
import type { ExpectedBack } from "./expected-back.ts";
import type { Kicks } from "./kicks.ts";

/** Within this time after a block, the blocked peer has no connection left on any node. */
const KICK_WITHIN_MS = 800;

interface EngineHandlerParts {
  readonly id: NodeName;
  readonly spaces: Spaces;
  readonly delivery: Delivery;
  readonly directs: Directs;
  readonly streamRules: StreamRules;
  readonly presence: Presence;
  readonly occupancy: Occupancy;
  readonly kicks: Kicks;
  readonly expectedBack: Pick<ExpectedBack, "returnedElsewhere" | "nodeGone">;
  readonly boundary: Boundary;
  readonly usage: Usage;
  readonly clock: Clock;
  readonly blocks: Blocks;
  readonly invalidated: (app?: AppId, withdrawn?: string) => Promise<void>;
  readonly nodeRequests: Pick<NodeRequests, "respond" | "notified">;
}

/** Called through EngineBoundary, which goes over the channels itself when a node is gone. */
export class EngineHandler implements Omit<EngineCallbacks, "nodeGone" | "reconnected"> {
  readonly id: NodeName;

  constructor(private readonly parts: EngineHandlerParts) {
    this.id = parts.id;
  }

  // Messages

  deliver(spaceId: SpaceId, name: string, envelope: Envelope): void {
    const channel = this.parts.spaces.channel(spaceId, name);
    if (!channel) return;
    if (channel.stream === undefined && envelope.stored === undefined)
      return this.parts.delivery.deliver(channel, envelope);
    this.parts.streamRules.arrived(channel, envelope);
  }

  deliverTo(spaceId: SpaceId, to: string, envelope: Envelope): DeliverResult {
    return this.parts.directs.deliverTo(spaceId, to, envelope);
  }

  returned(spaceId: SpaceId, peerId: string): void {
    this.parts.expectedBack.returnedElsewhere(spaceId, peerId);
  }

  lost(spaceId: SpaceId, name: string): void {
    const channel = this.parts.spaces.channel(spaceId, name);
    if (channel) this.parts.boundary.resync(channel);
  }

  // Members

  membersChanged(
    node: NodeId,
    spaceId: SpaceId,
    name: string,
    joined: readonly MemberState[],
    left: readonly string[],
  ): void {
    const channel = this.parts.spaces.channel(spaceId, name);
    // Changes that come before the answer to `watch` are contained in that answer.
    if (channel && !channel.opening) this.parts.presence.onRemoteChanged(node, channel, joined, left);
  }

  membersAre(node: NodeId, spaceId: SpaceId, name: string, members: readonly MemberState[]): void {
    const channel = this.parts.spaces.channel(spaceId, name);
    if (!channel || channel.opening) return;
    const present = new Set(members.map(({ peerId }) => peerId));
    const left = membersThrough(node, channel).filter((peerId) => !present.has(peerId));
    this.parts.presence.onRemoteChanged(node, channel, members, left);
  }

  nodeGone(name: NodeName): void {
    this.parts.expectedBack.nodeGone(name);
  }

  nodeGoneFrom(node: NodeId, channel: Channel): void {
    this.parts.presence.onNodeGone(node, channel);
  }

  // Connections

  connectionsChanged(app: AppId): void {
    const { occupancy, usage } = this.parts;
    // Usage is that of applications.
    if (appOfGuests(app) !== undefined) return;
    if (occupancy.localConnections(app) > 0) usage.recordConnections(app, occupancy.connectionsOf(app));
  }

  blocked(app: AppId, peerId: string, untilMs: number): void {
    const { blocks, clock } = this.parts;
    if (untilMs === UNBLOCKED_MS) return blocks.remove(app, peerId);
    blocks.add({ app, peerId, untilMs });
    // A kick follows. If that message is lost, this timer closes the connections.
    clock.after(KICK_WITHIN_MS, () => {
      if (blocks.isBlocked(app, peerId, clock.wallMs())) this.kicked(spaceOf(app), peerId);
    });
  }

  kicked(spaceId: SpaceId, peerId: string): number {
    return this.parts.kicks.kickHere(spaceId, peerId);
  }

  invalidated(app?: AppId, withdrawn?: string): Promise<void> {
    return this.parts.invalidated(app, withdrawn);
  }

  // Requests of other nodes

  localMembers(spaceId: SpaceId, name: string): readonly MemberState[] {
    return this.parts.occupancy.localMembers(spaceId, name);
  }

  localPeers(spaceId: SpaceId, name: string): readonly MemberState[] {
    return this.parts.occupancy.localPeers(spaceId, name);
  }

  localChannels(spaceId: SpaceId, page?: ChannelsPage): FoundChannels {
    return this.parts.occupancy.localChannels(spaceId, page);
  }

  localConnections(app: AppId): number {
    return this.parts.occupancy.localConnections(app);
  }

  localCounts(): ReadonlyMap<AppId, number> {
    return this.parts.occupancy.localCounts();
  }

  respond(text: string): Promise<string> {
    return this.parts.nodeRequests.respond(text);
  }

  notified(node: NodeName, text: string): void {
    this.parts.nodeRequests.notified(node, text);
  }
}

const membersThrough = (node: NodeId, channel: Channel): string[] =>
  [...channel.members.values()].filter((member) => member.remote?.has(node)).map((member) => member.peer.peerId);
