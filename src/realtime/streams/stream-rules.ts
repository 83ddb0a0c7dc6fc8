/**
 * Applies the channel rules of an application to the channels in use: which of them have a stream. For a moment after a change of
 * rules, nodes disagree: a message without an offset on a channel that keeps history here, or the reverse, shows that. The order of
 * that channel is lost then, so its history begins anew, and its subscribers are closed with 1001. Stored messages of other nodes
 * come through `arrived`, where this is noticed.
 */
import { type AppId, spaceOf } from "../../base/ids.ts";
import type { Envelope } from "../../engine/engine.ts";
import type { HistoryStore } from "../../history/contract/history.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { Connections } from "../connections/connections.ts";
import type { Channel } from "../state/channel.ts";
import type { Spaces } from "../state/spaces.ts";
import type { Streams } from "./streams.ts";

interface StreamRulesParts {
  readonly history: HistoryStore;
  readonly streams: Streams;
  readonly spaces: Spaces;
  readonly connections: Connections;
  readonly boundary: Boundary;
  readonly faults: FaultLog;
  /** Reads shared state, which has the rules. */
  readonly invalidated: (app?: AppId) => Promise<void>;
}

export class StreamRules {
  constructor(private readonly parts: StreamRulesParts) {}

  /** The rules of this application have changed. */
  apply(app: AppId): void {
    const { spaces, connections, boundary } = this.parts;
    const space = spaces.get(spaceOf(app));
    if (!space) return;
    for (const connection of connections.all()) if (connection.peer.space === space) connection.checkAgain();
    for (const channel of [...space.channels.values()])
      boundary.forChannel("history", channel, () => this.applyTo(channel));
  }

  private applyTo(channel: Channel): void {
    const { streams, boundary } = this.parts;
    const { stream, space, name } = channel;
    const rule = streams.ruleOf(space.id, name);
    const keep = rule?.history;
    const isCreated = rule?.stream !== undefined;
    const hasFitting = stream ? (stream.isCreated ? isCreated : keep !== undefined) : !keep && !isCreated;
    if (hasFitting) {
      if (stream && keep) stream.keep = keep;
      return;
    }
    channel.stream = undefined;
    if (keep) streams.begin(channel, keep);
    else if (isCreated) streams.beginCreated(channel);
    stream?.end();
    boundary.resync(channel);
  }

  /** A message of another node. */
  arrived(channel: Channel, envelope: Envelope): void {
    const { stream } = channel;
    if (stream && envelope.stored) return this.parts.streams.arrived(stream, envelope);
    this.disagree(channel);
  }

  private disagree(channel: Channel): void {
    const { history, streams, boundary, faults, invalidated } = this.parts;
    const { stream, space, name } = channel;
    // Its subscribers are being closed already.
    if (stream?.state === "closed") return;
    const failed = (error: unknown): void => faults.caught("history", error, { app: space.id });
    invalidated().catch(failed);
    if (!stream) return boundary.resync(channel);
    streams.resync(stream);
    if (stream.isCreated) return;
    // If the store is unavailable, the history stays: its order is that of the messages with an offset.
    history.remove(space.id, name).catch(() => undefined);
  }
}
