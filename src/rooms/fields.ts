/**
 * The values that each field of a room accepts, and how it is unset. Checks, the record, /openapi.json and the table in docs/rooms.md are
 * made from this, from meanings.ts and from the table of src/protocol/room-fields.ts.
 */
import { z } from "zod";
import { type Infer, lazily } from "../base/lazily.ts";
import { WEBHOOK_MAX_CHARS } from "../protocol/limits.ts";
import { ROOM_FIELDS, type RoomField, type RoomFieldKind, type RoomFieldName } from "../protocol/room-fields.ts";
import { isWebAddress } from "../protocol/web-address.ts";
import {
  LANGUAGE_MAX_CHARS,
  ROOM_NAME_MAX_CHARS,
  ROOM_PARTICIPANTS_MAX,
  ROOM_SECONDS_MAX,
  UNIX_SECONDS_MAX,
} from "./limits.ts";
import { ROOM_MEANINGS } from "./meanings.ts";

export type FieldValue = string | number | boolean;

export interface Field extends RoomField {
  readonly meaning: string;
  /** Its result is null for values that unset the field. */
  readonly takes: () => z.ZodType<FieldValue | null>;
}

const NAME_RULE = `must be 1 to ${ROOM_NAME_MAX_CHARS} of A-Z a-z 0-9 _ -`;

export const roomName = lazily(() =>
  z
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
    .describe("A number is converted to text."),
);

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
export const unixTime = lazily(() =>
  z
    .number(TIME_RULE)
    .min(0, TIME_RULE)
    .max(UNIX_SECONDS_MAX, TIME_RULE)
    .nullable()
    .transform((value) => Math.floor(value ?? 0) || null),
);
export const seconds = lazily(() => unsettable(ROOM_SECONDS_MAX));

/** Its form is checked; what it resolves to is checked with every call. */
const webhook = lazily(() =>
  z
    .string("must be an http or https address, or null for none")
    .max(WEBHOOK_MAX_CHARS, `must have at most ${WEBHOOK_MAX_CHARS} characters`)
    .refine((text) => text === "" || isWebAddress(text), "must be an http or https address, or null for none")
    .nullable()
    .transform((value) => value || null),
);

const language = lazily(() =>
  z
    .string("must be a BCP 47 tag such as en or pt-BR")
    .max(LANGUAGE_MAX_CHARS, "must be a BCP 47 tag such as en or pt-BR")
    .refine(isLanguage, "must be a BCP 47 tag such as en or pt-BR"),
);

/** A check after a failed one still runs, so each bounds its text itself. */
function isLanguage(tag: string): boolean {
  if (tag.length > LANGUAGE_MAX_CHARS) return false;
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}

const TAKES = {
  privacy: lazily(() => z.enum(["public", "private"], "must be public or private")),
  flag: lazily(() => z.boolean("must be true or false")),
  language,
  time: unixTime,
  seconds,
  count: lazily(() => unsettable(ROOM_PARTICIPANTS_MAX)),
  webhook,
} as const satisfies Readonly<Record<RoomFieldKind, () => z.ZodType<FieldValue | null>>>;

export type FieldName = RoomFieldName;

type Fields = {
  readonly [K in FieldName]: (typeof ROOM_FIELDS)[K] & {
    readonly meaning: string;
    readonly takes: (typeof TAKES)[(typeof ROOM_FIELDS)[K]["kind"]];
  };
};

export const FIELD_NAMES = Object.keys(ROOM_FIELDS) as FieldName[];

/** In the order of the record. */
export const FIELDS = Object.fromEntries(
  FIELD_NAMES.map((name) => [
    name,
    { ...ROOM_FIELDS[name], meaning: ROOM_MEANINGS[name], takes: TAKES[ROOM_FIELDS[name].kind] },
  ]),
) as unknown as Fields;

/** The fields that a request names: null unsets a field, an absent one stays as it is. */
export type FieldEdits = { readonly [K in FieldName]?: Infer<(typeof FIELDS)[K]["takes"]> | undefined };
/** The fields that a room has. */
export type FieldValues = { readonly [K in FieldName]?: NonNullable<Infer<(typeof FIELDS)[K]["takes"]>> };

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
