/**
 * Every second, for the people on this node: those whose time is over are put out, and meetings end in which nothing happens any more or whose room is
 * archived by the clock. The server's clock decides. Several nodes may find the same; the store lets one of them do it.
 */
import type { RoomSeat } from "../access/room-token.ts";
import { isObject } from "../protocol/json.ts";
import { valuesOf } from "../rooms/rooms.ts";
import type { MeetingStore } from "../store/meetings.ts";
import type { RoomRow } from "../store/rooms.ts";
import type { Exits } from "./exits.ts";
import type { Floor } from "./floor.ts";
import { TICK_MS, WARNED_BEFORE_MS } from "./limits.ts";
import { type Notices, refOf } from "./notices.ts";
import type { Present, PresentRoom, PresentStay } from "./present.ts";

export interface TimeParts {
  readonly store: Pick<MeetingStore, "current">;
  readonly floor: Pick<Floor, "members">;
  readonly present: Present;
  readonly notices: Notices;
  readonly exits: Exits;
  readonly nowMs: () => number;
  readonly steadyMs: () => number;
  readonly failed: (error: unknown) => void;
}

/** What was seen of a room in the seconds before. */
interface Watch {
  /** Steady ms. */
  lastActive: number;
  /** There was activity at the check before. */
  wasActive: boolean;
  members: ReadonlySet<string>;
  isWarned: boolean;
}

export class Times {
  /** Bound: rooms with people on this node. */
  private readonly watches = new WeakMap<PresentRoom, Watch>();
  /** The time that a person, or everyone in a room, was warned of. */
  private readonly warned = new WeakMap<PresentStay | PresentRoom, number>();

  constructor(private readonly parts: TimeParts) {}

  /** A participant has subscribed to the notices of its room: one that came before is repeated. */
  noticesWanted(seat: RoomSeat): void {
    const room = this.parts.present.room(seat.claims.room);
    const stay = this.parts.present.stay(seat);
    if (!room || !stay) return;
    this.warned.delete(room);
    this.warned.delete(stay);
    const watch = this.watches.get(room);
    if (watch) watch.isWarned = false;
  }

  async tick(): Promise<void> {
    for (const room of [...this.parts.present.all()]) {
      try {
        if (!(await this.checkRoom(room))) await this.checkStays(room);
      } catch (error) {
        this.parts.failed(error);
      }
    }
  }

  /** true: the meeting is over. */
  private async checkRoom(room: PresentRoom): Promise<boolean> {
    const { nowMs } = this.parts;
    const { archiveAt } = room.row;
    if (archiveAt !== null && archiveAt <= nowMs()) return this.end(room.row);
    const roomEnd = roomEndOf(room.row);
    if (roomEnd !== null) await this.warn(room, room.row, roomEnd);
    const idleSec = valuesOf(room.row).endMeetingAfterNoActivityInSec;
    return idleSec === undefined ? false : this.checkActivity(room, idleSec * 1000);
  }

  private async checkStays({ row, stays }: PresentRoom): Promise<void> {
    const roomEnd = roomEndOf(row);
    for (const stay of [...stays.values()]) {
      const { ejectAt, seat } = stay;
      if (ejectAt === null) continue;
      const { id } = seat.claims;
      if (ejectAt !== roomEnd) await this.warn(stay, row, ejectAt, id);
      if (ejectAt <= this.parts.nowMs()) await this.parts.exits.timeOver(refOf(row), id);
    }
  }

  /** Once per time: when it was changed, again. Also for a time that is over: if a check is late, no other notice comes before the close. */
  private async warn(
    whom: PresentStay | PresentRoom,
    row: RoomRow,
    atMs: number,
    participantSession?: string,
  ): Promise<void> {
    const inMs = atMs - this.parts.nowMs();
    if (inMs > WARNED_BEFORE_MS || this.warned.get(whom) === atMs) return;
    this.warned.set(whom, atMs);
    await this.parts.notices.ending(refOf(row), Math.max(0, Math.ceil(inMs / 1000)), participantSession);
  }

  /** Activity is that a person shares something, as the pages say, or that a person comes in. */
  private async checkActivity(room: PresentRoom, idleMs: number): Promise<boolean> {
    const { floor, steadyMs, notices } = this.parts;
    const now = steadyMs();
    const members = floor.members(room.app, room.row.id);
    const watch = this.watches.get(room) ?? newWatch(now);
    this.watches.set(room, watch);
    const isNew = members.some(({ peerId }) => !watch.members.has(peerId));
    watch.members = new Set(members.map(({ peerId }) => peerId));
    if (isNew || members.some(({ state }) => shares(state))) {
      watch.lastActive = now;
      watch.wasActive = true;
      watch.isWarned = false;
      return false;
    }
    // It ended at some time since the check before. If this check is late, that one is too long ago to count from.
    if (watch.wasActive) watch.lastActive = Math.max(watch.lastActive, now - TICK_MS);
    watch.wasActive = false;
    const leftMs = watch.lastActive + idleMs - now;
    if (leftMs <= 0) return this.end(room.row);
    if (leftMs <= Math.min(WARNED_BEFORE_MS, idleMs / 2) && !watch.isWarned) {
      watch.isWarned = true;
      await notices.ending(refOf(room.row), Math.ceil(leftMs / 1000));
    }
    return false;
  }

  private async end(row: RoomRow): Promise<true> {
    const meeting = await this.parts.store.current(row.app, row.id);
    if (meeting) await this.parts.exits.endMeeting(meeting);
    return true;
  }
}

const newWatch = (nowMs: number): Watch => ({
  lastActive: nowMs,
  wasActive: true,
  members: new Set(),
  isWarned: false,
});

const shares = (state: unknown): boolean =>
  isObject(state) && (state.audio === true || state.video === true || state.screen === true);

/** When everyone is put out, or the room is archived; Unix ms. */
function roomEndOf(row: RoomRow): number | null {
  const { ejectAtRoomExp, expireUnixSec } = valuesOf(row);
  return row.archiveAt ?? (ejectAtRoomExp && expireUnixSec !== undefined ? expireUnixSec * 1000 : null);
}
