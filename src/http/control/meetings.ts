/** Control plane: the meetings of an application, who is in them, and the "join as host" link of a room. */
import { z } from "zod";
import type { Operator } from "../../access/operators/operator.ts";
import type { AppId } from "../../base/ids.ts";
import { lazily } from "../../base/lazily.ts";
import type { Acts } from "../../meetings/acts/acts.ts";
import {
  HOST_LINK_SEC,
  MEETINGS_PAGE_DEFAULT,
  MEETINGS_PAGE_MAX,
  PERSON_NAME_MAX_CHARS,
} from "../../meetings/contract/limits.ts";
import type { HostLinks } from "../../meetings/entrance/host-link.ts";
import type { Sessions } from "../../meetings/sessions.ts";
import { Problem } from "../../protocol/codes.ts";
import { HOST_LINK_MAX_SEC } from "../../protocol/limits.ts";
import { hasControl, isWellFormed } from "../../protocol/names.ts";
import { UNIX_SECONDS_MAX } from "../../rooms/limits.ts";
import type { AppRow } from "../../store/contract/store.ts";
import type { Call } from "../request/call.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import type { Audit } from "../shared/audit.ts";
import { meeting, meetingFields, participant, participantFields } from "../shared/meeting-schemas.ts";
import { idOf } from "../shared/recording-schemas.ts";
import { roomNameOf } from "../shared/room-schemas.ts";
import { limit, unixSeconds, wholeNumber } from "../shared/schemas.ts";
import type { AppIn } from "./app-in.ts";
import { ID_FORM, inControlPlane, NO_CURSOR } from "./application-calls.ts";

const listed = lazily(() =>
  meeting()
    .extend({
      inside: z.int().optional().describe("How many people are inside; absent once the meeting is over"),
      people: z.int().describe("How many people have been in it, by their names; at most 50, of its first stays"),
      recorded: z.boolean().describe("Whether it is being recorded, or has been for some time"),
    })
    .meta({ id: "ListedMeeting" }),
);

const list = lazily(() =>
  z
    .object({
      data: z.array(listed()),
      next: z.string().nullable().describe("after of the next page; null at the end"),
      total: z.int().describe("How many meetings the filters match"),
    })
    .meta({ id: "MeetingList" }),
);

const whole = lazily(() =>
  meeting()
    .extend({ participants: z.array(participant()) })
    .meta({ id: "MeetingWithParticipants" }),
);

const query = lazily(() =>
  z.object({
    room: z.string().max(128).optional().describe("Id or name of a room: 24 hex digits are tried as an id first"),
    active: z.enum(["true", "false"]).optional().describe("true: meetings in progress; false: ended meetings"),
    startedAfter: wholeNumber(0, UNIX_SECONDS_MAX).optional().describe("Unix seconds: started then or later"),
    startedBefore: wholeNumber(0, UNIX_SECONDS_MAX).optional().describe("Unix seconds: started before then"),
    limit: limit(MEETINGS_PAGE_MAX, MEETINGS_PAGE_DEFAULT),
    after: z.string().regex(ID_FORM, NO_CURSOR).optional().describe("next of the previous page"),
  }),
);

const linkRequest = lazily(() =>
  z
    .object({
      name: z
        .string()
        .min(1, "must not be empty")
        .max(PERSON_NAME_MAX_CHARS, `must have at most ${PERSON_NAME_MAX_CHARS} characters`)
        .refine((text) => !hasControl(text) && isWellFormed(text), "must be text without control characters")
        .optional()
        .describe("The host's name; absent: the page asks for it"),
      validSec: z
        .int()
        .min(1)
        .max(HOST_LINK_MAX_SEC)
        .optional()
        .describe(
          `For how many seconds people can join with the link, at most until the room closes; default ${HOST_LINK_SEC}`,
        ),
    })
    .strict(),
);

const hostLink = lazily(() =>
  z
    .object({
      url: z.string().describe("Opens the room's page; its fragment contains an admin's access token"),
      expiresAt: unixSeconds().describe("The link is valid until then"),
    })
    .meta({ id: "HostLink" }),
);

const recordingState = lazily(() =>
  z.object({ recording: z.boolean().describe("Whether the meeting is recorded now") }).meta({ id: "MeetingRecording" }),
);
/** In the audit, as when the application's server does it. */
const STARTED = "recording started";
const STOPPED = "recording stopped";

/** Its own text says more than that of a meeting whose id is wrong. */
function withoutMeeting(error: unknown): never {
  throw error instanceof Problem && error.code === "meeting_not_found"
    ? new Problem("not_found", error.message)
    : error;
}

interface AdminMeetingParts {
  readonly appIn: AppIn;
  readonly sessions: Sessions;
  readonly acts: Pick<Acts, "end" | "remove" | "record">;
  readonly hostLinks: HostLinks;
  /** Rejects with room_not_found. */
  readonly roomNamed: (app: AppId, idOrName: string) => Promise<string>;
  /** Scheme and host under which browsers reach the application. */
  readonly originOf: (appName: string, call: Call) => string;
  readonly audit: Audit;
}

export function adminMeetingEndpoints(
  { admin, operator }: { readonly admin: Guard<Operator>; readonly operator: Guard<Operator> },
  parts: AdminMeetingParts,
): Endpoint[] {
  return [...reading(operator, parts), ...changing(admin, parts)];
}

