/** Rooms of an application: their rules, without HTTP. */
import { randomInt } from "node:crypto";
import { newObjectId } from "../access/keys/ids.ts";
import { FairQueue } from "../base/fair-queue.ts";
import type { AppId } from "../base/ids.ts";
import { Problem } from "../protocol/codes.ts";
import type { RoomRow, RoomStore } from "../store/contract/rooms.ts";
import type { Expiry } from "./expiry.ts";
import { type FieldEdits, type FieldValues, merged, shownFields } from "./fields.ts";
import { ROOM_NAME_RANDOM_CHARS } from "./limits.ts";
import { refuseReserved } from "./reserved-names.ts";

export interface RoomEdits extends FieldEdits {
  readonly roomName?: string | undefined;
}

/** The record of service.md 2.4, and all other fields that were set. */
export interface RoomRecord extends FieldValues {
  readonly _id: string;
  readonly roomName: string;
  readonly app: AppId;
  readonly created: string;
  readonly archived: boolean;
}

export interface RoomList {
  readonly data: RoomRecord[];
  readonly total: number;
  readonly limit: number;
  readonly currEndId: string;
}

export interface RoomSearch {
  readonly limit: number;
  /** The `next` of the page before. */
  readonly after?: string | undefined;
  readonly search?: string | undefined;
}

interface Found {
  readonly data: RoomRecord[];
  /** null: there are no more. */
  readonly next: string | null;
}

export interface FoundRooms extends Found {
  /** All rooms of the application. */
  readonly total: number;
}

/** A room was edited or archived on this node. */
export interface RoomChange {
  readonly app: AppId;
  /** The room's id. */
  readonly room: string;
  /** As it was, and as it is; both are absent if it was archived. */
  readonly before?: RoomRow;
  readonly after?: RoomRow;
}

export const valuesOf = (row: RoomRow): FieldValues => row.fields as FieldValues;

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
/** Rooms that are held in memory at once while a list is sent. */
export const LIST_PAGE_ROOMS = 200;
/** Rooms that one call of a search reads. */
const SEARCH_ROOMS_MAX = 5000;
/** Searches of one application that wait on a node: each takes milliseconds, and people search by hand. */
const SEARCHES_WAITING_MAX = 20;
/** Attempts of an edit: it is repeated when another node has changed the room meanwhile. */
const EDIT_ATTEMPTS = 20;

export class Rooms {
  /** Bound: registered at the start. */
  private readonly listeners: ((change: RoomChange) => void)[] = [];
  /** A search reads many rooms, and SQLite runs on the event loop: one step at a time, and other work in between. */
  private readonly searches = new FairQueue({ stepsAtOnce: 1, waitingMax: SEARCHES_WAITING_MAX });

  constructor(
    private readonly store: RoomStore,
    private readonly expiry: Expiry,
    private readonly nowMs: () => number,
    /** Limit of rooms that are not archived. */
    private readonly maxPerApp: number,
  ) {}

  /** Called after each edit and each archiving by this node, except those by the clock (expiry.ts). MUST NOT throw. */
  onChange(listener: (change: RoomChange) => void): void {
    this.listeners.push(listener);
  }

  async create(app: AppId, { roomName, ...edits }: RoomEdits): Promise<RoomRecord> {
    if (roomName !== undefined) refuseReserved(roomName);
    const fields = merged({}, edits);
    const now = this.nowMs();
    const row: RoomRow = {
      id: newObjectId(now),
      app,
      name: roomName ?? randomName(),
      fields,
      created: now,
      archiveAt: archiveAt(fields),
      version: 1,
    };
    const outcome = await this.withFreeName(row, () => this.store.addRoom(row, this.maxPerApp));
    if (outcome === "taken") throw alreadyExists(row.name);
    if (outcome === "full")
      throw new Problem(
        "room_limit_reached",
        `An application can have at most ${this.maxPerApp} rooms (PARLEY_MAX_ROOMS_PER_APP). Archive some first.`,
      );
    this.expiry.schedule(row.archiveAt);
    return recordOf(row);
  }

  async get(app: AppId, name: string): Promise<RoomRecord> {
    return recordOf(await this.row(app, name));
  }

  /**
   * All rooms, newest first, in pages; only the last page has fewer than LIST_PAGE_ROOMS. Each room is listed once, as it was when its page
   * was read. Rooms that are created meanwhile are missing, and rooms that are archived meanwhile may be.
   */
  async *list(app: AppId): AsyncGenerator<RoomRecord[], undefined> {
    let endId: string | undefined;
    for (;;) {
      const rows = await this.store.rooms(app, LIST_PAGE_ROOMS, endId, this.nowMs());
      yield rows.map(recordOf);
      if (rows.length < LIST_PAGE_ROOMS) return;
      endId = rows.at(-1)?.id;
    }
  }

  async page(app: AppId, limit: number, endId: string | undefined): Promise<RoomList> {
    const page = await this.store.roomPage(app, limit, endId, this.nowMs());
    if (!page)
      throw new Problem("invalid_request", "endId: it is not the currEndId of a page of this application's rooms");
    return { data: page.rows.map(recordOf), total: page.total, limit, currEndId: page.rows.at(-1)?.id ?? "" };
  }

