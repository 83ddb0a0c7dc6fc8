/**
 * Places that are reserved for people who have joined a room and are not connected yet, and what they are compared with: the room's meeting and the stays
 * in it that have not ended.
 *
 * Nodes that share a store reserve places in rows, under a lock of the room (places-in-rows.ts). Elsewhere they are in memory, so that a join writes
 * nothing (places-in-memory.ts): a place is reserved for seconds, and after a restart the clients join again.
 */
import type { SQL } from "bun";
import type { AppId } from "../../../base/ids.ts";
import type { MeetingRow, MeetingStore, StayRow } from "../../contract/meetings.ts";

/** With `tx`: inside a transaction, after `lock`. */
export interface ReservedPlaces {
  /** Until the transaction ends, no other one has the lock of this room. */
  lock(tx: SQL, app: AppId | "", room: string): Promise<void>;
  /** The same, for the room of a stay. */
  lockByStay(tx: SQL, stay: string): Promise<void>;
  readonly reserve: MeetingStore["reserve"];
  /** Which places others have: open stays and reserved places. Without the lock it is what was so a moment ago. */
  taken(sql: SQL, app: AppId, room: string, id: string, nowMs: number): Promise<Taken>;
  release(tx: SQL, id: string): Promise<void>;
  /** Gives up places that are reserved for longer. */
  releaseAfter(untilMs: number): Promise<void>;
  /** Removes some places that are stored for a deleted application, and returns how many. */
  clear(app: AppId, limit: number): Promise<number>;
  readonly latest: MeetingStore["latest"];
  /** The meeting of the room that has not ended. */
  current(tx: SQL, app: AppId, room: string): Promise<Current | undefined>;
  /** The transaction changes which meetings the room has, or who is inside. */
  changed(app: AppId, room: string): void;
  /** The stay has begun, and its transaction is committed; called before any other statement. */
  entered(stay: StayRow, meeting: MeetingRow): void;
}

export interface Taken {
  readonly byOthers: number;
  /** It has a stay there that is open. */
  readonly isInside: boolean;
}

export interface Current {
  readonly meeting: MeetingRow;
  /** No stay is open. */
  readonly isEmpty: boolean;
}
