/** Whether a meeting is recorded from its beginning, and what a participant is shown of that before it enters. No state. */
import type { MeetingRow } from "../../store/contract/meetings.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import type { RecordingState } from "../contract/contract.ts";
import { flagOf } from "./rights.ts";

/** The name of those who are no participants: the room itself, and the application's server. */
export const NO_ONE = "";

/** In whose name a new meeting of the room is recorded; undefined: it is not. */
export const recordsFrom = (room: RoomRow): string | undefined => (flagOf(room, "recordRoom") ? NO_ONE : undefined);

/** What a participant is shown before it enters. Without a meeting, one begins with it. */
export function recordingOf(room: RoomRow, meeting: MeetingRow | undefined, nowMs: number): RecordingState | null {
  const by = recordsFrom(room);
  const recording = meeting ? meeting.recording : by === undefined ? null : { by, since: nowMs };
  return recording && { by: recording.by, since: Math.floor(recording.since / 1000) };
}
