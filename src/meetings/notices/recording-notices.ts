/**
 * Notifies everyone in a room whether its meeting is being recorded: when that changes, and again for a participant that subscribes while it is, or after it
 * was. The participant may have been away when the recording was stopped, and would record on. Several wishes together are one notice. Two nodes may
 * read the state in one order and publish it in the other, so each reads it again a moment later and publishes it anew if it is another one by then.
 */
import type { MeetingRecording, MeetingStore } from "../../store/contract/meetings.ts";
import { RECORDING_SETTLES_MS } from "../contract/limits.ts";
import type { Notices, RoomRef } from "./notices.ts";

/** Why the state is to be published. */
interface Wish {
  /** A participant does not know whether it is on. */
  isWanted: boolean;
  /** It was changed, in this name. */
  changedBy: string | undefined;
}

interface State {
  readonly recording: MeetingRecording | null;
  /** It is, or was since the meeting began. */
  readonly wasRecorded: boolean;
}

export class RecordingNotices {
  /** By the room's id, while its state is being shown. Bound: rooms with a change or a newcomer in the last moment. */
  private readonly showing = new Map<string, Wish>();
  private isStopped = false;

  constructor(
    private readonly store: Pick<MeetingStore, "latest">,
    private readonly notices: Pick<Notices, "recording">,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** It was started or stopped; an empty name is that of the room or of the application's server. */
  changed(room: RoomRef, by: string): void {
    this.wish(room, { isWanted: false, changedBy: by });
  }

  /** A participant has subscribed: it gets a notice if the meeting is being recorded, or was. */
  wanted(room: RoomRef): void {
    this.wish(room, { isWanted: true, changedBy: undefined });
  }

  /** Nothing is read any more: the store is about to be closed. */
  stop(): void {
    this.isStopped = true;
  }

  private wish(room: RoomRef, { isWanted, changedBy }: Wish): void {
    const showing = this.showing.get(room.room);
    if (showing) {
      showing.isWanted ||= isWanted;
      showing.changedBy = changedBy ?? showing.changedBy;
      return;
    }
    this.showing.set(room.room, { isWanted, changedBy });
    void this.show(room).catch((error: unknown) => {
      this.showing.delete(room.room);
      this.failed(error);
    });
  }

  private async show(room: RoomRef): Promise<void> {
    let shown: string | undefined;
    for (;;) {
      const { isWanted, changedBy } = this.take(room);
      const { recording, wasRecorded } = await this.read(room);
      const text = JSON.stringify(recording);
      const isOther = shown !== undefined && shown !== text;
      if (changedBy !== undefined || isOther || (isWanted && wasRecorded)) {
        await this.notices.recording(room, recording, changedBy ?? "");
        shown = text;
        await Bun.sleep(RECORDING_SETTLES_MS);
        if (this.isStopped) return;
      } else if (this.isIdle(room)) {
        this.showing.delete(room.room);
        return;
      }
    }
  }

  private take({ room }: RoomRef): Wish {
    const wish = this.showing.get(room);
    this.showing.set(room, { isWanted: false, changedBy: undefined });
    return wish ?? { isWanted: false, changedBy: undefined };
  }

  private isIdle({ room }: RoomRef): boolean {
    const wish = this.showing.get(room);
    return !wish || (!wish.isWanted && wish.changedBy === undefined);
  }

  private async read({ app, room }: RoomRef): Promise<State> {
    const meeting = await this.store.latest(app, room);
    if (meeting?.ended !== null) return { recording: null, wasRecorded: false };
    const { recording, recordingStopped } = meeting;
    return { recording, wasRecorded: recording !== null || recordingStopped !== null };
  }
}
