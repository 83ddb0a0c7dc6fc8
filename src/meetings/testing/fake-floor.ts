/** For tests: the floors of several nodes that are joined, without sockets. What is published and closed is kept to be looked at. */
import type { RoomAccess } from "../../access/tokens/room-access.ts";
import type { AppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { CloseReason, Floor, FloorMember } from "../contract/floor.ts";

export interface Published {
  readonly app: AppId;
  readonly channel: string;
  readonly data: JsonObject;
}

export interface Closed {
  readonly peerId: string;
  readonly reason: CloseReason;
  /** The connection that stays open. */
  readonly except?: string | undefined;
}

/** What the nodes share. */
export class FakeFloors {
  readonly nodes: FakeFloor[] = [];
  readonly published: Published[] = [];
  readonly forgotten: string[] = [];
  /** Members of all rooms, by the room's id. */
  readonly members = new Map<string, FloorMember[]>();
  /** Requests between nodes are lost. */
  isCut = false;
  /** Nothing can be published, as while NATS is unavailable. */
  isMute = false;

  node(): FakeFloor {
    const floor = new FakeFloor(this);
    this.nodes.push(floor);
    return floor;
  }

  /** The data published on channels whose name ends so, oldest first. */
  on(channelEnd: string): JsonObject[] {
    return this.published.filter(({ channel }) => channel.endsWith(channelEnd)).map(({ data }) => data);
  }
}

export class FakeFloor implements Floor {
  readonly closed: Closed[] = [];
  readonly accesses = new Map<string, RoomAccess>();
  /** What stays were renamed to. */
  readonly renamed: { readonly peerId: string; readonly name: string }[] = [];
  private readonly responders = new Map<string, (payload: unknown) => unknown>();

  constructor(private readonly all: FakeFloors) {}

  publish(app: AppId, channel: string, data: JsonObject): Promise<void> {
    if (this.all.isMute) return Promise.reject(new Problem("backend_error"));
    this.all.published.push({ app, channel, data });
    return Promise.resolve();
  }

  close(_app: AppId, peerId: string, reason: CloseReason, except?: string): number {
    this.closed.push({ peerId, reason, except });
    return 1;
  }

  setAccess(_app: AppId, peerId: string, access: RoomAccess): void {
    this.accesses.set(peerId, access);
  }

  rename(_app: AppId, peerId: string, name: string): void {
    this.renamed.push({ peerId, name });
  }

  members(_app: AppId, room: string): readonly FloorMember[] {
    return this.all.members.get(room) ?? [];
  }

  isMember(app: AppId, room: string, peerId: string): boolean {
    return this.members(app, room).some((member) => member.peerId === peerId);
  }

  forget(_app: AppId, channel: string): Promise<void> {
    this.all.forgotten.push(channel);
    return Promise.resolve();
  }

  ask(name: string, payload: JsonObject): Promise<readonly unknown[]> {
    const asked = this.all.isCut ? [this] : this.all.nodes;
    return Promise.all(asked.map((node) => node.responders.get(name)?.(structuredClone(payload))));
  }

  on(name: string, respond: (payload: unknown) => unknown): void {
    this.responders.set(name, respond);
  }
}
