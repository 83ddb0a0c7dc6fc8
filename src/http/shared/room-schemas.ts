/** Shapes of rooms, which the application API and the control plane share. */
import { z } from "zod";
import { type Infer, lazily } from "../../base/lazily.ts";
import type { RoomFieldKind } from "../../protocol/room-fields.ts";
import { FIELD_NAMES, type FIELDS, type FieldName, fieldOf, roomName } from "../../rooms/fields.ts";
import type { Call } from "../request/call.ts";

export const described = (name: FieldName): string => {
  const { meaning } = fieldOf(name);
  return `${meaning[0]?.toUpperCase()}${meaning.slice(1)}.`;
};

/** Fields of a room that a request may set; all are optional. */
export const edits = lazily(() =>
  z
    .object({
      roomName: roomName().optional(),
      ...(Object.fromEntries(
        FIELD_NAMES.map((name) => [name, fieldOf(name).takes().optional().describe(described(name))]),
      ) as { [K in FieldName]: z.ZodOptional<z.ZodType<FieldTaken<K>>> }),
    })
    .meta({ examples: [{ roomName: "standup", privacy: "private", maxParticipants: 12 }] }),
);

type FieldTaken<K extends FieldName> = Infer<(typeof FIELDS)[K]["takes"]>;

const NUMBERS: readonly RoomFieldKind[] = ["time", "seconds", "count"];

/** A field in responses: what it takes, without the value that unsets it. */
const fieldInResponse = (name: FieldName): z.ZodType => {
  const { kind, always } = fieldOf(name);
  const schema = kind === "flag" ? z.boolean() : NUMBERS.includes(kind) ? z.int() : z.string();
  return (always ? schema : schema.optional()).describe(described(name));
};

export const room = lazily(() =>
  z
    .object({
      _id: z.string(),
      roomName: z.string(),
      app: z.string(),
      created: z.string().describe("ISO 8601"),
      ...Object.fromEntries(FIELD_NAMES.map((name) => [name, fieldInResponse(name)])),
      archived: z.boolean(),
    })
    .meta({ id: "Room" }),
);

export const roomNameOf = (call: Call): string => call.params.roomName ?? "";
