/**
 * What a fault of our own costs in the heart: the connection it happened on, or the channel whose state can no longer be
 * trusted. Everything else goes on. Nothing here throws.
 */
import type { Engine } from "../engine/engine.ts";
import { type Closing, FAULT } from "../protocol/close.ts";
import type { FaultLog, FaultPlace } from "../telemetry/faults.ts";
import type { Channel } from "./channel.ts";
import type { Peer } from "./peer.ts";
import type { Space } from "./space.ts";

export interface BoundaryParts {
  readonly faults: FaultLog;
  readonly engine: Engine;
  readonly spaces: Map<string, Space>;
  readonly close: (peer: Peer, closing: Closing) => void;
  /** Closes the channel's subscribers on this node, so that they connect and subscribe again. */
  readonly resync: (channel: Channel) => void;
}

export class Boundary {
  constructor(private readonly parts: BoundaryParts) {}

  /** A step that must not keep the next ones from being done. */
  attempt(where: FaultPlace, step: () => void): void {
    try {
      step();
    } catch (error) {
      this.parts.faults.caught(where, error);
    }
  }

  /** Does something for one connection of many: a fault ends this one with 1011. */
  forPeer(where: FaultPlace, peer: Peer, act: (peer: Peer) => void): void {
    try {
      act(peer);
    } catch (error) {
      this.peerFailed(where, peer, error);
    }
  }

  peerFailed(where: FaultPlace, peer: Peer, error: unknown, context: Readonly<Record<string, unknown>> = {}): void {
    this.parts.faults.caught(where, error, { app: peer.identity.space.app, ...context });
    this.attempt(where, () => this.parts.close(peer, FAULT));
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
    this.parts.faults.caught(where, error, { app: channel.space.app, subscribers: channel.subscribers });
    // Detached first: should the same fault come again while its subscribers are closed, it finds nothing left to do.
    if (this.detach(where, channel)) this.attempt(where, () => this.parts.resync(channel));
    const { space } = channel;
    const { spaces } = this.parts;
    if (space.isEmpty && spaces.get(space.app) === space) spaces.delete(space.app);
  }

  /** The next subscriber of that name gets a new channel. false: it was detached before. */
  private detach(where: FaultPlace, channel: Channel): boolean {
    const { space, name } = channel;
    if (space.channels.get(name) !== channel) return false;
    space.channels.delete(name);
    const announced: string[] = [];
    for (const member of [...channel.members.values()]) {
      const { identity } = member;
      if (member.announced) announced.push(identity.peerId);
      member.announced = undefined;
      identity.removePending(member);
      channel.forget(member);
    }
    const { engine } = this.parts;
    // Other nodes know these members through us only.
    if (announced.length > 0) this.attempt(where, () => engine.announce(space.app, name, [], announced));
    this.attempt(where, () => engine.unwatch(space.app, name));
    return true;
  }
}
