/**
 * A room changes while people are inside: every node gives those on it what the room allows now, within a second. The node where the change was
 * made asks all of them to read the room again. A request between nodes can be lost, so each also reads its rooms again from time to time.
 */
import type { RoomSeat } from "../../access/tokens/room-token.ts";
import type { AppId } from "../../base/ids.ts";
import { withBreaks } from "../../base/other-work.ts";
import { isObject } from "../../protocol/json.ts";
import { valuesOf } from "../../rooms/rooms.ts";
import type { MeetingRow, MeetingStore } from "../../store/contract/meetings.ts";
import type { RoomRow, RoomStore } from "../../store/contract/rooms.ts";
import type { Floor } from "../contract/floor.ts";
import {
  CHANGE_REMEMBERED_MS,
  CHANGES_REMEMBERED_MAX,
  ROOM_CHECKED_EVERY_MS,
  ROOMS_CHECKED_PER_SECOND,
  ROWS_AT_ONCE,
} from "../contract/limits.ts";
import type { Lobby } from "../entrance/lobby.ts";
import type { Notices, RoomRef } from "../notices/notices.ts";
import { ejectAtOf, ejectionOf } from "../rules/ejection.ts";
import { accessOf, flagOf } from "../rules/rights.ts";
import type { Exits } from "../stays/exits.ts";
import type { Present, PresentRoom, PresentStay } from "../stays/present.ts";
import type { Stays } from "../stays/stays.ts";
import type { Naming } from "./naming.ts";
import type { Recording } from "./recording.ts";

/** What those inside are notified of. */
type MeetingState = Pick<MeetingRow, "id" | "isLocked" | "recording" | "recordingStopped">;

const READ_AGAIN = "meetings.changed";

interface ChangeParts {
  readonly store: MeetingStore;
  readonly rooms: Pick<RoomStore, "roomById">;
  readonly floor: Pick<Floor, "ask" | "on" | "setAccess">;
  readonly stays: Pick<Stays, "listen" | "closeHere" | "settle">;
  readonly nodeId: string;
  readonly present: Present;
  readonly notices: Notices;
  readonly exits: Exits;
  readonly lobby: Pick<Lobby, "decideAll">;
  readonly recording: Pick<Recording, "repeat">;
  readonly naming: Pick<Naming, "showHere">;
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  readonly failed: (error: unknown) => void;
}

export class Changes {
  /** When a room was last read, monotonic ms; the oldest first. Bound: rooms with people on this node in the last ROOM_CHECKED_EVERY_MS. */
  private readonly read = new Map<PresentRoom, number>();
  /** By the room's id: when this node was notified of a change, monotonic ms. Bound: CHANGES_REMEMBERED_MAX. */
  private readonly notified = new Map<string, number>();
  /**
   * The version of the room that the page of a stay knows of. Only stays that have subscribed to notices are in it. Bound: stays
   * with a connection here.
   */
  private readonly shown = new WeakMap<PresentStay, number>();

  /** The meeting when the room was last checked. */
  /** Bound: one per room with people on this node; it goes with the room. */
  private readonly checked = new WeakMap<PresentRoom, MeetingState>();

  constructor(private readonly parts: ChangeParts) {
    parts.floor.on(READ_AGAIN, async (payload) => {
      if (!isObject(payload) || typeof payload.room !== "string") return 0;
      this.remember(payload.room);
      const room = parts.present.room(payload.room);
      if (room) await this.readAgain(room);
      return room?.stays.size ?? 0;
    });
    parts.stays.listen({ connected: (seat) => this.connected(seat) });
  }

  private remember(room: string): void {
    const { notified } = this;
    notified.delete(room);
    const [oldest] = notified.keys();
    if (oldest !== undefined && notified.size >= CHANGES_REMEMBERED_MAX) notified.delete(oldest);
    notified.set(room, this.parts.monotonicMs());
  }

  /** The room was edited or archived on this node. */
  changed(room: RoomRef): void {
    void this.tell(room).catch(this.parts.failed);
  }

  /** The notice of a change may have come between a participant's join and its subscription, or while it was away. */
  noticesWanted(seat: RoomSeat): void {
    const stay = this.parts.present.stay(seat);
    if (!stay) return;
    if (!this.shown.has(stay)) this.shown.set(stay, seat.claims.version ?? 0);
    this.show(seat);
  }

  /** Every second: reads some of the rooms again that were not read for a while. */
  async tick(): Promise<void> {
    const { present, monotonicMs, failed } = this.parts;
    const now = monotonicMs();
    for (const [room, atMs] of this.notified) if (now - atMs > CHANGE_REMEMBERED_MS) this.notified.delete(room);
    for (const room of present.all()) if (!this.read.has(room)) this.read.set(room, now);
    for await (const room of withBreaks(this.due(now), ROWS_AT_ONCE)) await this.check(room).catch(failed);
  }

  /**
   * The rooms that are read in this second. Applications take turns, so that one with many rooms does not delay those of others; of each, and among
   * applications, the room that was not read for the longest time comes first, so that every room has its turn.
   */
  private due(now: number): PresentRoom[] {
    const { present } = this.parts;
    const byApp = new Map<AppId, PresentRoom[]>();
    for (const [room, atMs] of this.read) {
      if (now - atMs < ROOM_CHECKED_EVERY_MS) break;
      const ofApp = byApp.get(room.app) ?? [];
      if (present.room(room.row.id) !== room) this.read.delete(room);
      else if (ofApp.length < ROOMS_CHECKED_PER_SECOND) byApp.set(room.app, [...ofApp, room]);
    }
    const turns = Array.from({ length: ROOMS_CHECKED_PER_SECOND }, (_, nth) =>
      byApp.values().flatMap((rooms) => rooms.slice(nth, nth + 1)),
    );
    return turns.flatMap((turn) => [...turn]).slice(0, ROOMS_CHECKED_PER_SECOND);
  }

