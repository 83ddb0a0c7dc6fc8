/** What participants of a meeting do, mostly admins: `POST /api/v1/room/:roomName/act`, with the connect token of their stay. */
import { z } from "zod";
import { bearer } from "../access/credential.ts";
import type { Acts } from "../meetings/acts.ts";
import { noStayToken } from "../meetings/stay-tokens.ts";
import type { ApplicationGuards } from "./application.ts";
import type { Origins } from "./cors.ts";
import { type Endpoint, endpoint } from "./endpoint.ts";
import type { MeetingRates } from "./meeting-rates.ts";
import { roomNameOf } from "./room-schemas.ts";

const ID_MAX_CHARS = 64;
const id = z.string().min(1).max(ID_MAX_CHARS, `must have at most ${ID_MAX_CHARS} characters`);

const act = z
  .object({
    do: z.enum(["admit", "decline", "mute", "remove", "rename", "end", "lock", "unlock", "record", "stopRecord"]),
    participantSession: id.optional().describe("Of mute, remove and rename; rename without it is for oneself"),
    waitId: id.optional().describe("Of admit and decline: from the queue of the lobby"),
    name: z.string().optional().describe("Of rename: the new name; guests may rename themselves three times"),
    kind: z.enum(["audio", "video", "screen"]).optional().describe("Of mute: what to mute; audio if absent"),
  })
  .meta({ examples: [{ do: "admit", waitId: "5f0c…" }] });

const BODY_MAX_BYTES = 4096;

export interface ActParts {
  readonly acts: Acts;
  readonly rates: MeetingRates;
  readonly frameOrigins: Origins;
}

export function meetingActEndpoints({ open }: ApplicationGuards, { acts, rates, frameOrigins }: ActParts): Endpoint[] {
  return [
    endpoint({
      tag: "meetings",
      guard: rates.guard(open),
      origins: frameOrigins,
      method: "POST",
      path: "/api/v1/room/:roomName/act",
      summary:
        "Act as an admin of a meeting, or start and stop its recording; the Bearer is the connect token of one's own stay",
      body: act,
      bodyMaxBytes: BODY_MAX_BYTES,
      response: z.object({ success: z.literal(true) }),
      problems: [
        "invalid_token",
        "token_expired",
        "action_not_permitted",
        "room_not_found",
        "participant_not_found",
        "ticket_not_found",
      ],
      handle: async (call, { caller, body }) => {
        const token = bearer(call.request.headers.get("authorization"));
        if (!caller || token === undefined) throw noStayToken();
        await acts.act(caller.id, roomNameOf(call), token, body);
        return { success: true };
      },
    }),
  ];
}
