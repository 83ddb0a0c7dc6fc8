/** What meetings/ does in the space of an application's rooms: fulfils meetings/contract/floor.ts, which this part must not import. */
import type { RoomAccess } from "../../access/tokens/room-access.ts";
import { type AppId, roomSpaceOf } from "../../base/ids.ts";
import type { Envelope } from "../../engine/engine.ts";
import type { NodeRequests } from "../../engine/node-requests.ts";
import { Problem } from "../../protocol/codes.ts";
import { isObject, type JsonObject } from "../../protocol/json.ts";
import { PUT_OUT, type PutOut, STAY_OVER } from "../../protocol/put-out.ts";
import { roomChannel, SERVICE } from "../../protocol/room-channels.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { Connections } from "../connections/connections.ts";
import type { Presence } from "../presence/presence.ts";
import type { Connection } from "../state/connection.ts";
import type { Spaces } from "../state/spaces.ts";
import type { Outcome } from "../streams/outcomes.ts";
import type { Publishing } from "../streams/publishing.ts";
import type { Streams } from "../streams/streams.ts";
import type { Narrowing } from "../subscriptions/narrowing.ts";
import type { Kicks } from "./kicks.ts";

/** Apart from what operators ask of nodes. */
const REQUEST = "rooms: ";

const CLOSINGS = { ...PUT_OUT, ...STAY_OVER } as const;

interface RoomMember {
  readonly peerId: string;
  readonly state: JsonObject | undefined;
}

interface RoomFloorParts {
  readonly boundary: Boundary;
  readonly connections: Pick<Connections, "close">;
  readonly kicks: Pick<Kicks, "kickHere">;
  readonly narrowing: Narrowing;
  readonly nodeRequests: NodeRequests;
  readonly presence: Pick<Presence, "onChanged">;
  readonly publishing: Pick<Publishing, "publish">;
  readonly spaces: Spaces;
  readonly streams: Pick<Streams, "remove">;
}

export class RoomFloor {
  constructor(private readonly parts: RoomFloorParts) {}

  async publish(app: AppId, channel: string, data: JsonObject): Promise<void> {
    const envelope: Envelope = { from: SERVICE, metadataJson: undefined, dataJson: JSON.stringify(data) };
    const outcome = await new Promise<Outcome>((resolve) =>
      this.parts.publishing.publish(roomSpaceOf(app), channel, envelope, resolve),
    );
    if (typeof outcome !== "string" || outcome === "delivered") return;
    throw new Problem(outcome === "unconfirmed" ? "backend_error" : outcome);
  }

  close(app: AppId, peerId: string, reason: PutOut | "left" | "lost", except?: string): number {
    // A participant whose connection was lost before must not be shown any longer either.
    if (reason !== "replaced") return this.parts.kicks.kickHere(roomSpaceOf(app), peerId, CLOSINGS[reason]);
    const older = this.connectionsOf(app, peerId).filter(({ id }) => id !== except);
    for (const connection of older) this.parts.connections.close(connection, PUT_OUT.replaced);
    return older.length;
  }

  setAccess(app: AppId, peerId: string, access: RoomAccess): void {
    const { narrowing, boundary } = this.parts;
    for (const connection of this.connectionsOf(app, peerId)) {
      const { seat } = connection;
      if (!seat) continue;
      connection.setRoomAccess(seat, access);
      boundary.forConnection("socket", connection, () =>
        narrowing.endFor(connection, "room", (channel) => connection.covers(channel)),
      );
    }
  }

  rename(app: AppId, peerId: string, name: string): void {
    const { presence, boundary } = this.parts;
    for (const connection of this.connectionsOf(app, peerId)) {
      const { seat } = connection;
      if (!seat || seat.name === name) continue;
      connection.setRoomName(seat, name);
      boundary.forConnection("socket", connection, () => {
        for (const { member } of connection.subscriptions) if (member) presence.onChanged(member);
      });
    }
  }

  members(app: AppId, room: string): readonly RoomMember[] {
    const members = this.parts.spaces.channel(roomSpaceOf(app), roomChannel(room))?.members.values() ?? [];
    return [...members].flatMap((member) => {
      const state = member.arrivedState();
      return state ? { peerId: state.peerId, state: parsedState(state.stateJson) } : [];
    });
  }

  isMember(app: AppId, room: string, peerId: string): boolean {
    return this.parts.spaces.channel(roomSpaceOf(app), roomChannel(room))?.members.has(peerId) === true;
  }

  async forget(app: AppId, channel: string): Promise<void> {
    await this.parts.streams.remove(roomSpaceOf(app), channel);
  }

  async ask(name: string, payload: JsonObject): Promise<readonly unknown[]> {
    const { answers } = await this.parts.nodeRequests.gather(REQUEST + name, payload, (answer) => answer);
    return answers;
  }

  on(name: string, respond: (payload: unknown) => unknown): void {
    // What a node answers is sent as JSON, which has no undefined.
    this.parts.nodeRequests.onRequest(REQUEST + name, async (payload) => (await respond(payload)) ?? null);
  }

  private connectionsOf(app: AppId, peerId: string): readonly Connection[] {
    return [...(this.parts.spaces.peer(roomSpaceOf(app), peerId)?.connections ?? [])];
  }
}

/** Another node may have sent it. */
function parsedState(json: string | undefined): JsonObject | undefined {
  if (json === undefined) return undefined;
  const state: unknown = JSON.parse(json);
  return isObject(state) ? state : undefined;
}