const APP = "/api/internal/v1/apps/:app";

function reading(guard: Guard<Operator>, { appIn, sessions }: AdminMeetingParts): Endpoint[] {
  const base = { tag: "meetings", guard, scope: "app", method: "GET" } as const;
  return [
    endpoint({
      ...base,
      path: `${APP}/meetings`,
      summary: "List the meetings of an application, newest first",
      query,
      response: list,
      problems: ["not_found"],
      handle: async (call, { query: { active, after: endId, ...filter } }) => {
        const app = await appIn(call);
        const isActive = active === undefined ? undefined : active === "true";
        const { rows, total } = await inControlPlane(sessions.list(app.id, { ...filter, isActive, endId }));
        const [inside, people] = await Promise.all([sessions.inside(app.id, rows), sessions.people(rows)]);
        const data = rows.map((row) => ({
          ...meetingFields(row),
          ...(row.ended === null && { inside: inside.get(row.room) ?? 0 }),
          people: people.get(row.id) ?? 0,
          recorded: row.recording !== null || row.recordingStopped !== null,
        }));
        return { data, next: rows.length === filter.limit ? (rows.at(-1)?.id ?? null) : null, total };
      },
    }),
    endpoint({
      ...base,
      path: `${APP}/meetings/:id`,
      summary: "One meeting of an application, with its participants",
      response: whole,
      problems: ["not_found"],
      handle: async (call) => {
        const app = await appIn(call);
        const found = await inControlPlane(sessions.get(app.id, idOf(call)));
        return { ...meetingFields(found.meeting), participants: found.stays.map(participantFields) };
      },
    }),
  ];
}

function changing(guard: Guard<Operator>, parts: AdminMeetingParts): Endpoint[] {
  const { appIn, acts, hostLinks, originOf, audit } = parts;
  const base = { tag: "meetings", guard, scope: "app" } as const;
  // By its id too: a room may be renamed while people are inside, and their meeting keeps the old name.
  const roomIn = (app: AppRow, call: Call): Promise<string> =>
    inControlPlane(parts.roomNamed(app.id, roomNameOf(call)));
  const room = `${APP}/rooms/:roomName`;
  const recording = (what: "start" | "stop", summary: string): Endpoint =>
    endpoint({
      ...base,
      method: "POST",
      path: `${room}/recording/${what}`,
      summary,
      response: recordingState,
      problems: ["not_found"],
      handle: async (call, { caller }) => {
        const app = await appIn(call);
        const on = await roomIn(app, call);
        const isStart = what === "start";
        const hasChanged = await inControlPlane(acts.record(app.id, on, isStart).catch(withoutMeeting));
        if (hasChanged) await audit(call, caller, { what: isStart ? STARTED : STOPPED, on, app: app.id });
        return { recording: isStart };
      },
    });
  return [
    endpoint({
      ...base,
      method: "POST",
      path: `${room}/host-link`,
      summary:
        'Make a "join as host" link: it lets its holder into the room as an admin, for 15 minutes or `validSec`, also before the room opens',
      body: linkRequest,
      response: hostLink,
      problems: ["not_found", "conflict"],
      handle: async (call, { caller, body }) => {
        const app = await appIn(call);
        const made = await inControlPlane(hostLinks.make(app, await roomIn(app, call), body));
        const after = { expiresAt: made.expiresAt, ...(body.name !== undefined && { name: body.name }) };
        await audit(call, caller, { what: "host link made", on: made.room.name, app: app.id, after });
        return {
          url: `${originOf(app.name, call)}/${encodeURIComponent(made.room.name)}#token=${made.token}`,
          expiresAt: made.expiresAt,
        };
      },
    }),
    endpoint({
      ...base,
      method: "POST",
      path: `${room}/end`,
      summary:
        "End a room's meeting for all participants, by the room's name or id; does nothing if there is no meeting",
      response: () => z.object({ ended: z.int().describe("How many people were inside") }).meta({ id: "MeetingEnded" }),
      problems: ["not_found"],
      handle: async (call, { caller }) => {
        const app = await appIn(call);
        const on = await roomIn(app, call);
        const ended = await inControlPlane(acts.end(app.id, on));
        const after = { participants: ended };
        if (ended > 0) await audit(call, caller, { what: "meeting ended", on, app: app.id, after });
        return { ended };
      },
    }),
    recording(
      "start",
      "Record a room's meeting, by the room's name or id, until it ends or is stopped; all participants see that it is being recorded",
    ),
    recording("stop", "Stop recording a room's meeting, by the room's name or id"),
    endpoint({
      ...base,
      method: "DELETE",
      path: `${room}/participants/:participantSession`,
      summary: "Remove a participant from a room's meeting, by the room's name or id",
      response: () => z.object({ removed: z.literal(true) }).meta({ id: "ParticipantRemoved" }),
      problems: ["not_found"],
      handle: async (call, { caller }) => {
        const app = await appIn(call);
        const { participantSession = "" } = call.params;
        const on = await roomIn(app, call);
        await inControlPlane(acts.remove(app.id, on, participantSession));
        await audit(call, caller, { what: "participant removed", on, app: app.id, after: { participantSession } });
        return { removed: true };
      },
    }),
  ];
}
