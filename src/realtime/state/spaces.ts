/** The applications with connections or channels on this node. What nothing uses any more is forgotten. */
import { type AppId, appOfSpace, roomSpaceOf, type SpaceId, spaceOf } from "../../base/ids.ts";
import type { Engine, NodeId } from "../../engine/engine.ts";
import type { Traffic } from "../../telemetry/traffic.ts";
import type { RateWindow } from "../counting/rate-window.ts";
import type { Usage } from "../counting/usage.ts";
import type { Channel } from "./channel.ts";
import type { MemberWatcher } from "./member-watcher.ts";
import type { Peer } from "./peer.ts";
import { Space } from "./space.ts";

export class Spaces {
  /** Bound: live applications. */
  private readonly byId = new Map<SpaceId, Space>();

  /** `undefined` while no one wants to know. */
  memberWatcher: MemberWatcher | undefined;

  constructor(
    private readonly node: NodeId,
    private readonly engine: Engine,
    private readonly traffic: Traffic,
    private readonly rateWindow: RateWindow,
    private readonly usage: Usage,
  ) {}

  get(spaceId: SpaceId): Space | undefined {
    return this.byId.get(spaceId);
  }

  /** The space of an application, created if there is none. */
  open(spaceId: SpaceId): Space {
    let space = this.byId.get(spaceId);
    if (!space) {
      const owner = appOfSpace(spaceId);
      space = new Space(spaceId, this.node, this.traffic.of(owner), this.rateWindow, this.usage.of(owner));
      this.byId.set(spaceId, space);
    }
    return space;
  }

  channel(spaceId: SpaceId, name: string): Channel | undefined {
    return this.byId.get(spaceId)?.channels.get(name);
  }

  peer(spaceId: SpaceId, peerId: string): Peer | undefined {
    return this.byId.get(spaceId)?.peers.get(peerId);
  }

  all(): Iterable<Space> {
    return this.byId.values();
  }

  /** The connections of an application, those in its rooms included. */
  connectionsOf(app: AppId): number {
    return (this.get(spaceOf(app))?.connectionCount ?? 0) + (this.get(roomSpaceOf(app))?.connectionCount ?? 0);
  }

  /** Those of them that are guests of its rooms. */
  guestsOf(app: AppId): number {
    return this.get(roomSpaceOf(app))?.guests?.size ?? 0;
  }

  get channelCount(): number {
    let count = 0;
    for (const space of this.byId.values()) count += space.channels.size;
    return count;
  }

  /** Forgets a channel that has no subscriber here, keeps no member, and of which other nodes know no member through this one. */
  forgetIfUnused(channel: Channel): void {
    if (channel.subscribers + channel.replaying > 0 || channel.followers || !channel.isInUse) return;
    if ([...channel.members.values()].some((member) => member.announced || member.lingeringState)) return;
    this.detach(channel);
    this.engine.unwatch(channel.space.id, channel.name);
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
      this.memberWatcher?.changed(member);
    }
    return announced;
  }

  forgetIfEmpty(space: Space): void {
    if (space.isEmpty && this.byId.get(space.id) === space) this.byId.delete(space.id);
  }
}
