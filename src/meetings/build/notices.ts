/** Builds what the service publishes in rooms, and the recording: before participant sessions, because a meeting may begin with being recorded. */
import type { MeetingStore } from "../../store/contract/meetings.ts";
import type { RoomStore } from "../../store/contract/rooms.ts";
import { Recording } from "../acts/recording.ts";
import type { Floor } from "../contract/floor.ts";
import { MissedNotices } from "../notices/missed.ts";
import { Notices } from "../notices/notices.ts";

export interface NoticesOutside {
  readonly store: MeetingStore;
  readonly rooms: RoomStore;
  readonly floor: Floor;
  readonly nowMs: () => number;
  readonly failed: (error: unknown) => void;
}

export interface NoticesBuilt {
  readonly missed: MissedNotices;
  readonly notices: Notices;
  readonly recording: Recording;
}

export function buildNotices({ store, rooms, floor, nowMs, failed }: NoticesOutside): NoticesBuilt {
  const missed = new MissedNotices();
  const notices = new Notices(floor, missed, failed);
  return { missed, notices, recording: new Recording({ store, rooms, notices, nowMs, failed }) };
}
