/**
 * The contract of rooms at rest.
 *
 * - A room lives while it is not archived and its `archiveAt` has not come; `nowMs` decides that, not whether the sweep has
 *   been there. Every read MUST give living rooms only.
 * - Among rooms not archived a name MUST occur once in an application. `addRoom` and `replaceRoom` answer "taken" and leave
 *   everything as it was; a room that is due but not archived yet still has its name.
 * - `replaceRoom` MUST write only if the stored version is the one before, and answer "changed" otherwise: several nodes may
 *   edit one room.
 * - `archiveDue` MUST give each room to one caller only, however many nodes ask.
 * - `addRoom` MUST answer "full" where the application has `max` rooms that are not archived, also when many are added at once.
 */
export interface RoomRow {
  readonly id: string;
  readonly app: string;
  readonly name: string;
  /** What was set, by name. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly created: number;
  readonly archiveAt: number | null;
  readonly version: number;
}

export interface RoomPage {
  readonly rows: readonly RoomRow[];
  /** Of the application, not of the page. */
  readonly total: number;
}

export interface RoomStore {
  room(app: string, name: string, nowMs: number): Promise<RoomRow | undefined>;
  roomById(app: string, id: string, nowMs: number): Promise<RoomRow | undefined>;
  /** Newest first, from behind `endId` on, or from the newest; at most `limit`. */
  rooms(app: string, limit: number, endId: string | undefined, nowMs: number): Promise<RoomRow[]>;
  /** Newest first, from behind `endId` on. undefined: `endId` never was a room of this application. */
  roomPage(app: string, limit: number, endId: string | undefined, nowMs: number): Promise<RoomPage | undefined>;
  addRoom(row: RoomRow, max?: number): Promise<"added" | "taken" | "full">;
  /** `row` carries the version that it was made from. */
  replaceRoom(row: RoomRow): Promise<"replaced" | "taken" | "changed">;
  /** false: there is no such room any more. */
  archiveRoom(app: string, name: string, nowMs: number): Promise<boolean>;
  /** Archives rooms whose time has come, at most `limit`; how many. */
  archiveDue(nowMs: number, limit: number): Promise<number>;
  /** When the next room is due. */
  nextDue(): Promise<number | undefined>;
  /** Counts anew what `addRoom` and `roomPage` count by: nodes of a version that did not count may have written meanwhile. */
  recount(): Promise<void>;
}
