/**
 * The boundary around what the engine calls: an exception must not reach the engine, whose own state it would break. A channel
 * that could not be served is resynchronised, because a message or a change of its members may be missing there.
 *
 * What the engine asks (`local…`) is passed on as it is: an answer made up here would be taken for the truth.
 */
import type { ChannelCount, Envelope, MemberState, NodeEnd, NodeId } from "../engine/engine.ts";
import type { FaultLog } from "../telemetry/faults.ts";
import type { Boundary } from "./boundary.ts";
import type { EngineEnd } from "./engine-end.ts";
import type { Space } from "./space.ts";

export interface GuardedEndParts {
  readonly end: EngineEnd;
  readonly boundary: Boundary;
  readonly faults: FaultLog;
  readonly spaces: ReadonlyMap<string, Space>;
}

export class GuardedEnd implements NodeEnd {
  readonly id: NodeId;
  private readonly end: EngineEnd;

  constructor(private readonly parts: GuardedEndParts) {
    this.end = parts.end;
    this.id = parts.end.id;
  }

  deliver(app: string, channel: string, envelope: Envelope): void {
    try {
      this.end.deliver(app, channel, envelope);
    } catch (error) {
      this.channelFailed(app, channel, error);
    }
  }

  deliverTo(app: string, to: string, envelope: Envelope): number {
    try {
      return this.end.deliverTo(app, to, envelope);
    } catch (error) {
      return this.receiverFailed(app, to, error);
    }
  }

  lost(app: string, channel: string): void {
    try {
      this.end.lost(app, channel);
    } catch (error) {
      this.channelFailed(app, channel, error);
    }
  }

  membersChanged(
    node: NodeId,
    app: string,
    channel: string,
    joined: readonly MemberState[],
    left: readonly string[],
  ): void {
    try {
      this.end.membersChanged(node, app, channel, joined, left);
    } catch (error) {
      this.channelFailed(app, channel, error);
    }
  }

  membersAre(node: NodeId, app: string, channel: string, members: readonly MemberState[]): void {
    try {
      this.end.membersAre(node, app, channel, members);
    } catch (error) {
      this.channelFailed(app, channel, error);
    }
  }

  /** Channel by channel: a fault in one must not leave members of that node in the others. */
  nodeGone(node: NodeId): void {
    const { boundary, spaces } = this.parts;
    for (const space of [...spaces.values()])
      for (const channel of [...space.channels.values()])
        boundary.forChannel("engine", channel, () => this.end.nodeGoneFrom(node, channel));
  }

  connectionsChanged(app: string): void {
    this.parts.boundary.attempt("engine", () => this.end.connectionsChanged(app));
  }

  blocked(app: string, peerId: string, untilMs: number): void {
    this.parts.boundary.attempt("engine", () => this.end.blocked(app, peerId, untilMs));
  }

  kicked(app: string, peerId: string): number {
    try {
      return this.end.kicked(app, peerId);
    } catch (error) {
      this.parts.faults.caught("engine", error, { app });
      return 0;
    }
  }

  async nudged(app?: string): Promise<void> {
    try {
      await this.end.nudged(app);
    } catch (error) {
      this.parts.faults.caught("engine", error);
    }
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

  private channelFailed(app: string, name: string, error: unknown): void {
    const { boundary, faults, spaces } = this.parts;
    const channel = spaces.get(app)?.channels.get(name);
    if (channel) boundary.channelFailed("engine", channel, error);
    else faults.caught("engine", error, { app });
  }

  /** Its connections may lack the message: they are closed, so that 0, "no connection of it here", is true. */
  private receiverFailed(app: string, to: string, error: unknown): 0 {
    const { boundary, faults, spaces } = this.parts;
    const peers = [...(spaces.get(app)?.identities.get(to)?.peers ?? [])];
    if (peers.length === 0) faults.caught("engine", error, { app });
    for (const peer of peers) boundary.peerFailed("engine", peer, error);
    return 0;
  }
}
