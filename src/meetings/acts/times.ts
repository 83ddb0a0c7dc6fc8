/**
 * Every second, for the people on this node: those whose time is over are put out, and meetings end in which nothing happens any more or whose room is
 * archived by the clock. The server's clock decides. Several nodes may find the same; the store lets one of them do it.
 */
import type { RoomSeat } from "../../access/tokens/room-token.ts";
import { valuesOf } from "../../rooms/rooms.ts";
import type { MeetingStore } from "../../store/contract/meetings.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import type { Floor } from "../contract/floor.ts";
import { ACTIVITY_KNOWN_WITHIN_MS, TICK_MS, WARNED_BEFORE_MS } from "../contract/limits.ts";
import { type Notices, refOf } from "../notices/notices.ts";
import type { Exits } from "../stays/exits.ts";
import type { Present, PresentRoom, PresentStay } from "../stays/present.ts";
import { type Activity, shares } from "./activity.ts";

interface TimeParts {
  readonly store: Pick<MeetingStore, "current">;
  readonly floor: Pick<Floor, "members">;
  readonly activity: Pick<Activity, "mayBeShared">;
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
  /** Peer ids of the members seen in the last second. Bound: members of the room. */
  members: ReadonlySet<string>;
  warning: Warning | undefined;
}

/** An end that was announced. */
interface Warning {
  /** Unix ms. Unknown for a meeting that ends without activity: then it is later with each check that finds some. */
  readonly atMs?: number;
  /** false: it could not be published, or a page has subscribed since: not everyone may know of it. */
  isShown: boolean;
}

export class Times {
  /** Bound: rooms with people on this node. */
  private readonly watches = new WeakMap<PresentRoom, Watch>();
  /** What a person, or everyone in a room, was warned of. Bound: they go with the person and the room. */
  private readonly warned = new WeakMap<PresentStay | PresentRoom, Warning>();

  constructor(private readonly parts: TimeParts) {}

  /** A participant has subscribed to the notices of its room: one that came before is repeated. */
  noticesWanted(seat: RoomSeat): void {
    const room = this.parts.present.room(seat.claims.room);
    const stay = this.parts.present.stay(seat);
    if (!room || !stay) return;
    for (const warning of [this.warned.get(room), this.warned.get(stay), this.watches.get(room)?.warning])
      if (warning) warning.isShown = false;
  }

  async tick(): Promise<void> {
    // All rooms at once: one whose end the store is not responding must not keep the others open.
    const checks = [...this.parts.present.all()].map(async (room) => {
      if (!(await this.checkRoom(room))) await this.checkStays(room);
    });
    for (const check of await Promise.allSettled(checks))
      if (check.status === "rejected") this.parts.failed(check.reason);
  }

  /** true: the meeting is over. */
  private async checkRoom(room: PresentRoom): Promise<boolean> {
    const { nowMs } = this.parts;
    const { archiveAt } = room.row;
    if (archiveAt !== null && archiveAt <= nowMs()) return this.end(room);
    await this.warn(room, room.row, roomEndOf(room.row));
    const idleSec = valuesOf(room.row).endMeetingAfterNoActivityInSec;
    if (idleSec !== undefined) return this.checkActivity(room, idleSec * 1000);
    const watch = this.watches.get(room);
    if (watch) await this.takeBack(room, watch);
    this.watches.delete(room);
    return false;
  }

  private async checkStays({ row, stays }: PresentRoom): Promise<void> {
    const roomEnd = roomEndOf(row);
    const over: string[] = [];
    for (const stay of [...stays.values()]) {
      const { ejectAt, seat } = stay;
      const { id } = seat.claims;
      await this.warn(stay, row, ejectAt === roomEnd ? null : ejectAt, id);
      if (ejectAt !== null && ejectAt <= this.parts.nowMs()) over.push(id);
    }
    if (over.length > 0) await this.parts.exits.timeOver(refOf(row), over);
  }

  /**
   * Once per time: when it was changed, again; if it is far away or gone, the warning is taken back. Also for a time that is over: if a check is late, no other
   * notice comes before the close.
   */
  private async warn(
    whom: PresentStay | PresentRoom,
    row: RoomRow,
    atMs: number | null,
    participantSession?: string,
  ): Promise<void> {
    const { notices, nowMs } = this.parts;
    const before = this.warned.get(whom);
    const inMs = atMs === null ? Number.POSITIVE_INFINITY : atMs - nowMs();
    if (atMs !== null && inMs <= WARNED_BEFORE_MS) {
      if (before?.isShown && before.atMs === atMs) return;
      const warning: Warning = { atMs, isShown: true };
      this.warned.set(whom, warning);
      if (!(await notices.ending(refOf(row), Math.max(0, Math.ceil(inMs / 1000)), participantSession)))
        warning.isShown = false;
    } else if (before) {
      this.warned.delete(whom);
      if (!(await this.continues(row, participantSession))) this.warned.set(whom, before);
    }
  }

