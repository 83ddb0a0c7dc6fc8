/**
 * What a fault of our own costs in realtime: the connection it happened on, or the channel whose state can no longer be trusted.
 * Everything else goes on. Nothing here throws.
 */
import type { Engine } from "../../engine/engine.ts";
import { FAULT, RESYNC } from "../../protocol/close.ts";
import type { FaultLog, FaultPlace } from "../../telemetry/faults.ts";
import { safely } from "../../telemetry/safely.ts";
import type { Channel } from "../state/channel.ts";
import type { Connection } from "../state/connection.ts";
import { oldestFirst } from "../state/departure.ts";
import type { Spaces } from "../state/spaces.ts";
import type { Connections } from "./connections.ts";

interface BoundaryParts {
  readonly faults: FaultLog;
  readonly engine: Engine;
  readonly spaces: Spaces;
  readonly connections: Connections;
}

export class Boundary {
  /** Channels whose subscribers are closed at the end of this turn. Bound: channels in use here. */
  private readonly lost = new Set<Channel>();

  constructor(private readonly parts: BoundaryParts) {}

  /** Does something for one connection of many: a fault ends this one with 1011. */
  forConnection(where: FaultPlace, connection: Connection, act: (connection: Connection) => void): void {
    try {
      act(connection);
    } catch (error) {
      this.connectionFailed(where, connection, error);
    }
  }

  connectionFailed(
    where: FaultPlace,
    connection: Connection,
    error: unknown,
    context: Readonly<Record<string, unknown>> = {},
  ): void {
    const { faults, connections } = this.parts;
    faults.caught(where, error, { app: connection.peer.space.id, ...context });
    safely(faults, where, () => connections.close(connection, FAULT));
  }

  /** Does something for one channel of many: a fault resynchronises this one. */
  forChannel(where: FaultPlace, channel: Channel, act: (channel: Channel) => void): void {
    try {
      act(channel);
    } catch (error) {
      this.channelFailed(where, channel, error);
    }
  }

  channelFailed(where: FaultPlace, channel: Channel, error: unknown): void {
    const { faults, engine, spaces } = this.parts;
    const { space, name } = channel;
    faults.caught(where, error, { app: space.id, subscribers: channel.subscribers });
    // Detached first: if the same fault occurs while its subscribers are closed, there is nothing left to do.
    const announced = spaces.detach(channel);
    if (announced) {
      // Other nodes know these members through us only.
      if (announced.length > 0) safely(faults, where, () => engine.announce(space.id, name, [], announced));
      safely(faults, where, () => engine.unwatch(space.id, name));
      safely(faults, where, () => channel.stream?.end());
      // At once: the state of a channel that had a fault must not be used until the end of the turn.
      safely(faults, where, () => this.closeSubscribers([channel]));
    }
    spaces.forgetIfEmpty(space);
  }

  /**
   * Messages of a channel were lost: closes every connection that subscribes to it, so that its client resynchronises. All channels
   * lost in one turn share one scan of the connections: with one scan per channel, 500 lost channels stall the node for more than a
   * second. A microtask and not a timer: no message that arrives later may reach these clients before the close.
   */
  resync(channel: Channel): void {
    if (this.lost.size === 0)
      // No boundary: each connection is closed inside it.
      queueMicrotask(() => {
        const channels = [...this.lost];
        this.lost.clear();
        this.closeSubscribers(channels);
      });
    this.lost.add(channel);
  }

  private closeSubscribers(channels: readonly Channel[]): void {
    const { connections } = this.parts;
    const lost = new Set(channels);
    const affected = [...connections.all()].filter((one) => one.subscriptions.some(({ channel }) => lost.has(channel)));
    for (const connection of oldestFirst(affected))
      this.forConnection("engine", connection, () => connections.close(connection, RESYNC));
  }
}
