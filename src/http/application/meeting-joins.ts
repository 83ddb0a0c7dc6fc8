/** The way into a room over HTTP, for pages: `/api/v1/room/:roomName/door` and `/join`. They need no secret key. */
import { z } from "zod";
import { addressDigest, siteDigest } from "../../access/keys/address-digest.ts";
import { lazily } from "../../base/lazily.ts";
import type { JoinBudget } from "../../meetings/contract/ports.ts";
import type { Caller } from "../../meetings/entrance/joining.ts";
import type { Meetings } from "../../meetings/meetings.ts";
import type { ApplicationGuards } from "../guards/application.ts";
import type { MakeRates } from "../guards/meeting-rates.ts";
import { JOIN_BODY_MAX_BYTES } from "../limits.ts";
import type { Call } from "../request/call.ts";
import type { Origins } from "../request/cors.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";
import { recordingState } from "../shared/meeting-schemas.ts";
import { described, roomNameOf } from "../shared/room-schemas.ts";

const door = lazily(() =>
  z
    .object({
      roomName: z.string(),
      privacy: z.enum(["public", "private"]).describe(described("privacy")),
      lang: z.string().describe(described("lang")),
      autoJoin: z.boolean().describe(described("autoJoin")),
      audioOnlyRoom: z.boolean().describe(described("audioOnlyRoom")),
      recording: z.boolean().describe("It is being recorded, or will be as soon as the first participant enters"),
      opensAt: z.int().optional().describe("Unix seconds, while it is not open yet"),
      closesAt: z.int().optional().describe("Unix seconds, while it is not open yet and has an end"),
      state: z.enum(["open", "not_open", "over"]).describe("By the room's own times; those of an access token win"),
      enableRequestToJoin: z
        .boolean()
        .describe(
          "Visitors without an access token can ask to be let into a private room; false: they need an invitation",
        ),
      inside: z
        .int()
        .optional()
        .describe("How many people are inside; of private rooms, only for an admin's access token"),
      you: z
        .object({
          name: z.string().optional().describe("The name in the access token, which overrides a typed one"),
          isAdmin: z.boolean(),
          isInvited: z.boolean().describe("The access token is for this room, or for all rooms"),
        })
        .optional()
        .describe("How the holder of the access token would enter, if one was sent"),
    })
    .meta({ id: "Door" }),
);

const text = lazily(() => z.string("must be text"));

const joinRequest = lazily(() =>
  z
    .object({
      token: text().optional().describe("An access token"),
      name: text().optional().describe("Up to 64 characters; the name in the access token wins"),
      ticket: text().optional().describe("The lobby ticket from an earlier answer to this caller; it is secret"),
      resume: text().optional().describe("The connect token from an earlier answer; continues the same stay"),
    })
    .meta({ examples: [{ name: "Alice" }] }),
);

const doorRequest = lazily(() =>
  z.object({ token: text().optional().describe("An access token") }).meta({ examples: [{ token: "eyJhbGciOi…" }] }),
);

const connect = lazily(() => z.object({ url: z.string().describe("The WebSocket address"), token: z.string() }));

const joined = lazily(() =>
  z
    .object({
      participantSession: z.string(),
      meetingSession: z.string(),
      meetingElapsedSec: z.int().describe("How long the meeting has gone on; 0 for the first who enters"),
      peerId: z.string(),
      name: z.string(),
      isAdmin: z.boolean(),
      isGuest: z.boolean().describe("No access token vouches for the name"),
      may: z.object({
        audio: z.boolean(),
        video: z.boolean(),
        screen: z.boolean(),
        chat: z.boolean(),
        record: z.boolean().describe("Admins at any time, others only while no admin is inside"),
      }),
      room: z.looseObject({ roomName: z.string() }).describe("The fields of the room that all participants may see"),
      recording: recordingState().nullable().describe("null: it is not being recorded"),
      connect: connect(),
      media: z.object({ engine: z.literal("mesh") }),
      iceServers: z.array(
        z.object({ urls: z.array(z.string()), username: z.string().optional(), credential: z.string().optional() }),
      ),
      ejectAt: z.int().optional().describe("Unix seconds: the latest time at which the stay ends"),
    })
    .meta({ id: "Joined" }),
);

const waiting = lazily(() =>
  z
    .object({
      waiting: z.literal(true),
      ticket: z.string().describe("The visitor's secret for the next join; others see a digest of it, the waitId"),
      connect: connect(),
    })
    .meta({ id: "WaitingInLobby" }),
);

interface MeetingJoinParts {
  readonly meetings: Pick<Meetings, "door" | "join">;
  readonly rates: MakeRates;
  readonly frameOrigins: Origins;
}

export function meetingJoinEndpoints(
  { unpaid: guard }: ApplicationGuards,
  { meetings, rates, frameOrigins: origins }: MeetingJoinParts,
): Endpoint[] {
  const base = { tag: "meetings", guard, origins } as const;
  const [doors, joins] = [rates("door"), rates("join")];
  const path = "/api/v1/room/:roomName";
  return [
    endpoint({
      ...base,
      method: "GET",
      path: `${path}/door`,
      summary: "Check a room before joining; needs no secret key",
      response: door,
      problems: ["room_not_found"],
      handle: (call, { caller }) => meetings.door(caller, roomNameOf(call), doors.budgetOf(call)),
    }),
    endpoint({
      ...base,
      method: "POST",
      path: `${path}/door`,
      summary: "Check a room before joining with an access token; needs no secret key",
      body: doorRequest,
      bodyMaxBytes: JOIN_BODY_MAX_BYTES,
      response: door,
      problems: ["invalid_access_token", "room_not_open", "room_over", "room_not_found"],
      handle: (call, { caller, body: { token } }) =>
        meetings.door(caller, roomNameOf(call), doors.budgetOf(call), token),
    }),
    endpoint({
      ...base,
      method: "POST",
      path: `${path}/join`,
      summary: "Join a room, or ask to be let in; needs no secret key",
      body: joinRequest,
      bodyMaxBytes: JOIN_BODY_MAX_BYTES,
      response: () => z.union([joined(), waiting()]),
      problems: [
        "invalid_access_token",
        "token_required",
        "declined",
        "removed",
        "room_not_open",
        "room_over",
        "room_not_found",
        "lobby_full",
        "room_full",
        "room_locked",
        "internal_error",
      ],
      handle: (call, { caller, body }) =>
        meetings.join(caller, roomNameOf(call), body, callerOf(call, joins.budgetOf(call))),
    }),
  ];
}

const callerOf = (call: Call, budget: JoinBudget): Caller => ({
  address: addressDigest(call.client),
  site: siteDigest(call.client),
  budget,
  url: `${call.origin.replace(/^http/, "ws")}/v1`,
});
