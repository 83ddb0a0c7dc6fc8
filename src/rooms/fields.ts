/**
 * The fields of a room: the values that each accepts, its default, how it is unset, and whether it has an effect today. Checks, the record,
 * /openapi.json and the table in docs/rooms.md are made from this table.
 */
import { z } from "zod";
import {
  ROOM_NAME_MAX_CHARS,
  ROOM_PARTICIPANTS_MAX,
  ROOM_SECONDS_MAX,
  UNIX_SECONDS_MAX,
  WEBHOOK_MAX_CHARS,
} from "./limits.ts";

export type FieldValue = string | number | boolean;

export interface Field {
  /** Its result is null for values that unset the field. */
  readonly takes: z.ZodType<FieldValue | null>;
  /** The value of a room that does not set the field; undefined: none. */
  readonly initial?: FieldValue;
  /** Shown in the record even if it is not set (service.md 2.4). */
  readonly always?: true;
  /** Has an effect today. The others are checked, stored and returned, until there is a way to join a room. */
  readonly acts?: true;
  readonly meaning: string;
}

const NAME_RULE = `must be 1 to ${ROOM_NAME_MAX_CHARS} of A-Z a-z 0-9 _ -`;

export const roomName = z
  .union(
    [
      z
        .string()
        .max(ROOM_NAME_MAX_CHARS, NAME_RULE)
        .regex(/^[A-Za-z0-9_-]+$/, NAME_RULE),
      z.int(NAME_RULE).transform(String),
    ],
    NAME_RULE,
  )
  .describe("A number is read as its text.");

/** A limit or a time: 0 and null unset it. */
const unsettable = (max: number) =>
  z
    .int(`must be a whole number from 1 to ${max}, or 0 or null for none`)
    .min(0, `must be a whole number from 1 to ${max}, or 0 or null for none`)
    .max(max, `must be a whole number from 1 to ${max}, or 0 or null for none`)
    .nullable()
    .transform((value) => value || null);

const TIME_RULE = `must be Unix seconds up to ${UNIX_SECONDS_MAX}, or 0 or null for none`;

/** Fractions, as Python's time.time() has them, are cut off. */
export const unixTime = z
  .number(TIME_RULE)
  .min(0, TIME_RULE)
  .max(UNIX_SECONDS_MAX, TIME_RULE)
  .nullable()
  .transform((value) => Math.floor(value ?? 0) || null);
export const seconds = unsettable(ROOM_SECONDS_MAX);

const isWebAddress = (text: string): boolean =>
  /^https?:\/\/[^\s\p{Cc}\\]+$/iu.test(text) && text.isWellFormed() && URL.canParse(text);

/** The address is checked, but not called. */
const webhook = z
  .string("must be an http or https address, or null for none")
  .max(WEBHOOK_MAX_CHARS, `must have at most ${WEBHOOK_MAX_CHARS} characters`)
  .refine((text) => text === "" || isWebAddress(text), "must be an http or https address, or null for none")
  .nullable()
  .transform((value) => value || null);

const language = z
  .string("must be a BCP 47 tag such as en or pt-BR")
  .max(64, "must be a BCP 47 tag such as en or pt-BR")
  .refine(isLanguage, "must be a BCP 47 tag such as en or pt-BR");

function isLanguage(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}

const flag = z.boolean("must be true or false");
const on = (meaning: string) => ({ takes: flag, initial: true, meaning });
const off = (meaning: string) => ({ takes: flag, initial: false, meaning });
const always = true as const;
const acts = true as const;

/** In the order of the record. */
export const FIELDS = {
  privacy: {
    takes: z.enum(["public", "private"], "must be public or private"),
    initial: "public",
    always,
    acts,
    meaning: "`public`: anyone can join; `private`: with an access token, or when admitted",
  },
  deleteOnExp: { ...off("the room is archived at `expireUnixSec`"), always, acts },
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
  enableRecording: { ...off("participants may record"), always },
  ejectAtRoomExp: { ...off("all participants are removed at `expireUnixSec`"), always },
  lang: { takes: language, initial: "en", always, meaning: "language of the page, a BCP 47 tag" },
  expireUnixSec: { takes: unixTime, acts, meaning: "no one can join after it; Unix seconds" },
  notBeforeUnixSec: { takes: unixTime, acts, meaning: "no one can join before it; Unix seconds" },
  maxParticipants: { takes: unsettable(ROOM_PARTICIPANTS_MAX), meaning: "maximum number of participants" },
  ejectAfterElapsedTimeInSec: { takes: seconds, meaning: "each participant is removed that long after joining" },
  endMeetingAfterNoActivityInSec: {
    takes: seconds,
    meaning: "the meeting ends when no one has shared anything for that long",
  },
  showInviteBox: on("the page shows how to invite others"),
  newChatForMeetingSession: on("each meeting begins with an empty chat"),
  recordRoom: off("every participant is recorded from entry"),
  audioOnlyRoom: off("microphones only"),
  meetingJoinWebhook: { takes: webhook, meaning: "called when a participant joins; an http or https address" },
  meetingLeftWebhook: { takes: webhook, meaning: "called when a participant leaves" },
  meetingStartedWebhook: { takes: webhook, meaning: "called when a meeting begins" },
  meetingEndedWebhook: { takes: webhook, meaning: "called when a meeting ends" },
} as const satisfies Readonly<Record<string, Field>>;

export type FieldName = keyof typeof FIELDS;
/** The fields that a request names: null unsets a field, an absent one stays as it is. */
export type FieldEdits = { readonly [K in FieldName]?: z.infer<(typeof FIELDS)[K]["takes"]> | undefined };
/** The fields that a room has. */
export type FieldValues = { readonly [K in FieldName]?: NonNullable<z.infer<(typeof FIELDS)[K]["takes"]>> };

export const FIELD_NAMES = Object.keys(FIELDS) as FieldName[];

export const fieldOf = (name: FieldName): Field => FIELDS[name];

/** The fields that were set, with the edits applied. */
export function merged(set: FieldValues, edits: FieldEdits): FieldValues {
  const values: Partial<Record<FieldName, FieldValue>> = {};
  for (const name of FIELD_NAMES) {
    const value = edits[name] === undefined ? set[name] : edits[name];
    if (value !== undefined && value !== null) values[name] = value;
  }
  return values as FieldValues;
}

/** The fields that a record shows: those that are always shown, and those that are set. */
export function shownFields(set: FieldValues): FieldValues {
  const values: Partial<Record<FieldName, FieldValue>> = {};
  for (const name of FIELD_NAMES) {
    const { initial, always: isAlways } = fieldOf(name);
    const value = set[name] ?? (isAlways ? initial : undefined);
    if (value !== undefined) values[name] = value;
  }
  return values as FieldValues;
}
