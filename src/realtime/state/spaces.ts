/** The applications with connections or channels on this node. What nothing uses any more is forgotten. */
import { type AppId, appOfSpace, roomSpaceOf, type SpaceId, spaceOf } from "../../base/ids.ts";
import type { Engine, NodeId } from "../../engine/engine.ts";
import type { Traffic } from "../../telemetry/traffic.ts";
import type { RateWindow } from "../counting/rate-window.ts";
import type { Usage } from "../counting/usage.ts";
import type { Channel } from "./channel.ts";
import type { Peer } from "./peer.ts";
import { Space } from "./space.ts";

export class Spaces {
  /** Bound: live applications. */
  private readonly byApp = new Map<SpaceId, Space>();

  constructor(
    private readonly node: NodeId,
    private readonly engine: Engine,
    private readonly traffic: Traffic,
    private readonly rateWindow: RateWindow,
    private readonly usage: Usage,
  ) {}

  get(app: SpaceId): Space | undefined {
    return this.byApp.get(app);
  }

  /** The space of an application, created if there is none. */
  open(app: SpaceId): Space {
    let space = this.byApp.get(app);
    if (!space) {
      const owner = appOfSpace(app);
      space = new Space(app, this.node, this.traffic.of(owner), this.rateWindow, this.usage.of(owner));
      this.byApp.set(app, space);
    }
    return space;
  }

  channel(app: SpaceId, name: string): Channel | undefined {
    return this.byApp.get(app)?.channels.get(name);
  }

  peer(app: SpaceId, peerId: string): Peer | undefined {
    return this.byApp.get(app)?.peers.get(peerId);
  }

  all(): Iterable<Space> {
    return this.byApp.values();
  }

  /** The connections of an application, those in its rooms included. */
  connectionsOf(app: AppId): number {
    return (this.get(spaceOf(app))?.connectionCount ?? 0) + (this.get(roomSpaceOf(app))?.connectionCount ?? 0);
  }

  get channelCount(): number {
    let count = 0;
    for (const space of this.byApp.values()) count += space.channels.size;
    return count;
  }

  /** Forgets a channel that has no subscriber here, keeps no member, and of which other nodes know no member through this one. */
  forgetIfUnused(channel: Channel): void {
    if (channel.subscribers + channel.replaying > 0 || !channel.isInUse) return;
    if ([...channel.members.values()].some((member) => member.announced || member.lingeringState)) return;
    this.detach(channel);
    this.engine.unwatch(channel.space.app, channel.name);
    // Behind `unwatch`: a subscribe that has waited for this stream begins, and watches the same name again.
    channel.stream?.end();
    this.forgetIfEmpty(channel.space);
  }

  /**
   * Takes a channel out of use: the next subscriber of that name gets a new one. The caller ends its stream, when nothing else is
   * left to do. Returns the members that other nodes know through this one; `undefined` if the channel was detached before.
   */
  detach(channel: Channel): string[] | undefined {
    if (!channel.isInUse) return undefined;
    channel.space.channels.delete(channel.name);
    const announced: string[] = [];
    for (const member of [...channel.members.values()]) {
      if (member.announced) announced.push(member.peer.peerId);
      member.announced = undefined;
      member.peer.removePending(member);
      channel.forget(member);
    }
    return announced;
  }

  forgetIfEmpty(space: Space): void {
    if (space.isEmpty && this.byApp.get(space.app) === space) this.byApp.delete(space.app);
  }
}
