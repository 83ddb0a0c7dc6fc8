/**
 * The fields of a room: what each means, and its default. Plain data, so that pages can show it. What a field accepts is in
 * src/rooms/fields.ts.
 */

/** `seconds` is a length of time, `time` a moment in Unix seconds, `count` a number of participants. */
export type RoomFieldKind = "privacy" | "flag" | "language" | "time" | "seconds" | "count" | "webhook";

export interface RoomField {
  readonly kind: RoomFieldKind;
  /** The value of a room that does not set the field; undefined: none. */
  readonly initial?: string | boolean;
  /** Shown in the record even if it is not set (service.md 2.4). */
  readonly always?: true;
  readonly meaning: string;
}

const on = (meaning: string) => ({ kind: "flag", initial: true, meaning }) as const;
const off = (meaning: string) => ({ kind: "flag", initial: false, meaning }) as const;
const always = true as const;

/** In the order of the record. */
export const ROOM_FIELDS = {
  privacy: {
    kind: "privacy",
    initial: "public",
    always,
    meaning: "`public`: anyone can join; `private`: with an access token, or when admitted",
  },
  deleteOnExp: { ...off("the room is archived at `expireUnixSec`"), always },
  autoJoin: { ...off("the page skips the waiting area"), always },
  enableRequestToJoin: {
    ...on("a visitor of a private room without a token may ask to join; an admin inside decides"),
    always,
  },
  enableChat: { ...on("the page has a chat"), always },
  enableScreenSharing: { ...on("the page can share a screen"), always },
  joinVideoOn: { ...on("the camera is on at entry"), always },
  joinAudioOn: { ...on("the microphone is on at entry"), always },
  ownerOnlyBroadcast: { ...off("only admins share media"), always },
  enableRecording: { ...off("admins may record the meeting, others while no admin is inside"), always },
  ejectAtRoomExp: { ...off("all participants are removed at `expireUnixSec`"), always },
  lang: { kind: "language", initial: "en", always, meaning: "language of the page, a BCP 47 tag" },
  expireUnixSec: { kind: "time", meaning: "no one can join after it; Unix seconds" },
  notBeforeUnixSec: { kind: "time", meaning: "no one can join before it; Unix seconds" },
  maxParticipants: { kind: "count", meaning: "maximum number of participants, up to `PARLEY_MESH_MAX`" },
  ejectAfterElapsedTimeInSec: { kind: "seconds", meaning: "each participant is removed that long after joining" },
  endMeetingAfterNoActivityInSec: {
    kind: "seconds",
    meaning: "the meeting ends when no one has shared anything for that long",
  },
  showInviteBox: { ...on("the page shows how to invite others") },
  newChatForMeetingSession: { ...on("each meeting begins with an empty chat") },
  recordRoom: { ...off("every participant is recorded from entry") },
  audioOnlyRoom: { ...off("microphones only") },
  meetingJoinWebhook: { kind: "webhook", meaning: "called when a participant joins; an http or https address" },
  meetingLeftWebhook: { kind: "webhook", meaning: "called when a participant leaves" },
  meetingStartedWebhook: { kind: "webhook", meaning: "called when a meeting begins" },
  meetingEndedWebhook: { kind: "webhook", meaning: "called when a meeting ends" },
} as const satisfies Readonly<Record<string, RoomField>>;

export type RoomFieldName = keyof typeof ROOM_FIELDS;
