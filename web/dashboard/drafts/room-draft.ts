/** A room's fields as a form holds them: everything but flags is text. */
import { ROOM_FIELDS, type RoomField, type RoomFieldName } from "../../../src/protocol/room-fields.ts";
import type { Room } from "../api/room-types.ts";
import { fromLocalInput, toLocalInput } from "../text/format.ts";
import type { RoomValues } from "../text/room-text.ts";

export type { RoomField, RoomFieldName };
export type RoomDraft = Readonly<Record<RoomFieldName, string | boolean>>;

export const fieldOf = (name: RoomFieldName): RoomField => ROOM_FIELDS[name];

const NAMES = Object.keys(ROOM_FIELDS) as RoomFieldName[];
export const WEBHOOK_FIELDS = NAMES.filter((name) => fieldOf(name).kind === "webhook");

const NAME_MAX_CHARS = 128;

/** A name as it is typed: spaces become hyphens, which a name may have. */
export const nameFrom = (typed: string): string => typed.replace(/\s+/g, "-");

export const nameProblem = (name: string): string | undefined =>
  name.length <= NAME_MAX_CHARS && /^[A-Za-z0-9_-]*$/.test(name)
    ? undefined
    : `Use letters from A to Z, digits, _ and -, at most ${NAME_MAX_CHARS}.`;

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

/** Whether a field does anything in a room with these other fields. One that does not is neither shown nor saved. */
export function hasEffect(name: RoomFieldName, draft: RoomDraft): boolean {
  switch (name) {
    case "enableRequestToJoin":
      return draft.privacy === "private";
    case "ejectAtRoomExp":
      // The end of the room ends its meeting.
      return draft.expireUnixSec !== "" && draft.deleteOnExp !== true;
    case "deleteOnExp":
      return draft.expireUnixSec !== "";
    case "enableScreenSharing":
    case "joinVideoOn":
      return draft.audioOnlyRoom !== true;
    case "newChatForMeetingSession":
      return draft.enableChat === true;
    default:
      return true;
  }
}

/** The room as it would be. */
export const valuesOf = (draft: RoomDraft): RoomValues =>
  Object.fromEntries(
    NAMES.filter((name) => hasEffect(name, draft)).map((name) => [name, fromInput(fieldOf(name), draft[name])]),
  );

/** What is wrong with the times of a room; undefined: nothing. */
export function scheduleProblem({ notBeforeUnixSec, expireUnixSec }: RoomDraft): string | undefined {
  const [opens, closes] = [notBeforeUnixSec, expireUnixSec].map((text) => fromLocalInput(String(text)));
  if (opens === undefined || closes === undefined || opens < closes) return undefined;
  return "The room would close before it opens.";
}

/** Only the fields that differ. */
export const changesOf = (before: RoomDraft, after: RoomDraft): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    NAMES.filter((name) => before[name] !== after[name] && hasEffect(name, after)).map((name) => [
      name,
      fromInput(fieldOf(name), after[name]),
    ]),
  );
