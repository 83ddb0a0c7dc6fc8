/** What participants of a meeting do, mostly admins: `POST /api/v1/room/:roomName/act`, with the connect token of their stay. */
import { z } from "zod";
import { lazily } from "../../base/lazily.ts";
import type { Acts } from "../../meetings/acts/acts.ts";
import type { StayCaller } from "../guards/stay.ts";
import type { Origins } from "../request/cors.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import { roomNameOf } from "../shared/room-schemas.ts";

const ID_MAX_CHARS = 64;
const id = lazily(() => z.string().min(1).max(ID_MAX_CHARS, `must have at most ${ID_MAX_CHARS} characters`));

const act = lazily(() =>
  z
    .object({
      do: z.enum([
        "admit",
        "decline",
        "mute",
        "muteAll",
        "lowerHands",
        "remove",
        "rename",
        "end",
        "lock",
        "unlock",
        "record",
        "stopRecord",
      ]),
      participantSession: id().optional().describe("Of mute, remove and rename; rename without it is for oneself"),
      waitId: id().optional().describe("Of admit and decline: from the queue of the lobby"),
      name: z.string().optional().describe("Of rename: the new name; guests may rename themselves three times"),
      kind: z
        .enum(["audio", "video", "screen"])
        .optional()
        .describe("Of mute and muteAll: what to mute; audio if absent"),
    })
    .meta({ examples: [{ do: "admit", waitId: "5f0c…" }] }),
);

const BODY_MAX_BYTES = 4096;

interface ActParts {
  readonly acts: Acts;
  readonly guard: Guard<StayCaller>;
  readonly frameOrigins: Origins;
}

export function meetingActEndpoints({ acts, guard, frameOrigins }: ActParts): Endpoint[] {
  return [
    endpoint({
      tag: "meetings",
      guard,
      origins: frameOrigins,
      method: "POST",
      path: "/api/v1/room/:roomName/act",
      summary:
        "Act as an admin of a meeting, or start and stop its recording; the Bearer is the connect token of one's own stay",
      body: act,
      bodyMaxBytes: BODY_MAX_BYTES,
      response: () => z.object({ success: z.literal(true) }),
      problems: [
        "invalid_token",
        "token_expired",
        "action_not_permitted",
        "room_not_found",
        "participant_not_found",
        "ticket_not_found",
        "backend_error",
      ],
      handle: async (call, { caller: { app, token }, body }) => {
        await acts.act(app.id, roomNameOf(call), token, body);
        return { success: true };
      },
    }),
  ];
}
