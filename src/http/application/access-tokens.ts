/** Access tokens over HTTP: `/api/v1/token`, `/api/v1/token/validate`. */
import { z } from "zod";
import { type Infer, lazily } from "../../base/lazily.ts";
import { hasControl, isWellFormed } from "../../protocol/names.ts";
import type { AccessTokenRequest, AccessTokens } from "../../rooms/access-token.ts";
import { roomName, seconds, unixTime } from "../../rooms/fields.ts";
import {
  ACCESS_TOKEN_META_MAX_CHARS,
  ACCESS_TOKEN_TEXT_MAX_CHARS,
  ACCESS_TOKEN_VALIDATE_MAX_BYTES,
  ROOM_URL_MAX_CHARS,
} from "../../rooms/limits.ts";
import type { ApplicationGuards } from "../guards/application.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";

const KEPT = "Stored in the token; has no effect by itself.";
const OVER_ROOM = "Overrides the room's field with this name.";

const flag = lazily(() => z.boolean("must be true or false").optional());
const line = lazily(() =>
  z
    .string()
    .max(ACCESS_TOKEN_TEXT_MAX_CHARS, `must have at most ${ACCESS_TOKEN_TEXT_MAX_CHARS} characters`)
    .refine((text) => !hasControl(text) && isWellFormed(text), "must be text without control characters")
    .optional(),
);

const roomUrl = lazily(() =>
  z
    .string("must be text")
    .max(ROOM_URL_MAX_CHARS, `must have at most ${ROOM_URL_MAX_CHARS} characters`)
    .refine((text) => roomNameIn(text) !== undefined, "must end with the name of a room: https://example.com/standup"),
);

const mintRequest = lazily(() =>
  z
    .object({
      roomName: roomName().optional().describe("The room that the token is for; it must exist. If absent, every room."),
      roomURL: roomUrl().optional().describe("A URL that ends with the room's name, instead of roomName."),
      globalToken: flag().describe("For every room, whatever roomName says."),
      isAdmin: flag().describe("Makes the holder an admin of the room. Without a room, requires globalToken: true."),
      name: line().describe("The name shown to others in the room."),
      email: line().describe(KEPT),
      externalUserId: line().describe(
        "The holder's id in your application, shown to others in the room and in lists of participants.",
      ),
      meta: z
        .string()
        .max(ACCESS_TOKEN_META_MAX_CHARS, `must have at most ${ACCESS_TOKEN_META_MAX_CHARS} characters`)
        .refine(isWellFormed, "must be well-formed text")
        .optional()
        .describe(KEPT),
      expireUnixSec: unixTime().optional().describe("The token is not valid after it; overrides the room's."),
      notBeforeUnixSec: unixTime().optional().describe("The token is not valid before it; overrides the room's."),
      ejectAfterElapsedTimeInSec: seconds().optional().describe(OVER_ROOM),
      joinVideoOn: flag().describe(OVER_ROOM),
      joinAudioOn: flag().describe(OVER_ROOM),
      disableVideo: flag().describe("The holder cannot share a camera."),
      disableAudio: flag().describe("The holder cannot share a microphone."),
      disableScreenSharing: flag().describe("The holder cannot share a screen."),
    })
    .meta({ examples: [{ roomName: "standup", name: "Alice", isAdmin: true }] }),
);

/** The last segment of `roomURL` is used as `roomName`. */
const withRoom = ({ roomURL, ...rest }: Infer<typeof mintRequest>): AccessTokenRequest => ({
  ...rest,
  ...(roomURL !== undefined && { roomURL, roomName: rest.roomName ?? roomNameIn(roomURL) }),
});

/** The last segment of the path. Without a scheme, the text may be just a path or the name itself. */
function roomNameIn(url: string): string | undefined {
  const path = url.replace(/^[a-z]+:\/\/[^/?#]*/i, "").replace(/[?#].*$/s, "");
  const last = path.split("/").findLast((segment) => segment !== "");
  return roomName().safeParse(last).success ? last : undefined;
}

const minted = lazily(() =>
  z.object({ token: z.string().describe("A JWT signed with HS256.") }).meta({ id: "AccessToken" }),
);

const validateRequest = lazily(() =>
  z.object({
    token: z.string(),
    roomName: roomName().optional().describe("Also checks that the holder can join this room now."),
  }),
);

const valid = lazily(() =>
  z
    .object({
      success: z.literal(true),
      data: z.looseObject({ appName: z.string() }).describe("The values that the token was minted with."),
      valid: z.literal(true),
    })
    .meta({ id: "ValidAccessToken" }),
);

export function accessTokenEndpoints(guards: ApplicationGuards, tokens: AccessTokens): Endpoint[] {
  return [
    endpoint({
      method: "POST",
      path: "/api/v1/token",
      tag: "access tokens",
      summary: "Mint an access token for a room, or for all of them",
      guard: guards.minting,
      body: mintRequest,
      response: minted,
      problems: ["room_not_found", "internal_error"],
      handle: async (_call, { caller, body }) => ({ token: await tokens.mint(caller, withRoom(body)) }),
    }),
    endpoint({
      method: "POST",
      path: "/api/v1/token/validate",
      tag: "access tokens",
      summary: "Check an access token and read its claims; needs no secret key",
      guard: guards.open,
      body: validateRequest,
      bodyMaxBytes: ACCESS_TOKEN_VALIDATE_MAX_BYTES,
      response: valid,
      problems: ["invalid_access_token", "internal_error"],
      handle: async (_call, { caller, body }) => ({
        success: true,
        data: await tokens.validate(caller, body.token, body.roomName),
        valid: true,
      }),
    }),
  ];
}