  private noteRead(room: PresentRoom): void {
    // Removed first: it moves to the end.
    this.read.delete(room);
    this.read.set(room, this.parts.monotonicMs());
  }

  private async tell({ app, room }: RoomRef): Promise<void> {
    const { floor, rooms, notices, nowMs } = this.parts;
    const answers = await floor.ask(READ_AGAIN, { app, room });
    const row = await rooms.roomById(app, room, nowMs());
    if (row && answers.some((people) => typeof people === "number" && people > 0)) await notices.flags(row);
    if (!row) await this.archived({ app, room });
    await this.decideWaiting({ app, room }, row);
  }

  /** It may have been let in by the room as it was before a change. */
  private connected(seat: RoomSeat): void {
    const { app, room: id } = seat.claims;
    const room = this.notified.has(id) ? this.parts.present.room(id) : undefined;
    if (room)
      void this.readAgain(room, true)
        // Without a row the room was archived while the store let this participant in: its meeting began after the others were put out.
        .then((row) => (row ? this.show(seat) : this.archived({ app, room: id })))
        .catch(this.parts.failed);
  }

  /** Once per stay and version: a participant that subscribes again and again would have it sent to everyone each time. */
  private show(seat: RoomSeat): void {
    const { present, notices } = this.parts;
    const room = present.room(seat.claims.room);
    const stay = present.stay(seat);
    const version = stay && this.shown.get(stay);
    if (!room || !stay || version === undefined || version === room.row.version) return;
    this.shown.set(stay, room.row.version);
    void notices.flags(room.row);
  }

  private async readAgain(room: PresentRoom, isForced = false): Promise<RoomRow | undefined> {
    const { rooms, nowMs } = this.parts;
    this.noteRead(room);
    const row = await rooms.roomById(room.app, room.row.id, nowMs());
    if (!row || row.version < room.row.version || (row.version === room.row.version && !isForced)) return row;
    const before = room.row;
    room.row = row;
    for (const stay of [...room.stays.values()]) await this.apply(stay, row, isForced ? undefined : before);
    return row;
  }

  /** `before` is undefined if it is not known what the stay was let in by. */
  private async apply(stay: PresentStay, row: RoomRow, before: RoomRow | undefined): Promise<void> {
    const { floor, store } = this.parts;
    const { claims } = stay.seat;
    const access = accessOf(row, claims);
    stay.seat.access = access;
    floor.setAccess(row.app, claims.id, access);
    const ejection = ejectionOf(row, claims);
    if (before && Bun.deepEquals(ejection, ejectionOf(before, claims))) return;
    const { meeting, accessToken, began } = (await store.stay(claims.id)) ?? {};
    if (meeting === undefined || began === undefined) return;
    stay.ejectAt = ejectAtOf(ejection, (accessToken && (await store.firstEntry(meeting, accessToken))) || began);
  }

  /** What this node was not notified of: another row, no room any more, stays that were ended, renamed or connected elsewhere, another state of the meeting. */
  private async check(room: PresentRoom): Promise<void> {
    const ref = { app: room.app, room: room.row.id };
    if (!(await this.readAgain(room))) return this.archived(ref);
    const { store, stays, naming, nodeId } = this.parts;
    const open = new Map((await store.openStays(ref.app, ref.room)).map((stay) => [stay.id, stay]));
    for (const [id, here] of [...room.stays]) {
      const known = open.get(id);
      if (known) {
        if (here.seat.name !== known.name) await naming.showHere(id);
        if (known.node !== null && known.node !== nodeId) await stays.settle(here);
        continue;
      }
      const stay = await store.stay(id);
      // Also one that left in another window or was taken for lost: it does not count any more, and its place may be someone else's.
      if (stay?.ended !== null) stays.closeHere(ref.app, ref.room, id, stay?.why ?? "lost");
    }
    await this.checkMeeting(room, ref);
  }

  /**
   * The node that has started or stopped the recording, or locked the meeting, may have died before it could say so. Pages ignore what they know; those that record
   * must not do it longer than this.
   */
  private async checkMeeting(room: PresentRoom, ref: RoomRef): Promise<void> {
    const { store, recording, notices } = this.parts;
    const meeting = await store.current(ref.app, ref.room);
    const before = this.checked.get(room);
    if (!meeting) return;
    const { id, isLocked, recording: state, recordingStopped } = meeting;
    const now: MeetingState = { id, isLocked, recording: state, recordingStopped };
    if (before && Bun.deepEquals(before, now)) return;
    this.checked.set(room, now);
    recording.repeat(ref);
    if (isLocked !== (before?.isLocked ?? false)) await notices.locked(ref, isLocked);
  }

  private async archived({ app, room }: RoomRef): Promise<void> {
    const { store, exits } = this.parts;
    const meeting = await store.current(app, room);
    if (meeting) await exits.endMeeting(meeting);
  }

  private async decideWaiting(ref: RoomRef, row: RoomRow | undefined): Promise<void> {
    const { lobby } = this.parts;
    if (!row) await lobby.decideAll(ref, "declined", "room_not_found");
    else if (valuesOf(row).privacy !== "private") await lobby.decideAll(ref, "admitted");
    else if (!flagOf(row, "enableRequestToJoin")) await lobby.decideAll(ref, "declined", "token_required");
  }
}
