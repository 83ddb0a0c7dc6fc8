/** Publishes again what notices could not say (missed.ts): what the store knows by now. */
import type { MeetingStore } from "../../store/contract/meetings.ts";
import type { RoomStore } from "../../store/contract/rooms.ts";
import type { Lobby } from "../entrance/lobby.ts";
import type { Missed, MissedNotices } from "../notices/missed.ts";
import type { Notices } from "../notices/notices.ts";
import type { Recording } from "./recording.ts";

interface RepeatParts {
  readonly store: Pick<MeetingStore, "current">;
  readonly rooms: Pick<RoomStore, "roomById">;
  readonly missed: Pick<MissedNotices, "repeat">;
  readonly notices: Pick<Notices, "locked" | "flags">;
  readonly lobby: Pick<Lobby, "queueWanted" | "hostsWanted" | "answerWanted">;
  readonly recording: Pick<Recording, "repeat">;
  readonly nowMs: () => number;
  readonly failed: (error: unknown) => void;
}

export class Repeats {
  constructor(private readonly parts: RepeatParts) {}

  /** Every MISSED_REPEATED_EVERY_MS. */
  run(): Promise<void> {
    return this.parts.missed.repeat((one) => this.publish(one), this.parts.failed);
  }

  private async publish({ room, subject, waitId }: Missed): Promise<void> {
    const { store, rooms, notices, lobby, recording, nowMs } = this.parts;
    switch (subject) {
      case "recording":
        return recording.repeat(room);
      case "waiting":
        return lobby.queueWanted(room);
      case "hosts":
        return lobby.hostsWanted(room);
      case "answer":
        return waitId === undefined ? undefined : lobby.answerWanted({ ...room, id: waitId });
      case "locked": {
        const meeting = await store.current(room.app, room.room);
        if (meeting) await notices.locked(room, meeting.isLocked);
        return;
      }
      case "flags": {
        const row = await rooms.roomById(room.app, room.room, nowMs());
        if (row) await notices.flags(row);
      }
    }
  }
}
