/** A room's fields as a form holds them: everything but flags is text. */
import { ROOM_FIELDS, type RoomField, type RoomFieldName } from "../../../src/protocol/room-fields.ts";
import type { Room } from "../api/room-types.ts";
import { fromLocalInput, toLocalInput } from "../text/format.ts";

export type { RoomField, RoomFieldName };
export type RoomDraft = Readonly<Record<RoomFieldName, string | boolean>>;

export const fieldOf = (name: RoomFieldName): RoomField => ROOM_FIELDS[name];

const NAMES = Object.keys(ROOM_FIELDS) as RoomFieldName[];
/** In effect today, and only kept. */
export const WEBHOOK_FIELDS = NAMES.filter((name) => fieldOf(name).kind === "webhook");
export const OTHER_FIELDS = NAMES.filter((name) => fieldOf(name).kind !== "webhook");

const NAME_MAX_CHARS = 128;

export const nameProblem = (name: string): string | undefined =>
  name.length <= NAME_MAX_CHARS && /^[A-Za-z0-9_-]*$/.test(name)
    ? undefined
    : `1 to ${NAME_MAX_CHARS} letters, digits, _ and -.`;

export const draftOf = (room: Partial<Room>): RoomDraft =>
  Object.fromEntries(NAMES.map((name) => [name, inputOf(fieldOf(name), room[name])])) as RoomDraft;

function inputOf({ kind, initial }: RoomField, value: unknown = initial): string | boolean {
  if (kind === "flag") return value === true;
  if (value === undefined || value === null) return "";
  return kind === "time" ? toLocalInput(Number(value)) : String(value);
}

/** What the call takes; null unsets the field. */
function fromInput({ kind, initial }: RoomField, input: string | boolean): unknown {
  if (typeof input === "boolean") return input;
  const text = input.trim();
  if (kind === "time") return fromLocalInput(text) ?? null;
  if (text === "") return initial ?? null;
  return kind === "count" || kind === "seconds" ? Number(text) : text;
}

/** Only the fields that differ. */
export const changesOf = (before: RoomDraft, after: RoomDraft): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    NAMES.filter((name) => before[name] !== after[name]).map((name) => [name, fromInput(fieldOf(name), after[name])]),
  );
