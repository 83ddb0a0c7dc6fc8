/**
 * The boundary around what the engine calls: an exception must not reach the engine, whose own state it would break. A channel
 * that could not be served is resynchronised, because a message or a change of its members may be missing there.
 *
 * Requests (`local…`) are passed on as they are: an answer made up here would be taken for a real one.
 */
import type { AppId, SpaceId } from "../../base/ids.ts";
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
import type { FaultLog } from "../../telemetry/faults.ts";
import { safely } from "../../telemetry/safely.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { Spaces } from "../state/spaces.ts";
import type { StreamHeads } from "../streams/stream-heads.ts";
import type { EngineHandler } from "./engine-handler.ts";

interface EngineBoundaryParts {
  readonly handler: EngineHandler;
  readonly boundary: Boundary;
  readonly faults: FaultLog;
  readonly spaces: Spaces;
  readonly streamHeads: StreamHeads;
}

export class EngineBoundary implements EngineCallbacks {
  readonly id: NodeName;
  private readonly handler: EngineHandler;

  constructor(private readonly parts: EngineBoundaryParts) {
    this.handler = parts.handler;
    this.id = parts.handler.id;
  }

  deliver(spaceId: SpaceId, channel: string, envelope: Envelope): void {
    try {
      this.handler.deliver(spaceId, channel, envelope);
    } catch (error) {
      this.channelFailed(spaceId, channel, error);
    }
  }

  deliverTo(spaceId: SpaceId, to: string, envelope: Envelope): DeliverResult {
    try {
      return this.handler.deliverTo(spaceId, to, envelope);
    } catch (error) {
      return this.receiverFailed(spaceId, to, error);
    }
  }

  returned(spaceId: SpaceId, peerId: string): void {
    safely(this.parts.faults, "engine", () => this.handler.returned(spaceId, peerId));
  }

  lost(spaceId: SpaceId, channel: string): void {
    try {
      this.handler.lost(spaceId, channel);
    } catch (error) {
      this.channelFailed(spaceId, channel, error);
    }
  }

  membersChanged(
    node: NodeId,
    spaceId: SpaceId,
    channel: string,
    joined: readonly MemberState[],
    left: readonly string[],
  ): void {
    try {
      this.handler.membersChanged(node, spaceId, channel, joined, left);
    } catch (error) {
      this.channelFailed(spaceId, channel, error);
    }
  }

  membersAre(node: NodeId, spaceId: SpaceId, channel: string, members: readonly MemberState[]): void {
    try {
      this.handler.membersAre(node, spaceId, channel, members);
    } catch (error) {
      this.channelFailed(spaceId, channel, error);
    }
  }

  /** Channel by channel: a fault in one must not leave members of that node in the others. */
  nodeGone(node: NodeId, name: NodeName): void {
    const { boundary, spaces, streamHeads } = this.parts;
    for (const space of [...spaces.all()])
      for (const channel of [...space.channels.values()])
        boundary.forChannel("engine", channel, () => this.handler.nodeGoneFrom(node, channel));
    this.handler.nodeGone(name);
    // It may have stored messages that it could not announce any more.
    streamHeads.read();
  }

  reconnected(): void {
    safely(this.parts.faults, "engine", () => this.parts.streamHeads.read());
  }

  connectionsChanged(app: AppId): void {
    safely(this.parts.faults, "engine", () => this.handler.connectionsChanged(app));
  }

  blocked(app: AppId, peerId: string, untilMs: number): void {
    safely(this.parts.faults, "engine", () => this.handler.blocked(app, peerId, untilMs));
  }

  kicked(spaceId: SpaceId, peerId: string): number {
    try {
      return this.handler.kicked(spaceId, peerId);
    } catch (error) {
      this.parts.faults.caught("engine", error, { app: spaceId });
      return 0;
    }
  }

  async invalidated(app?: AppId, withdrawn?: string): Promise<void> {
    try {
      await this.handler.invalidated(app, withdrawn);
    } catch (error) {
      this.parts.faults.caught("engine", error);
    }
  }

  localMembers(spaceId: SpaceId, channel: string): readonly MemberState[] {
    return this.handler.localMembers(spaceId, channel);
  }

  localPeers(spaceId: SpaceId, channel: string): readonly MemberState[] {
    return this.handler.localPeers(spaceId, channel);
  }

  localChannels(spaceId: SpaceId, page?: ChannelsPage): FoundChannels {
    return this.handler.localChannels(spaceId, page);
  }

  localConnections(app: AppId): number {
    return this.handler.localConnections(app);
  }

  localCounts(): ReadonlyMap<AppId, number> {
    return this.handler.localCounts();
  }

  respond(text: string): Promise<string> {
    return this.handler.respond(text);
  }

  notified(node: NodeName, text: string): void {
    safely(this.parts.faults, "engine", () => this.handler.notified(node, text));
  }

  private channelFailed(spaceId: SpaceId, name: string, error: unknown): void {
    const { boundary, faults, spaces } = this.parts;
    const channel = spaces.channel(spaceId, name);
    if (channel) boundary.channelFailed("engine", channel, error);
    else faults.caught("engine", error, { app: spaceId });
  }

  /** The receiver's connections may have missed the message: they are closed, so that the answer 0 (no connection) is correct. */
  private receiverFailed(spaceId: SpaceId, to: string, error: unknown): 0 {
    const { boundary, faults, spaces } = this.parts;
    const connections = [...(spaces.peer(spaceId, to)?.connections ?? [])];
    if (connections.length === 0) faults.caught("engine", error, { app: spaceId });
    for (const connection of connections) boundary.connectionFailed("engine", connection, error);
    return 0;
  }
}
