/** Rooms over HTTP: `/api/v1/room`, `/api/v1/rooms`. */
import { z } from "zod";
import { FIELD_NAMES, type FIELDS, type FieldName, fieldOf, roomName } from "../rooms/fields.ts";
import { ROOMS_PAGE_DEFAULT, ROOMS_PAGE_MAX } from "../rooms/limits.ts";
import { LIST_PAGE_ROOMS, type Rooms } from "../rooms/rooms.ts";
import type { ApplicationGuards } from "./application.ts";
import type { Call } from "./call.ts";
import { type Endpoint, endpoint } from "./endpoint.ts";
import { wholeNumber } from "./schemas.ts";
import { type LogIncomplete, streamedArray } from "./streamed-array.ts";
import type { Streams } from "./streams.ts";

const LATER = "Kept; has no effect until rooms can be joined.";

const described = (name: FieldName): string => {
  const { meaning, acts } = fieldOf(name);
  return `${meaning[0]?.toUpperCase()}${meaning.slice(1)}.${acts ? "" : ` ${LATER}`}`;
};

/** Fields of a room that a request may set; all are optional. */
const edits = z
  .object({
    roomName: roomName.optional(),
    ...(Object.fromEntries(
      FIELD_NAMES.map((name) => [name, fieldOf(name).takes.optional().describe(described(name))]),
    ) as { [K in FieldName]: z.ZodOptional<z.ZodType<FieldTaken<K>>> }),
  })
  .meta({ examples: [{ roomName: "standup", privacy: "private", maxParticipants: 12 }] });

type FieldTaken<K extends FieldName> = z.infer<(typeof FIELDS)[K]["takes"]>;

/** A field in responses: what it takes, without the value that unsets it. */
const fieldInResponse = (name: FieldName): z.ZodType => {
  const { initial, always } = fieldOf(name);
  const type = typeof (initial ?? (name.endsWith("Webhook") ? "" : 0));
  const schema = type === "boolean" ? z.boolean() : type === "number" ? z.int() : z.string();
  return always ? schema : schema.optional();
};

const room = z
  .object({
    _id: z.string(),
    roomName: z.string(),
    app: z.string(),
    created: z.string().describe("ISO 8601"),
    ...Object.fromEntries(FIELD_NAMES.map((name) => [name, fieldInResponse(name)])),
    archived: z.boolean(),
  })
  .meta({ id: "Room" });

const page = z
  .object({
    data: z.array(room),
    total: z.int(),
    limit: z.int(),
    currEndId: z.string().describe("endId of the next page; empty on an empty page"),
  })
  .meta({ id: "RoomPage" });

const listing = z.object({
  limit: wholeNumber(1, ROOMS_PAGE_MAX)
    .optional()
    .describe(`Rooms per page; ${ROOMS_PAGE_DEFAULT} if only endId is given.`),
  endId: z.string().optional().describe("currEndId of the previous page"),
});

const done = z.object({ success: z.literal(true), message: z.string() });

export interface RoomParts {
  readonly rooms: Rooms;
  readonly streams: Streams;
  readonly logIncomplete: LogIncomplete;
}

export function roomEndpoints(
  { secretKey: guard }: ApplicationGuards,
  { rooms, streams, logIncomplete }: RoomParts,
): Endpoint[] {
  const base = { tag: "rooms", guard } as const;
  const one = "/api/v1/room/:roomName";
  const nameOf = (call: Call): string => call.params.roomName ?? "";
  return [
    endpoint({
      ...base,
      method: "POST",
      path: "/api/v1/room",
      summary: "Create a room; without a name, it gets a random one",
      body: edits,
      response: room,
      problems: ["room_already_exists", "room_limit_reached"],
      handle: (_call, { caller, body }) => rooms.create(caller.id, body),
    }),
    endpoint({
      ...base,
      method: "GET",
      path: "/api/v1/rooms",
      summary: "List the rooms, newest first; in pages with limit or endId",
      query: listing,
      response: z.union([z.array(room), page]),
      handle: (call, { caller, query, recheck }) =>
        query.limit === undefined && query.endId === undefined
          ? streamedArray({
              pages: rooms.list(caller.id),
              write: JSON.stringify,
              pageSize: LIST_PAGE_ROOMS,
              check: recheck,
              owner: caller.id,
              streams,
              logIncomplete: (error) => logIncomplete(call, error),
            })
          : rooms.page(caller.id, query.limit ?? ROOMS_PAGE_DEFAULT, query.endId),
    }),
    endpoint({
      ...base,
      method: "GET",
      path: one,
      summary: "One room",
      response: room,
      problems: ["room_not_found"],
      handle: (call, { caller }) => rooms.get(caller.id, nameOf(call)),
    }),
    endpoint({
      ...base,
      method: "PUT",
      path: one,
      summary: "Change the fields that are named; roomName renames",
      body: edits,
      response: room,
      problems: ["room_not_found", "room_already_exists", "internal_error"],
      handle: (call, { caller, body }) => rooms.update(caller.id, nameOf(call), body),
    }),
    endpoint({
      ...base,
      method: "DELETE",
      path: one,
      summary: "Archive a room; its name is free again",
      response: done,
      problems: ["room_not_found"],
      handle: async (call, { caller }) => {
        await rooms.archive(caller.id, nameOf(call));
        return { success: true, message: "Room successfully archived" };
      },
    }),
  ];
}