  /** It ends what was announced to everyone, whatever that was: what still holds of it is announced again. */
  private async continues(row: RoomRow, participantSession?: string): Promise<boolean> {
    const room = participantSession === undefined ? this.parts.present.room(row.id) : undefined;
    if (room)
      for (const warning of [this.warned.get(room), this.watches.get(room)?.warning])
        if (warning) warning.isShown = false;
    return this.parts.notices.continues(refOf(row), participantSession);
  }

  private async takeBack(room: PresentRoom, watch: Watch): Promise<void> {
    const { warning } = watch;
    if (!warning) return;
    watch.warning = undefined;
    if (!(await this.continues(room.row))) watch.warning = warning;
  }

  private async checkActivity(room: PresentRoom, idleMs: number): Promise<boolean> {
    const { steadyMs } = this.parts;
    const now = steadyMs();
    const watch = this.watches.get(room) ?? newWatch(now);
    this.watches.set(room, watch);
    if (this.isActive(room, watch)) return this.goesOn(room, watch, now);
    // It ended at some time since the check before. If this check is late, that one is too long ago to count from.
    if (watch.wasActive) watch.lastActive = Math.max(watch.lastActive, now - TICK_MS);
    watch.wasActive = false;
    const leftMs = watch.lastActive + idleMs - now;
    if (leftMs <= 0) {
      const isOver = await this.end(room, watch);
      return isOver || this.goesOn(room, watch, steadyMs());
    }
    if (leftMs > Math.min(WARNED_BEFORE_MS, idleMs / 2)) await this.takeBack(room, watch);
    else if (!watch.warning && (await this.isKnownActive(room, watch))) return this.goesOn(room, watch, steadyMs());
    else await this.warnOfIdleness(room, watch, leftMs);
    return false;
  }

  /** Activity is that a person shares something, as the pages say, or that a person comes in. */
  private isActive({ app, row }: PresentRoom, watch: Watch): boolean {
    const members = this.parts.floor.members(app, row.id);
    const isNew = members.some(({ peerId }) => !watch.members.has(peerId));
    watch.members = new Set(members.map(({ peerId }) => peerId));
    return isNew || members.some(({ state }) => shares(state));
  }

  /** Also on nodes that this one hears nothing of. Asking them takes a moment, in which someone may come in here. */
  private async isActiveAnywhere(room: PresentRoom, watch: Watch): Promise<boolean> {
    return (await this.parts.activity.mayBeShared(room.app, room.row.id)) || this.isActive(room, watch);
  }

  /** No warning, and no other room, waits for a store that does not answer: nothing ends yet. */
  private async isKnownActive(room: PresentRoom, watch: Watch): Promise<boolean> {
    const asked = this.parts.activity.mayBeShared(room.app, room.row.id).catch((error: unknown) => {
      this.parts.failed(error);
      return false;
    });
    const isShared = await Promise.race([asked, Bun.sleep(ACTIVITY_KNOWN_WITHIN_MS).then(() => false)]);
    // Only now: in a late answer, who has come in would be noted as seen, and no check would find them new.
    return isShared || this.isActive(room, watch);
  }

  private async goesOn(room: PresentRoom, watch: Watch, nowMs: number): Promise<false> {
    watch.lastActive = nowMs;
    watch.wasActive = true;
    await this.takeBack(room, watch);
    return false;
  }

  private async warnOfIdleness({ row }: PresentRoom, watch: Watch, leftMs: number): Promise<void> {
    if (watch.warning?.isShown) return;
    const warning: Warning = { isShown: true };
    watch.warning = warning;
    if (!(await this.parts.notices.ending(refOf(row), Math.ceil(leftMs / 1000)))) warning.isShown = false;
  }

  /** false: it goes on. */
  private async end(room: PresentRoom, idle?: Watch): Promise<boolean> {
    const { store, exits } = this.parts;
    const { row, stays } = room;
    let isBegun = false;
    try {
      if (idle && (await this.isActiveAnywhere(room, idle))) return false;
      const meeting = await store.current(row.app, row.id);
      isBegun = true;
      if (meeting) await exits.endMeeting(meeting);
    } catch (error) {
      // It may have failed late: someone may have come in here since, or shares something again. Not once the store may have ended it.
      if (idle && !isBegun && this.isActive(room, idle)) {
        this.parts.failed(error);
        return false;
      }
      // The store is away. The others are put out by their own nodes, which find the same.
      await exits.endStaysOf(refOf(row), [...stays.keys()]);
      throw error;
    }
    return true;
  }
}

const newWatch = (nowMs: number): Watch => ({
  lastActive: nowMs,
  wasActive: true,
  members: new Set(),
  warning: undefined,
});

/** When everyone is put out, or the room is archived; Unix ms. */
function roomEndOf(row: RoomRow): number | null {
  const { ejectAtRoomExp, expireUnixSec } = valuesOf(row);
  return row.archiveAt ?? (ejectAtRoomExp && expireUnixSec !== undefined ? expireUnixSec * 1000 : null);
}
