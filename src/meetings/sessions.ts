/** Meetings that are or were, with the people in them, for the application's server. */
import type { AppId } from "../base/ids.ts";
import { Problem } from "../protocol/codes.ts";
import { findRoom } from "../rooms/rooms.ts";
import type { MeetingRow, MeetingStore, StayRow } from "../store/contract/meetings.ts";
import type { RoomStore } from "../store/contract/rooms.ts";
import { ACTIVE_MEETINGS_MAX, PARTICIPANTS_SHOWN_MAX } from "./contract/limits.ts";

interface SessionParts {
  readonly store: MeetingStore;
  readonly rooms: RoomStore;
  readonly nowMs: () => number;
}

export interface SessionFilter {
  /** An id or a name of a room; also of one that is archived, by its id. */
  readonly room?: string | undefined;
  readonly isActive?: boolean | undefined;
  /** Unix seconds. */
  readonly startedAfter?: number | undefined;
  readonly startedBefore?: number | undefined;
  readonly limit: number;
  readonly endId?: string | undefined;
}

export interface SessionPage {
  readonly rows: readonly MeetingRow[];
  readonly total: number;
}

export class Sessions {
  constructor(private readonly parts: SessionParts) {}

  async list(app: AppId, { room, startedAfter, startedBefore, ...rest }: SessionFilter): Promise<SessionPage> {
    const { store } = this.parts;
    const page = await store.meetings(app, {
      ...rest,
      room: room === undefined ? undefined : await this.roomId(app, room),
      startedAfter: startedAfter === undefined ? undefined : startedAfter * 1000,
      startedBefore: startedBefore === undefined ? undefined : startedBefore * 1000,
    });
    if (!page) throw noSuchPage();
    return page;
  }

  /** With its participants, oldest first. */
  async get(app: AppId, id: string): Promise<{ readonly meeting: MeetingRow; readonly stays: readonly StayRow[] }> {
    const { store } = this.parts;
    const meeting = await store.meeting(app, id);
    if (!meeting) throw new Problem("meeting_not_found");
    return { meeting, stays: await store.participants(meeting.id, PARTICIPANTS_SHOWN_MAX) };
  }

  /** How many people are in each of these meetings now, by room. A statement per meeting would take every connection of a pool. */
  async inside(app: AppId, meetings: readonly MeetingRow[]): Promise<ReadonlyMap<string, number>> {
    const rooms = meetings.filter(({ ended }) => ended === null).map(({ room }) => room);
    return new Map((await this.parts.store.insideEach(app, rooms)).map(({ room, n }) => [room, n]));
  }

  /** How many people have been in each of these meetings, by its id. */
  async people(meetings: readonly MeetingRow[]): Promise<ReadonlyMap<string, number>> {
    const each = await this.parts.store.peopleEach(meetings.map(({ id }) => id));
    return new Map(each.map(({ meeting, n }) => [meeting, n]));
  }

  /** Who waits in the lobby of a room, with or without a meeting, longest first. The lobby limits how many. */
  async waiting(app: AppId, room: string): Promise<{ readonly name: string; readonly sinceMs: number }[]> {
    const rows = await this.parts.store.waiting(app, room);
    return rows.map(({ name, since }) => ({ name, sinceMs: since }));
  }

  /** Those that go on, newest first, with the number of people inside. */
  async active(app: AppId): Promise<{ readonly meeting: MeetingRow; readonly inside: number }[]> {
    const { store } = this.parts;
    const { rows } = (await store.meetings(app, { isActive: true, limit: ACTIVE_MEETINGS_MAX })) ?? { rows: [] };
    const inside = await this.inside(app, rows);
    return rows.map((meeting) => ({ meeting, inside: inside.get(meeting.room) ?? 0 }));
  }

  /** Also the id of a room that is archived. A name that no room has finds nothing. */
  private async roomId(app: AppId, idOrName: string): Promise<string> {
    const room = await findRoom(this.parts.rooms, app, idOrName, this.parts.nowMs());
    return room?.id ?? idOrName;
  }
}

function noSuchPage(): Problem {
  const message = "it is not the currEndId of a page of this application's meetings";
  return new Problem("invalid_request", `endId: ${message}`, undefined, { details: [{ field: "endId", message }] });
}
