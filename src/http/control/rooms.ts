/** Control plane: the rooms of an application, under the rules of the application API. */
import { z } from "zod";
import type { Operator } from "../../access/operators/operator.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import type { Sessions } from "../../meetings/sessions.ts";
import { maskedAddress } from "../../protocol/web-address.ts";
import { FIELD_NAMES, fieldOf } from "../../rooms/fields.ts";
import { ROOM_NAME_MAX_CHARS, ROOMS_PAGE_DEFAULT, ROOMS_PAGE_MAX } from "../../rooms/limits.ts";
import type { RoomRecord, Rooms } from "../../rooms/rooms.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import type { Audit } from "../shared/audit.ts";
import { edits, room, roomNameOf } from "../shared/room-schemas.ts";
import { limit, toSeconds, unixSeconds } from "../shared/schemas.ts";
import type { AppIn } from "./app-in.ts";
import { ID_FORM, inControlPlane, NO_CURSOR } from "./application-calls.ts";

/** A misspelt field is refused, as everywhere in the control plane. */
const strictEdits = lazily(() => edits().strict());

const list = lazily(() =>
  z
    .object({
      data: z.array(room()),
      next: z.string().nullable().describe("after of the next page; null at the end. A page of a search may be empty."),
      total: z.int().describe("Rooms of the application, whatever is searched for"),
    })
    .meta({ id: "RoomList" }),
);

const withLobby = lazily(() =>
  room()
    .extend({
      waiting: z
        .array(z.object({ name: z.string(), since: unixSeconds() }))
        .describe("Who waits in the lobby until a host lets them in, longest first"),
    })
    .meta({ id: "RoomWithLobby" }),
);

const query = lazily(() =>
  z.object({
    limit: limit(ROOMS_PAGE_MAX, ROOMS_PAGE_DEFAULT),
    after: z.string().regex(ID_FORM, NO_CURSOR).optional().describe("next of the previous page"),
    search: z
      .string()
      .max(ROOM_NAME_MAX_CHARS, `must have at most ${ROOM_NAME_MAX_CHARS} characters`)
      .optional()
      .describe("Part of a name, in upper or lower case"),
  }),
);

interface AdminRoomParts {
  readonly appIn: AppIn;
  readonly rooms: Rooms;
  readonly sessions: Pick<Sessions, "waiting">;
  readonly audit: Audit;
}

export function adminRoomEndpoints(
  { admin, operator }: { readonly admin: Guard<Operator>; readonly operator: Guard<Operator> },
  { appIn, rooms, sessions, audit }: AdminRoomParts,
): Endpoint[] {
  const read = { tag: "rooms", guard: operator, scope: "app" } as const;
  const change = { tag: "rooms", guard: admin, scope: "app" } as const;
  const all = "/api/internal/v1/apps/:app/rooms";
  const one = `${all}/:roomName`;
  return [
    endpoint({
      ...read,
      method: "GET",
      path: all,
      summary: "List the rooms of an application, newest first",
      query,
      response: list,
      problems: ["not_found"],
      handle: async (call, { caller, query: { limit: max, after, search } }) => {
        const app = await appIn(call);
        const { data, next, total } = await rooms.find(app.id, { limit: max, after, search: search || undefined });
        return { data: data.map((found) => shownTo(caller, found)), next, total };
      },
    }),
    endpoint({
      ...change,
      method: "POST",
      path: all,
      summary: "Create a room in an application; without a name, its name is random",
      body: strictEdits,
      response: room,
      problems: ["not_found", "conflict"],
      handle: async (call, { caller, body }) => {
        const app = await appIn(call);
        const made = await inControlPlane(rooms.create(app.id, body));
        await audit(call, caller, {
          what: "room created",
          on: made.roomName,
          app: app.id,
          after: changedFields(made, named(body)),
        });
        return made;
      },
    }),
    endpoint({
      ...read,
      method: "GET",
      path: one,
      summary: "One room of an application, with who waits in its lobby",
      response: withLobby,
      problems: ["not_found"],
      handle: async (call, { caller }) => {
        const app = await appIn(call);
        const found = await inControlPlane(rooms.get(app.id, roomNameOf(call)));
        const waiting = await inControlPlane(sessions.waiting(app.id, found._id));
        return {
          ...shownTo(caller, found),
          waiting: waiting.map(({ name, sinceMs }) => ({ name, since: toSeconds(sinceMs) })),
        };
      },
    }),
    endpoint({
      ...change,
      method: "PUT",
      path: one,
      summary: "Change the fields of a room that are named; roomName renames",
      body: strictEdits,
      response: room,
      problems: ["not_found", "conflict", "internal_error"],
      handle: async (call, { caller, body }) => {
        const app = await appIn(call);
        const before = await inControlPlane(rooms.get(app.id, roomNameOf(call)));
        const after = await inControlPlane(rooms.update(app.id, roomNameOf(call), body));
        const fields = named(body).filter((field) => before[field] !== after[field]);
        await audit(call, caller, {
          what: "room edited",
          on: before.roomName,
          app: app.id,
          before: changedFields(before, fields),
          after: changedFields(after, fields),
        });
        return after;
      },
    }),
    endpoint({
      ...change,
      method: "DELETE",
      path: one,
      summary: "Archive an application's room; its name becomes available again",
      response: room,
      problems: ["not_found"],
      handle: async (call, { caller }) => {
        const app = await appIn(call);
        const found = await inControlPlane(rooms.get(app.id, roomNameOf(call)));
        await inControlPlane(rooms.archive(app.id, found.roomName));
        await audit(call, caller, { what: "room archived", on: found.roomName, app: app.id });
        return { ...found, archived: true };
      },
    }),
  ];
}

type Field = (typeof FIELD_NAMES)[number] | "roomName";

const named = (body: Infer<typeof strictEdits>): Field[] =>
  (["roomName", ...FIELD_NAMES] as const).filter((field) => body[field] !== undefined);

/** For the audit, which is read by every operator; null: the field is not set. */
const changedFields = (record: RoomRecord, fields: readonly Field[]): Record<string, unknown> =>
  Object.fromEntries(fields.map((field) => [field, masked(field, record[field] ?? null)]));

/** The address of a webhook often carries a credential: operators who see no secrets get only its host. */
const shownTo = ({ role }: Operator, record: RoomRecord): object =>
  role === "admin"
    ? record
    : {
        ...record,
        ...Object.fromEntries(
          WEBHOOKS.filter((name) => record[name]).map((name) => [name, masked(name, record[name])]),
        ),
      };

const WEBHOOKS = FIELD_NAMES.filter((name) => fieldOf(name).kind === "webhook");

function masked(field: Field, value: unknown): unknown {
  if (field === "roomName" || typeof value !== "string" || fieldOf(field).kind !== "webhook") return value;
  return maskedAddress(value);
}
