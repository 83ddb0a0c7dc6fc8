/** The fields of a room, with their defaults: plain data, so that pages can use it. src/rooms says what each means and accepts. */

/** `seconds` is a length of time, `time` a moment in Unix seconds, `count` a number of participants. */
export type RoomFieldKind = "privacy" | "flag" | "language" | "time" | "seconds" | "count" | "webhook";

export interface RoomField {
  readonly kind: RoomFieldKind;
  /** The value of a room that does not set the field; undefined: none. */
  readonly initial?: string | boolean;
  /** Shown in the record even if it is not set (service.md 2.4). */
  readonly always?: true;
}

const on = { kind: "flag", initial: true } as const;
const off = { kind: "flag", initial: false } as const;
const always = true as const;

/** In the order of the record. */
export const ROOM_FIELDS = {
  privacy: {
    kind: "privacy",
    initial: "public",
    always,
  },
  deleteOnExp: { ...off, always },
  autoJoin: { ...off, always },
  enableRequestToJoin: { ...on, always },
  enableChat: { ...on, always },
  enableScreenSharing: { ...on, always },
  joinVideoOn: { ...on, always },
  joinAudioOn: { ...on, always },
  ownerOnlyBroadcast: { ...off, always },
  enableRecording: { ...off, always },
  ejectAtRoomExp: { ...off, always },
  lang: { kind: "language", initial: "en", always },
  expireUnixSec: { kind: "time" },
  notBeforeUnixSec: { kind: "time" },
  maxParticipants: { kind: "count" },
  ejectAfterElapsedTimeInSec: { kind: "seconds" },
  endMeetingAfterNoActivityInSec: {
    kind: "seconds",
  },
  showInviteBox: on,
  newChatForMeetingSession: on,
  recordRoom: off,
  audioOnlyRoom: off,
  meetingJoinWebhook: { kind: "webhook" },
  meetingLeftWebhook: { kind: "webhook" },
  meetingStartedWebhook: { kind: "webhook" },
  meetingEndedWebhook: { kind: "webhook" },
} as const satisfies Readonly<Record<string, RoomField>>;

export type RoomFieldName = keyof typeof ROOM_FIELDS;
