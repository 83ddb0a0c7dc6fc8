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
  deliver(app: SpaceId, channel: string, envelope: Envelope): void {
    try {
      this.end.deliver(app, channel, envelope);
    } catch (error) {
      this.boundary.report(error, { in: "deliver", app, channel });
      this.lost(app, channel);
    }
  }

  /** May throw: direct-messages/direct-messages.ts then sends no receipt, because it is not known whether the message was delivered. */
  deliverTo(app: SpaceId, to: string, envelope: Envelope): DeliverResult {
    return this.end.deliverTo(app, to, envelope);
  }

  returned(app: SpaceId, peerId: string): void {
    this.boundary.run({ in: "returned", app }, () => this.end.returned(app, peerId));
  }

  membersChanged(
    node: NodeId,
    app: SpaceId,
    channel: string,
    joined: readonly MemberState[],
    left: readonly string[],
  ): void {
    this.members("membersChanged", node, app, channel, () => this.end.membersChanged(node, app, channel, joined, left));
  }

  membersAre(node: NodeId, app: SpaceId, channel: string, members: readonly MemberState[]): void {
    this.members("membersAre", node, app, channel, () => this.end.membersAre(node, app, channel, members));
  }

  /** Runs the callback of `watch`. */
  found(app: SpaceId, channel: string, callback: () => void): void {
    this.boundary.run({ in: "watch", app, channel }, callback, () => {
      this.boundary.markStale();
      this.lost(app, channel);
    });
  }

  lost(app: SpaceId, channel: string): void {
    this.boundary.run({ in: "lost", app, channel }, () => this.end.lost(app, channel));
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

  kicked(app: SpaceId, peerId: string): number {
    return this.end.kicked(app, peerId);
  }

  localMembers(app: SpaceId, channel: string): readonly MemberState[] {
    return this.end.localMembers(app, channel);
  }

  localPeers(app: SpaceId, channel: string): readonly MemberState[] {
    return this.end.localPeers(app, channel);
  }

  localChannels(app: SpaceId, page?: ChannelsPage): FoundChannels {
    return this.end.localChannels(app, page);
  }

  localConnections(app: AppId): number {
    return this.end.localConnections(app);
  }

  localCounts(): ReadonlyMap<AppId, number> {
    return this.end.localCounts();
  }

  private members(method: string, node: NodeId, app: SpaceId, channel: string, call: () => void): void {
    this.boundary.run({ in: method, node, app, channel }, call, () => {
      this.boundary.markStale(node);
      this.lost(app, channel);
    });
  }

  /** May reject: the responder then sends no response. */
  respond(text: string): string | Promise<string> {
    return this.end.respond(text);
  }

  notified(node: NodeName, text: string): void {
    this.boundary.run({ in: "notified" }, () => this.end.notified(node, text));
  }
}
