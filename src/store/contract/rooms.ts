/**
 * The contract of stored rooms.
 *
 * - A room is live while it is not archived and `archiveAt` is later than `nowMs`, whether or not a sweep has archived it. Every read but
 *   `archivedRoom` MUST return live rooms only.
 * - Among the rooms of an application that are not archived, names MUST be unique. Otherwise `addRoom` and `replaceRoom` return "taken" and
 *   change nothing. A room that is due but not archived yet still holds its name.
 * - `replaceRoom` MUST write only if the stored version is that of `row`, and return "changed" otherwise: several nodes may edit one room.
 * - `archiveDue` MUST archive each room once, however many nodes call it.
 * - `addRoom` MUST return "full" if the application has `max` rooms that are not archived, also when many are added at once.
 */
import type { AppId } from "../../base/ids.ts";

/** Rooms that are due but not archived yet, of which `total` is made right. */
export const ROOMS_DUE_COUNTED = 1000;

export interface RoomRow {
  readonly id: string;
  readonly app: AppId;
  readonly name: string;
  /** The fields that were set, by name. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly created: number;
  readonly archiveAt: number | null;
  readonly version: number;
}

export interface RoomPage {
  readonly rows: readonly RoomRow[];
  /** Live rooms of the application. While more than ROOMS_DUE_COUNTED wait to be archived, some of those are counted too. */
  readonly total: number;
}

/** The rooms of an application, or the one of that name. */
export interface RoomsOf {
  readonly app: AppId;
  readonly name?: string | undefined;
}

export interface RoomStore {
  room(app: AppId, name: string, nowMs: number): Promise<RoomRow | undefined>;
  roomById(app: AppId, id: string, nowMs: number): Promise<RoomRow | undefined>;
  /** A room that was there, whether or not it is live still: for events that were not sent yet when it was archived. */
  archivedRoom(app: AppId, id: string): Promise<RoomRow | undefined>;
  /** At most `limit` rooms, newest first, after `endId` if it is given. */
  rooms(app: AppId, limit: number, endId: string | undefined, nowMs: number): Promise<RoomRow[]>;
  /** Newest first, after `endId` if it is given. undefined: the application never had a room of that id. */
  roomPage(app: AppId, limit: number, endId: string | undefined, nowMs: number): Promise<RoomPage | undefined>;
  addRoom(row: RoomRow, max?: number): Promise<"added" | "taken" | "full">;
  /** `row.version` is the version that the edit was made from. `nowMs` is when it was made, for webhooks. */
  replaceRoom(row: RoomRow, nowMs?: number): Promise<"replaced" | "taken" | "changed">;
  /** false: there is no such live room. */
  archiveRoom(app: AppId, name: string, nowMs: number): Promise<boolean>;
  /** Archives rooms that are due, at most `limit`, and returns how many: of all applications, or only those of `of`. */
  archiveDue(nowMs: number, limit: number, of?: RoomsOf): Promise<number>;
  /** When the next room is due. */
  nextDue(): Promise<number | undefined>;
  /** Recomputes the counters of `addRoom` and `roomPage`: nodes of a version without counters may have written rooms. */
  recount(): Promise<void>;
}
