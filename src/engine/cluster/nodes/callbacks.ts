/**
 * The callbacks of this node with a failure boundary around each. After an error the protocol must go on: sequence numbers advance,
 * and a channel about which a callback has thrown is reported as lost, so that its subscribers resynchronise.
 *
 * The boundary in realtime/ decides what an error costs clients, with any engine. This one keeps the node protocol consistent, for
 * any EngineCallbacks: the contract requires it of engines between processes.
 */
import type { AppId, SpaceId } from "../../../base/ids.ts";
import type {
  ChannelsPage,
  DeliverResult,
  EngineCallbacks,
  Envelope,
  FoundChannels,
  MemberState,
  NodeId,
  NodeName,
} from "../../engine.ts";
import type { FailureBoundary } from "./failure-boundary.ts";

export class NodeCallbacks implements EngineCallbacks {
  readonly id: NodeName;
  /** Nodes that are gone and for which `nodeGone` has not succeeded yet, and their names. Bound: one per node. */
  private readonly gone = new Map<NodeId, NodeName>();

  constructor(
    private readonly end: EngineCallbacks,
    private readonly boundary: FailureBoundary,
  ) {
    this.id = end.id;
  }

  /** No closure: this is on the path of every message. */
  deliver(spaceId: SpaceId, channel: string, envelope: Envelope): void {
    try {
      this.end.deliver(spaceId, channel, envelope);
    } catch (error) {
      this.boundary.report(error, { in: "deliver", app: spaceId, channel });
      this.lost(spaceId, channel);
    }
  }

  /** May throw: direct-messages/direct-messages.ts then sends no receipt, because it is not known whether the message was delivered. */
  deliverTo(spaceId: SpaceId, to: string, envelope: Envelope): DeliverResult {
    return this.end.deliverTo(spaceId, to, envelope);
  }

  returned(spaceId: SpaceId, peerId: string): void {
    this.boundary.run({ in: "returned", app: spaceId }, () => this.end.returned(spaceId, peerId));
  }

  /** No closures: this is on the path of every connect. */
  membersChanged(
    node: NodeId,
    spaceId: SpaceId,
    channel: string,
    joined: readonly MemberState[],
    left: readonly string[],
  ): void {
    try {
      this.end.membersChanged(node, spaceId, channel, joined, left);
    } catch (error) {
      this.membersFailed(error, "membersChanged", node, spaceId, channel);
    }
  }

  membersAre(node: NodeId, spaceId: SpaceId, channel: string, members: readonly MemberState[]): void {
    try {
      this.end.membersAre(node, spaceId, channel, members);
    } catch (error) {
      this.membersFailed(error, "membersAre", node, spaceId, channel);
    }
  }

  /** Runs the callback of `watch`. */
  found(spaceId: SpaceId, channel: string, callback: () => void): void {
    this.boundary.run({ in: "watch", app: spaceId, channel }, callback, () => {
      this.boundary.markStale();
      this.lost(spaceId, channel);
    });
  }

  lost(spaceId: SpaceId, channel: string): void {
    this.boundary.run({ in: "lost", app: spaceId, channel }, () => this.end.lost(spaceId, channel));
  }

  reconnected(): void {
    this.boundary.run({ in: "linkUp" }, () => this.end.reconnected());
  }

  nodeGone(node: NodeId, name: NodeName): void {
    this.gone.set(node, name);
    this.boundary.run({ in: "nodeGone", node }, () => {
      this.end.nodeGone(node, name);
      this.gone.delete(node);
    });
  }

  /** Without a retry, members of a node that is gone would stay in the channels. */
  retryNodeGone(): void {
    for (const [node, name] of [...this.gone]) this.nodeGone(node, name);
  }

  connectionsChanged(app: AppId): void {
    this.boundary.run({ in: "connectionsChanged", app }, () => this.end.connectionsChanged(app));
  }

  // Called for requests of other nodes. An error is caught where the request was received, and no response is sent.

  invalidated(app?: AppId, withdrawn?: string): void | Promise<void> {
    return this.end.invalidated(app, withdrawn);
  }

  blocked(app: AppId, peerId: string, untilMs: number): void {
    this.end.blocked(app, peerId, untilMs);
  }

  kicked(spaceId: SpaceId, peerId: string): number {
    return this.end.kicked(spaceId, peerId);
  }

  localMembers(spaceId: SpaceId, channel: string): readonly MemberState[] {
    return this.end.localMembers(spaceId, channel);
  }

  localPeers(spaceId: SpaceId, channel: string): readonly MemberState[] {
    return this.end.localPeers(spaceId, channel);
  }

  localChannels(spaceId: SpaceId, page?: ChannelsPage): FoundChannels {
    return this.end.localChannels(spaceId, page);
  }

  localConnections(app: AppId): number {
    return this.end.localConnections(app);
  }

  localCounts(): ReadonlyMap<AppId, number> {
    return this.end.localCounts();
  }

  private membersFailed(error: unknown, method: string, node: NodeId, spaceId: SpaceId, channel: string): void {
    this.boundary.report(error, { in: method, node, app: spaceId, channel });
    this.boundary.markStale(node);
    this.lost(spaceId, channel);
  }

  /** May reject: the responder then sends no response. */
  respond(text: string): string | Promise<string> {
    return this.end.respond(text);
  }

  notified(node: NodeName, text: string): void {
    this.boundary.run({ in: "notified" }, () => this.end.notified(node, text));
  }
}
