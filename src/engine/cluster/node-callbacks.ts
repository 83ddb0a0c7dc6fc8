/**
 * This node's end with a failure boundary around each call that brings news. When one about a channel throws, the channel is reported
 * as lost: its subscribers are closed with 1001, reconnect and find its present state.
 */
import type { ChannelCount, Envelope, MemberState, NodeEnd, NodeId } from "../engine.ts";
import type { Boundary } from "./failure-boundary.ts";

export class GuardedEnd implements NodeEnd {
  readonly id: NodeId;
  /** Nodes that have gone, while `nodeGone` has not succeeded for them. */
  private readonly leaving = new Set<NodeId>();

  constructor(
    private readonly end: NodeEnd,
    private readonly boundary: Boundary,
  ) {
    this.id = end.id;
  }

  /** No closure here: every message of a channel passes through it. */
  deliver(app: string, channel: string, envelope: Envelope): void {
    try {
      this.end.deliver(app, channel, envelope);
    } catch (error) {
      this.boundary.report(error, { in: "deliver", app, channel });
      this.lost(app, channel);
    }
  }

  /** May throw: its caller then leaves the sender without an answer, because it is not known whether the message was delivered. */
  deliverTo(app: string, to: string, envelope: Envelope): number {
    return this.end.deliverTo(app, to, envelope);
  }

  membersChanged(
    node: NodeId,
    app: string,
    channel: string,
    joined: readonly MemberState[],
    left: readonly string[],
  ): void {
    this.members("membersChanged", node, app, channel, () => this.end.membersChanged(node, app, channel, joined, left));
  }

  membersAre(node: NodeId, app: string, channel: string, members: readonly MemberState[]): void {
    this.members("membersAre", node, app, channel, () => this.end.membersAre(node, app, channel, members));
  }

  /** The answer to `watch`. */
  found(app: string, channel: string, give: () => void): void {
    this.boundary.run({ in: "watch", app, channel }, give, () => {
      this.boundary.doubt();
      this.lost(app, channel);
    });
  }

  lost(app: string, channel: string): void {
    this.boundary.run({ in: "lost", app, channel }, () => this.end.lost(app, channel));
  }

  nodeGone(node: NodeId): void {
    this.leaving.add(node);
    this.boundary.run({ in: "nodeGone", node }, () => {
      this.end.nodeGone(node);
      this.leaving.delete(node);
    });
  }

  /** Without it, members of a node that has gone would stay in the channels. */
  retryNodeGone(): void {
    for (const node of [...this.leaving]) this.nodeGone(node);
  }

  connectionsChanged(app: string): void {
    this.boundary.run({ in: "connectionsChanged", app }, () => this.end.connectionsChanged(app));
  }

  /** Questions: an error here is caught where the question arrived, and the question is not answered. */

  nudged(app?: string): void | Promise<void> {
    return this.end.nudged(app);
  }

  blocked(app: string, peerId: string, untilMs: number): void {
    this.end.blocked(app, peerId, untilMs);
  }

  kicked(app: string, peerId: string): number {
    return this.end.kicked(app, peerId);
  }

  localMembers(app: string, channel: string): readonly MemberState[] {
    return this.end.localMembers(app, channel);
  }

  localPeers(app: string, channel: string): readonly MemberState[] {
    return this.end.localPeers(app, channel);
  }

  localChannels(app: string): readonly ChannelCount[] {
    return this.end.localChannels(app);
  }

  localConnections(app: string): number {
    return this.end.localConnections(app);
  }

  localCounts(): ReadonlyMap<string, number> {
    return this.end.localCounts();
  }

  private members(what: string, node: NodeId, app: string, channel: string, tell: () => void): void {
    this.boundary.run({ in: what, node, app, channel }, tell, () => {
      this.boundary.doubt(node);
      this.lost(app, channel);
    });
  }
}
