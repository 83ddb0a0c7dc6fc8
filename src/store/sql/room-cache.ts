/**
 * Rooms as they were last read, where no other process writes to the store: people who join a room all need its row. What changes rooms MUST forget them
 * before others use the connection, and rows are added before that too when they were read, so that no older row takes the place of a newer one.
 */
import type { AppId } from "../../base/ids.ts";
import type { RoomRow } from "../contract/rooms.ts";

/** Bound: beyond this number the oldest is forgotten. */
const ROOMS_MAX = 2000;

export class RoomCache {
  /** Bound: ROOMS_MAX, the oldest is read again. */
  private readonly byId = new Map<string, RoomRow>();
  /** Bound: as `byId`. */
  private readonly byName = new Map<string, RoomRow>();

  /** `isShared`: other processes may change rooms, so none is kept. */
  constructor(private readonly isShared: boolean) {}

  withId(app: AppId, id: string, nowMs: number): RoomRow | undefined {
    const row = this.byId.get(id);
    return row?.app === app ? live(row, nowMs) : undefined;
  }

  named(app: AppId, name: string, nowMs: number): RoomRow | undefined {
    return live(this.byName.get(keyOf(app, name)), nowMs);
  }

  add(row: RoomRow): void {
    if (this.isShared) return;
    this.forget(row.id);
    const [oldest] = this.byId.keys();
    if (oldest !== undefined && this.byId.size >= ROOMS_MAX) this.forget(oldest);
    this.byId.set(row.id, row);
    this.byName.set(keyOf(row.app, row.name), row);
  }

  forget(id: string): void {
    const row = this.byId.get(id);
    if (!row) return;
    this.byId.delete(id);
    this.byName.delete(keyOf(row.app, row.name));
  }

  forgetAll(): void {
    this.byId.clear();
    this.byName.clear();
  }
}

/** No application's id contains a slash. */
const keyOf = (app: AppId, name: string): string => `${app}/${name}`;

const live = (row: RoomRow | undefined, nowMs: number): RoomRow | undefined =>
  row && (row.archiveAt === null || row.archiveAt > nowMs) ? row : undefined;
