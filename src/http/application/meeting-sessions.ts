/** Meetings that are or were, and what an application's server does with them, all with its secret key. */
import { z } from "zod";
import type { AppId } from "../../base/ids.ts";
import { lazily } from "../../base/lazily.ts";
import type { Acts } from "../../meetings/acts/acts.ts";
import { MEETINGS_PAGE_DEFAULT, MEETINGS_PAGE_MAX } from "../../meetings/contract/limits.ts";
import type { Sessions } from "../../meetings/sessions.ts";
import { CHAT_MAX_CHARS, CHAT_TEXT_RULE, isChatText } from "../../protocol/chat-text.ts";
import { ROOM_NAME_MAX_CHARS, UNIX_SECONDS_MAX } from "../../rooms/limits.ts";
import type { ApplicationGuards } from "../guards/application.ts";
import type { Call } from "../request/call.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";
import { APPLICATION_SECRET, type AppAudit } from "../shared/audit.ts";
import { meeting, meetingFields, participant, participantFields } from "../shared/meeting-schemas.ts";
import { idOf } from "../shared/recording-schemas.ts";
import { roomNameOf } from "../shared/room-schemas.ts";
import { limit, wholeNumber } from "../shared/schemas.ts";

const page = lazily(() =>
  z
    .object({
      data: z.array(meeting()),
      total: z.int().describe("How many meetings the filters match"),
      limit: z.int(),
      currEndId: z.string().describe("endId of the next page; empty on an empty page"),
    })
    .meta({ id: "MeetingPage" }),
);

const active = lazily(() =>
  z
    .object({
      _id: z.string().describe("The meetingSession"),
      room: z.string(),
      roomName: z.string(),
      created: z.string().describe("When it began, ISO 8601"),
      participants: z.int().describe("How many people are inside"),
    })
    .meta({ id: "ActiveMeeting" }),
);

const listing = lazily(() =>
  z.object({
    room: z
      .string()
      .max(ROOM_NAME_MAX_CHARS, `must have at most ${ROOM_NAME_MAX_CHARS} characters`)
      .optional()
      .describe("Id or name of a room: 24 hex digits are tried as an id first"),
    active: z.enum(["true", "false"]).optional().describe("true: meetings in progress; false: ended meetings"),
    startedAfter: wholeNumber(0, UNIX_SECONDS_MAX).optional().describe("Unix seconds: started then or later"),
    startedBefore: wholeNumber(0, UNIX_SECONDS_MAX).optional().describe("Unix seconds: started before then"),
    limit: limit(MEETINGS_PAGE_MAX, MEETINGS_PAGE_DEFAULT),
    endId: z.string().optional().describe("currEndId of the previous page"),
  }),
);

const line = lazily(() =>
  z.object({
    text: z
      .string()
      .min(1, `must have 1 to ${CHAT_MAX_CHARS} characters`)
      .max(CHAT_MAX_CHARS, `must have 1 to ${CHAT_MAX_CHARS} characters`)
      .refine((text) => text.isWellFormed(), "must be well-formed text")
      .refine(isChatText, `must have ${CHAT_TEXT_RULE}`)
      .describe("Without control characters other than tabs and line breaks"),
  }),
);

const done = lazily(() => z.object({ success: z.literal(true), message: z.string() }));

interface SessionEndpointParts {
  readonly sessions: Sessions;
  readonly acts: Acts;
  readonly audit: AppAudit;
}

