/** The recorders of pages: whether a stay may upload what it records, and of which of its uploads it may say that everything was sent. */
import { FIRST_GENERATION } from "../../access/keys/app-secret.ts";
import { isInvited } from "../../access/tokens/guests.ts";
import type { AppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import type { MeetingRow, MeetingStore, StayRow } from "../../store/contract/meetings.ts";
import type { RecordingSource, StayUploadCaller, StayUploadRequest } from "../contract/contract.ts";
import { mayOf } from "../rules/rights.ts";
import type { StayTokens } from "./tokens.ts";

/** Structurally the uploads of stays (recordings/uploads/stay-uploads.ts): meetings/ does not import recordings. */
export interface StayUploadsPort {
  /** The page of a stay that has ended may send what it has recorded for that long. */
  readonly keptMs: number;
  /** `sender`: a digest of the client's address, of IPv6 of its site (/48). */
  begin(
    stay: StayRow,
    source: RecordingSource,
    startedMsAgo: number,
    sender: string,
    byGuest: boolean,
  ): Promise<{ readonly id: string }>;
  sentAll(stay: StayRow, id: string, total?: number): Promise<void>;
}

/** An upload that its page may write to as long as this generation of the application's secret key works. */
export interface BegunByStay {
  readonly id: string;
  readonly generation: number;
}

interface StayRecorderParts {
  readonly store: Pick<MeetingStore, "meeting" | "isBarred">;
  readonly stayTokens: Pick<StayTokens, "recent">;
  readonly uploads: StayUploadsPort;
  readonly nowMs: () => number;
}

/** What a participant must be allowed to share, to record it. */
const SHARES = { camera: "video", microphone: "audio", screen: "screen" } as const;

export class StayRecorders {
  constructor(private readonly parts: StayRecorderParts) {}

  /**
   * Checked in this order: the signature, the application, the stay, the room, what it may share, whether its meeting is being recorded. A recorder that was
   * started while the network was away may come for a while after the stay, or the recording, has ended: if it was started before. Not so that of a
   * person who was removed: it begins nothing any more.
   */
  async begin(
    app: AppId,
    roomName: string,
    { token, address }: StayUploadCaller,
    { source, startedMsAgo = 0 }: StayUploadRequest,
  ): Promise<BegunByStay> {
    const { stayTokens, store, uploads, nowMs } = this.parts;
    const { room, stay, claims, endedMs } = await stayTokens.recent(app, roomName, token, uploads.keptMs);
    // No one records what was before they came.
    const startedMs = Math.max(nowMs() - startedMsAgo, stay.began);
    if (await store.isBarred(stay.id)) throw removed();
    if (endedMs === null && claims.exp * 1000 <= nowMs()) throw new Problem("token_expired");
    if (endedMs !== null && endedMs < startedMs)
      throw new Problem("action_not_permitted", "Your stay in this room has ended. Join again.");
    if (!room) throw new Problem("room_not_found");
    if (!mayOf(room, claims)[SHARES[source]])
      throw new Problem("action_not_permitted", `You may not share your ${source} in this room.`);
    const meeting = await store.meeting(app, stay.meeting);
    if (!meeting || !this.wasRecorded(meeting, startedMs)) throw new Problem("not_recording");
    const { id } = await uploads.begin(stay, source, startedMsAgo, address, !isInvited(claims));
    return { id, generation: claims.gen ?? FIRST_GENERATION };
  }

  private wasRecorded({ recording, recordingStopped }: MeetingRow, startedMs: number): boolean {
    const { uploads, nowMs } = this.parts;
    if (recording) return true;
    return recordingStopped !== null && startedMs < recordingStopped && recordingStopped >= nowMs() - uploads.keptMs;
  }

  /** Everything has been sent. Also for a while after the stay has ended, and without a room's name if the call has none. */
  async sentAll(app: AppId, roomName: string | undefined, token: string, id: string, total?: number): Promise<void> {
    const { stayTokens, uploads } = this.parts;
    const { stay } = await stayTokens.recent(app, roomName, token, uploads.keptMs);
    await uploads.sentAll(stay, id, total);
  }
}

const removed = (): Problem =>
  new Problem("action_not_permitted", "You were removed from this meeting, so nothing more from you is recorded.");
