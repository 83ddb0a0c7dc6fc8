/** Rooms over HTTP: `/api/v1/room`, `/api/v1/rooms`. */
import { z } from "zod";
import type { AppId } from "../../base/ids.ts";
import { lazily } from "../../base/lazily.ts";
import { ROOMS_PAGE_DEFAULT, ROOMS_PAGE_MAX } from "../../rooms/limits.ts";
import { LIST_PAGE_ROOMS, type Rooms } from "../../rooms/rooms.ts";
import type { ApplicationGuards } from "../guards/application.ts";
import type { Call } from "../request/call.ts";
import { type LogIncomplete, streamedArray } from "../response/streamed-array.ts";
import type { StreamedResponses } from "../response/streamed-responses.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";
import { APPLICATION_SECRET, type AppAudit } from "../shared/audit.ts";
import { edits, room, roomNameOf } from "../shared/room-schemas.ts";
import { wholeNumber } from "../shared/schemas.ts";

const page = lazily(() =>
  z
    .object({
      data: z.array(room()),
      total: z.int(),
      limit: z.int(),
      currEndId: z.string().describe("endId of the next page; empty on an empty page"),
    })
    .meta({ id: "RoomPage" }),
);

const listing = lazily(() =>
  z.object({
    limit: wholeNumber(1, ROOMS_PAGE_MAX)
      .optional()
      .describe(`Rooms per page; ${ROOMS_PAGE_DEFAULT} if only endId is given.`),
    endId: z.string().optional().describe("currEndId of the previous page"),
  }),
);

const done = lazily(() => z.object({ success: z.literal(true), message: z.string() }));

interface RoomParts {
  readonly rooms: Rooms;
  readonly responses: StreamedResponses;
  readonly logIncomplete: LogIncomplete;
  readonly audit: AppAudit;
}

export function roomEndpoints(
  { secretKey: guard }: ApplicationGuards,
  { rooms, responses, logIncomplete, audit }: RoomParts,
): Endpoint[] {
  const base = { tag: "rooms", guard } as const;
  const one = "/api/v1/room/:roomName";
  /** Only the names of the fields: addresses of webhooks can hold secrets. */
  const changed = (call: Call, app: AppId, what: string, on: string, body: object = {}): void => {
    const fields = Object.keys(body).filter((name) => name !== "roomName");
    audit(call, APPLICATION_SECRET, { what, on, app, ...(fields.length > 0 && { after: { fields } }) });
  };
  return [
    endpoint({
      ...base,
      method: "POST",
      path: "/api/v1/room",
      summary: "Create a room; without a name, its name is random",
      body: edits,
      response: room,
      problems: ["room_already_exists", "room_limit_reached"],
      handle: async (call, { caller, body }) => {
        const made = await rooms.create(caller.id, body);
        changed(call, caller.id, "room created", made.roomName, body);
        return made;
      },
    }),
    endpoint({
      ...base,
      method: "GET",
      path: "/api/v1/rooms",
      summary: "List the rooms, newest first; in pages with limit or endId",
      query: listing,
      response: () => z.union([z.array(room()), page()]),
      handle: (call, { caller, query, recheck }) =>
        query.limit === undefined && query.endId === undefined
          ? streamedArray({
              pages: rooms.list(caller.id),
              write: JSON.stringify,
              pageSize: LIST_PAGE_ROOMS,
              check: recheck,
              owner: caller.id,
              responses,
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
      handle: (call, { caller }) => rooms.get(caller.id, roomNameOf(call)),
    }),
    endpoint({
      ...base,
      method: "PUT",
      path: one,
      summary: "Change the given fields; roomName renames the room",
      body: edits,
      response: room,
      problems: ["room_not_found", "room_already_exists", "internal_error"],
      handle: async (call, { caller, body }) => {
        const edited = await rooms.update(caller.id, roomNameOf(call), body);
        changed(call, caller.id, "room edited", edited.roomName, body);
        return edited;
      },
    }),
    endpoint({
      ...base,
      method: "DELETE",
      path: one,
      summary: "Archive a room; its name becomes available again",
      response: done,
      problems: ["room_not_found"],
      handle: async (call, { caller }) => {
        await rooms.archive(caller.id, roomNameOf(call));
        changed(call, caller.id, "room archived", roomNameOf(call));
        return { success: true, message: "Room successfully archived" };
      },
    }),
  ];
}
