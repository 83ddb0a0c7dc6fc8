/**
 * Whether a meeting is being recorded: who starts and stops it, what changes of the room do to it, and what a participant is shown. The store has the
 * state, for all nodes; it ends with the meeting.
 */
import type { RoomSeat } from "../../access/tokens/room-token.ts";
import { Problem } from "../../protocol/codes.ts";
import type { RoomChange } from "../../rooms/rooms.ts";
import type { MeetingRow, MeetingStore, StayRow } from "../../store/contract/meetings.ts";
import type { RoomRow, RoomStore } from "../../store/contract/rooms.ts";
import type { Notices, RoomRef } from "../notices/notices.ts";
import { RecordingNotices } from "../notices/recording-notices.ts";
import { NO_ONE } from "../rules/recording-state.ts";
import { flagOf } from "../rules/rights.ts";

interface RecordingParts {
  readonly store: Pick<MeetingStore, "current" | "latest" | "inside" | "openStays" | "setRecording">;
  readonly rooms: Pick<RoomStore, "roomById">;
  readonly notices: Notices;
  readonly nowMs: () => number;
  readonly failed: (error: unknown) => void;
}

export class Recording {
  private readonly shown: RecordingNotices;

  constructor(private readonly parts: RecordingParts) {
    this.shown = new RecordingNotices(parts.store, parts.notices, parts.failed);
  }

  /** An act of a stay that is open. Admins may, and others while no admin is inside; no one where the room does not allow it. */
  async act(room: RoomRow, stay: StayRow, isAdmin: boolean, on: boolean): Promise<void> {
    if (!flagOf(room, "enableRecording"))
      throw new Problem(
        "action_not_permitted",
        "Recording is not enabled in this room. Only the application's server can start and stop it.",
      );
    if (!isAdmin && (await this.parts.store.openStays(room.app, room.id)).some((one) => one.isAdmin))
      throw new Problem(
        "action_not_permitted",
        "While an admin is inside, only admins can start and stop the recording.",
      );
    await this.set({ app: room.app, room: room.id }, stay.meeting, on, stay.name);
  }

  /** By the application's server, whatever the room says. false: it was so already. Rejects with meeting_not_found if no one is inside. */
  async setByServer({ app, id: room }: RoomRow, on: boolean, by = NO_ONE): Promise<boolean> {
    const { store } = this.parts;
    const meeting = await store.current(app, room);
    if (!meeting || (await store.inside(app, room)) === 0)
      throw new Problem("meeting_not_found", "The room is empty, so there is nothing to record.");
    return this.set({ app, room }, meeting.id, on, by);
  }

  /** The room was edited on this node: people inside are recorded, or not, as it says now. */
  roomChanged(change: RoomChange): void {
    void this.follow(change).catch(this.parts.failed);
  }

  private async follow({ app, room, before, after }: RoomChange): Promise<void> {
    // An archived room has no `after`: its meeting ends.
    if (!before || !after) return;
    const isNow = (name: "recordRoom" | "enableRecording", on: boolean): boolean =>
      flagOf(before, name) !== on && flagOf(after, name) === on;
    const begins = isNow("recordRoom", true);
    if (!begins && !isNow("recordRoom", false) && !isNow("enableRecording", false)) return;
    const meeting = await this.parts.store.current(app, room);
    const by = meeting?.recording?.by;
    const ends = by === NO_ONE ? isNow("recordRoom", false) : by !== undefined && isNow("enableRecording", false);
    if (meeting && (begins || ends)) await this.set({ app, room }, meeting.id, begins, NO_ONE);
  }

  /** Its first participant may have been let in by the room as it was before a change. */
  async meetingBegan({ id, app, room, recording }: MeetingRow): Promise<void> {
    if (recording) return;
    const row = await this.parts.rooms.roomById(app, room, this.parts.nowMs());
    if (row && flagOf(row, "recordRoom")) await this.set({ app, room }, id, true, NO_ONE);
  }

  /** A participant has subscribed to the notices of its room. */
  noticesWanted({ claims: { app, room } }: RoomSeat): void {
    this.shown.wanted({ app, room });
  }

  /** Those inside may not know of a change: everyone is notified of what is true now, if the meeting is or was recorded. */
  repeat(room: RoomRef): void {
    this.shown.wanted(room);
  }

  stop(): void {
    this.shown.stop();
  }

  private async set(room: RoomRef, meeting: string, on: boolean, by: string): Promise<boolean> {
    const { store, nowMs } = this.parts;
    const isChanged = await store.setRecording(meeting, on ? by : null, nowMs());
    if (isChanged) this.shown.changed(room, by);
    return isChanged;
  }
}
