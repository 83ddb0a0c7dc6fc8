/** What meetings/ needs of realtime, on this node and on the others. realtime/control/room-floor.ts is the real one; tests have their own. */
import type { RoomAccess } from "../../access/tokens/room-access.ts";
import type { AppId } from "../../base/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";

/** Why a participant is put out: the reason of the close 4021. */
export type PutOut = "time" | "ended" | "removed" | "replaced";

/**
 * Why the connections of a stay are closed: it is put out, or it has ended otherwise while one was still open. `left`: a newer connection has said goodbye,
 * so this one is closed as replaced, as it would have been by then. `lost`: its page may join again.
 */
export type CloseReason = PutOut | "left" | "lost";

/** One member of the channel `room` of a room, of any node. */
export interface FloorMember {
  readonly peerId: string;
  /** As it was last set; undefined if it has none. */
  readonly state: JsonObject | undefined;
}

/** `app` is always an application's id, never a space. */
export interface Floor {
  /** Publishes as the service. Resolves when it is accepted; channels with history may refuse while their store is unavailable. */
  publish(app: AppId, channel: string, data: JsonObject): Promise<void>;
  /** Closes the connections of a stay on this node, except one. Returns how many there were. */
  close(app: AppId, peerId: string, reason: CloseReason, except?: string): number;
  /** Gives the connections of a stay on this node another access: subscriptions that it does not cover end. */
  setAccess(app: AppId, peerId: string, access: RoomAccess): void;
  /** Shows a stay with a connection on this node under this name. */
  rename(app: AppId, peerId: string, name: string): void;
  /** The members of the room's channel `room`, as far as this node knows them: all of them if one is here. */
  members(app: AppId, room: string): readonly FloorMember[];
  /** Whether `members` has this one. */
  isMember(app: AppId, room: string, peerId: string): boolean;
  /** Removes the history of a channel. */
  forget(app: AppId, channel: string): Promise<void>;
  /** Asks all nodes, this one too; `on` registers what a node does. An answer that does not come is left out. */
  ask(name: string, payload: JsonObject): Promise<readonly unknown[]>;
  on(name: string, respond: (payload: unknown) => unknown): void;
}