export function meetingSessionEndpoints(
  { secretKey: guard }: ApplicationGuards,
  { sessions, acts, audit }: SessionEndpointParts,
): Endpoint[] {
  const base = { tag: "meetings", guard } as const;
  const room = "/api/v1/room/:roomName";
  const changed = (call: Call, app: AppId, what: string, after?: Readonly<Record<string, unknown>>): void =>
    audit(call, APPLICATION_SECRET, { what, on: roomNameOf(call), app, ...(after && { after }) });
  const recordingEndpoint = (verb: "start" | "stop", summary: string): Endpoint =>
    endpoint({
      ...base,
      method: "POST",
      path: `${room}/recording/${verb}`,
      summary,
      response: () =>
        z.object({ success: z.literal(true), recording: z.boolean().describe("It is being recorded now") }),
      problems: ["room_not_found", "meeting_not_found"],
      handle: async (call, { caller }) => {
        const on = verb === "start";
        if (await acts.record(caller.id, roomNameOf(call), on))
          changed(call, caller.id, on ? "recording started" : "recording stopped");
        return { success: true, recording: on };
      },
    });
  return [
    endpoint({
      ...base,
      method: "GET",
      path: "/api/v1/meetings",
      summary: "List meetings, newest first, in pages",
      query: listing,
      response: page,
      handle: async (_call, { caller, query: { active: isActive, ...filter } }) => {
        const { rows, total } = await sessions.list(caller.id, {
          ...filter,
          isActive: isActive === undefined ? undefined : isActive === "true",
        });
        return { data: rows.map(meetingFields), total, limit: filter.limit, currEndId: rows.at(-1)?.id ?? "" };
      },
    }),
    endpoint({
      ...base,
      method: "GET",
      path: "/api/v1/meeting/:id",
      summary: "One meeting, with its participants",
      response: () => meeting().extend({ participants: z.array(participant()) }),
      problems: ["meeting_not_found"],
      handle: async (call, { caller }) => {
        const found = await sessions.get(caller.id, idOf(call));
        return { ...meetingFields(found.meeting), participants: found.stays.map(participantFields) };
      },
    }),
    endpoint({
      ...base,
      method: "GET",
      path: "/api/v1/rooms/active/meetingsessions",
      summary: "The meetings in progress, newest first",
      response: () => z.array(active()),
      handle: async (_call, { caller }) =>
        (await sessions.active(caller.id)).map(({ meeting: { id, room, roomName, began }, inside }) => ({
          _id: id,
          room,
          roomName,
          created: new Date(began).toISOString(),
          participants: inside,
        })),
    }),
    endpoint({
      ...base,
      method: "POST",
      path: `${room}/end`,
      summary: "End a room's meeting for everyone, if there is one",
      response: () => done().extend({ ended: z.int().describe("How many people were inside") }),
      problems: ["room_not_found"],
      handle: async (call, { caller }) => {
        const ended = await acts.end(caller.id, roomNameOf(call));
        if (ended > 0) changed(call, caller.id, "meeting ended", { participants: ended });
        return { success: true, message: ended > 0 ? "Meeting successfully ended" : "No one was in the room", ended };
      },
    }),
    recordingEndpoint(
      "start",
      "Record a room's meeting, regardless of the room's fields; succeeds if it is already being recorded",
    ),
    recordingEndpoint("stop", "Stop recording a meeting; succeeds if it is not being recorded"),
    endpoint({
      ...base,
      method: "DELETE",
      path: `${room}/participant/:participantSession`,
      summary: "Remove a participant from the meeting",
      response: done,
      problems: ["room_not_found", "participant_not_found"],
      handle: async (call, { caller }) => {
        const { participantSession = "" } = call.params;
        await acts.remove(caller.id, roomNameOf(call), participantSession);
        changed(call, caller.id, "participant removed", { participantSession });
        return { success: true, message: "Participant successfully removed" };
      },
    }),
    endpoint({
      ...base,
      method: "POST",
      path: `${room}/message`,
      summary: "Send a chat message to a room from the server",
      body: line,
      response: done,
      problems: ["room_not_found", "meeting_not_found", "backend_error"],
      handle: async (call, { caller, body: { text } }) => {
        await acts.say(caller.id, roomNameOf(call), text);
        return { success: true, message: "Message successfully sent" };
      },
    }),
  ];
}
