/** Converts rows of meetings, stays and the lobby to the rows of the contract. */
import type { MeetingRow, StayEnd, StayRow, WaitingRow } from "../../contract/meetings.ts";
import { appId, type DbRow, number, numberOrNull, text, textOrNull } from "../../engines/rows.ts";

export const toMeeting = (row: DbRow): MeetingRow => ({
  id: text(row.id),
  app: appId(row.app),
  room: text(row.room),
  roomName: text(row.room_name),
  began: number(row.began),
  ended: numberOrNull(row.ended),
  isLocked: number(row.is_locked) === 1,
  // The column has the time of the last change: when it was started, or stopped.
  recording:
    row.recording_by === null ? null : { by: text(row.recording_by), since: numberOrNull(row.recording_since) ?? 0 },
  recordingStopped: row.recording_by === null ? numberOrNull(row.recording_since) : null,
});

export const toStay = (row: DbRow): StayRow => ({
  id: text(row.id),
  meeting: text(row.meeting),
  app: appId(row.app),
  room: text(row.room),
  name: text(row.name),
  externalUserId: textOrNull(row.external_user_id),
  isAdmin: number(row.is_admin) === 1,
  isGuest: number(row.is_guest) === 1,
  accessToken: textOrNull(row.access_token),
  ejectAt: numberOrNull(row.eject_at),
  node: textOrNull(row.node),
  seen: number(row.seen),
  began: number(row.began),
  ended: numberOrNull(row.ended),
  why: textOrNull(row.why) as StayEnd | null,
});

export const toWaiting = (row: DbRow): WaitingRow => ({
  // This column and `gone_since` have the names of version 14 of the schema.
  waitId: text(row.ticket),
  app: appId(row.app),
  room: text(row.room),
  name: text(row.name),
  address: text(row.address),
  site: textOrNull(row.site),
  since: number(row.since),
  seen: number(row.gone_since),
  state: text(row.state) as WaitingRow["state"],
  decided: numberOrNull(row.decided),
});
