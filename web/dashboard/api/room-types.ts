/** What the control plane answers about rooms, meetings and recordings, as far as the dashboard uses it. */

/** A room has many further fields: src/protocol/room-fields.ts lists them. */
export interface Room {
  readonly _id: string;
  readonly roomName: string;
  readonly created: string;
  /** Who waits in the lobby, longest first; only in the answer for one room. */
  readonly waiting?: readonly Waiting[];
  readonly [field: string]: unknown;
}

interface Waiting {
  readonly name: string;
  readonly since: number;
}

export interface Meeting {
  readonly _id: string;
  /** The id of the room. */
  readonly room: string;
  /** As it was when the meeting began. */
  readonly roomName: string;
  readonly active: boolean;
  readonly locked: boolean;
  /** Absent while it is not recorded. */
  readonly recording?: MeetingRecording;
  readonly startTime: number;
  readonly endTime?: number;
  /** How many people are inside; only in the list, while it goes on. */
  readonly inside?: number;
  /** How many have been in it; only in the list. */
  readonly people?: number;
  /** Whether it was recorded, or is; only in the list. */
  readonly recorded?: boolean;
  /** Only in the answer for one meeting. */
  readonly participants?: readonly Participant[];
}

export interface MeetingRecording {
  /** The name of the participant who started it; empty: the service did (recordRoom, a backend, an operator). */
  readonly by: string;
  readonly since: number;
}

export interface Participant {
  /** The participantSession. */
  readonly _id: string;
  readonly name: string;
  readonly externalUserId?: string;
  readonly isAdmin: boolean;
  readonly isGuest: boolean;
  readonly startTime: number;
  readonly endTime?: number;
  readonly endReason?: "left" | "lost" | "time" | "ended" | "removed";
}

export interface HostLink {
  readonly url: string;
  readonly expiresAt: number;
}

export interface Recording {
  readonly _id: string;
  /** The id of the room. */
  readonly room: string;
  readonly roomName: string | null;
  readonly participantSession: string;
  readonly meetingSession: string;
  readonly participantUsername: string;
  /** The name of its file, wherever it is downloaded. */
  readonly downloadName: string;
  readonly sizeInBytes: number;
  readonly type: "video" | "audio" | "screen" | "composition";
  readonly startTime: number;
  /** Only of recordings that a page of a meeting has made. */
  readonly startTimeMs?: number;
  readonly endTime: number;
  readonly hasThumbnail?: true;
  /** How long its person spoke; absent: not measured. */
  readonly speechMs?: number;
  /** When its upload was completed: retention counts from then. */
  readonly completed: number;
  /** Only of recordings that a page of a meeting has made; false: its file is as it came, without duration and index. */
  readonly mended?: boolean;
}

export interface RecordingDetail extends Recording {
  /** null: no meeting has this meetingSession, or it is not kept any more. */
  readonly meeting: Pick<Meeting, "_id" | "active" | "startTime"> | null;
  readonly roomArchived: boolean;
}

/** What all recordings of an application take, whatever the filters. */
export interface Storage {
  readonly recordings: number;
  readonly bytes: number;
  /** Bytes of uploads that are not complete yet. */
  readonly uploading: number;
}