  /**
   * Rooms, newest first, whose name contains `search` in upper or lower case. A call reads at most SEARCH_ROOMS_MAX rooms: then `next` says
   * where the search goes on, even if nothing was found so far.
   */
  async find(app: AppId, { limit, after, search }: RoomSearch): Promise<FoundRooms> {
    const { total = 0 } = (await this.store.roomPage(app, 1, undefined, this.nowMs())) ?? {};
    if (search !== undefined) return { ...(await this.search(app, limit, after, search.toLowerCase())), total };
    const rows = await this.store.rooms(app, limit + 1, after, this.nowMs());
    return { ...foundIn(rows, limit), total };
  }

  private search(app: AppId, limit: number, after: string | undefined, text: string): Promise<Found> {
    return this.searches.run(app, JSON.stringify([text, limit, after]), async (step) => {
      const found: RoomRow[] = [];
      let endId = after;
      for (let read = 0; read < SEARCH_ROOMS_MAX; read += LIST_PAGE_ROOMS) {
        const rows = await step(() => this.store.rooms(app, LIST_PAGE_ROOMS, endId, this.nowMs()));
        found.push(...rows.filter(({ name }) => name.toLowerCase().includes(text)));
        if (found.length > limit || rows.length < LIST_PAGE_ROOMS) return foundIn(found, limit);
        endId = rows.at(-1)?.id;
      }
      return { data: found.map(recordOf), next: endId ?? null };
    });
  }

  async update(app: AppId, name: string, { roomName, ...edits }: RoomEdits): Promise<RoomRecord> {
    for (let attempts = 0; attempts < EDIT_ATTEMPTS; attempts++) {
      const old = await this.row(app, name);
      if (roomName !== undefined && roomName !== old.name) refuseReserved(roomName);
      const fields = merged(valuesOf(old), edits);
      const row = { ...old, name: roomName ?? old.name, fields, archiveAt: archiveAt(fields) };
      const outcome = await this.withFreeName(row, () => this.store.replaceRoom(row, this.nowMs()));
      if (outcome === "taken") throw alreadyExists(row.name);
      if (outcome === "changed") continue;
      this.expiry.schedule(row.archiveAt);
      this.changed({ app, room: row.id, before: old, after: row });
      return recordOf(row);
    }
    throw new Problem("internal_error", "Too many others are changing this room. Try again.");
  }

  async archive(app: AppId, name: string): Promise<void> {
    const row = await this.row(app, name);
    if (!(await this.store.archiveRoom(app, name, this.nowMs()))) throw new Problem("room_not_found");
    this.changed({ app, room: row.id });
  }

  /** The room of that name; throws a problem if there is none. */
  async row(app: AppId, name: string): Promise<RoomRow> {
    const row = await this.store.room(app, name, this.nowMs());
    if (!row) throw new Problem("room_not_found");
    return row;
  }

  private changed(change: RoomChange): void {
    for (const listener of this.listeners) listener(change);
  }

  /** A room that is due but not archived yet still holds its name, and counts: it is archived now, and the write is repeated. */
  private async withFreeName<T extends string>({ app, name }: RoomRow, write: () => Promise<T>): Promise<T> {
    const outcome = await write();
    if (outcome !== "taken" && outcome !== "full") return outcome;
    const archived = await this.expiry.archiveOf(app, outcome === "taken" ? name : undefined);
    return archived === 0 ? outcome : write();
  }
}

/** A room by id or name: 24 hex digits are tried as an id first (rooms.md, Recordings). */
export async function findRoom(
  store: RoomStore,
  app: AppId,
  idOrName: string,
  nowMs: number,
): Promise<RoomRow | undefined> {
  const byId = /^[0-9a-f]{24}$/.test(idOrName) ? await store.roomById(app, idOrName, nowMs) : undefined;
  return byId ?? store.room(app, idOrName, nowMs);
}

/** A room as the API shows it. */
export const recordOf = (row: RoomRow): RoomRecord => ({
  _id: row.id,
  roomName: row.name,
  app: row.app,
  created: new Date(row.created).toISOString(),
  ...shownFields(valuesOf(row)),
  archived: false,
});

/** `rows` has more than `limit` if there are further ones. */
const foundIn = (rows: readonly RoomRow[], limit: number): Found => ({
  data: rows.slice(0, limit).map(recordOf),
  next: rows.length > limit ? (rows[limit - 1]?.id ?? null) : null,
});

const archiveAt = ({ deleteOnExp, expireUnixSec }: FieldValues): number | null =>
  deleteOnExp && expireUnixSec !== undefined ? expireUnixSec * 1000 : null;

const randomName = (): string =>
  Array.from({ length: ROOM_NAME_RANDOM_CHARS }, () => LETTERS[randomInt(LETTERS.length)]).join("");

const alreadyExists = (name: string): Problem =>
  new Problem(
    "room_already_exists",
    `A room named ${name} already exists. Use it, delete or rename it, or choose another name.`,
  );
