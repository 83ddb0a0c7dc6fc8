/** What the page of a stay uploads of its own: `/api/v1/room/:roomName/recording`, with the connect token of the stay as Bearer. */
import { z } from "zod";
import { holderDigest } from "../../access/keys/address-digest.ts";
import { lazily } from "../../base/lazily.ts";
import { type BegunStayUpload, RECORDING_SOURCES } from "../../meetings/contract/contract.ts";
import type { StayRecorders } from "../../meetings/stays/recorders.ts";
import { STAY_UPLOAD_STARTED_AGO_MAX_MS } from "../../recordings/budgets/limits.ts";
import type { Links } from "../../recordings/files/links.ts";
import type { StayCaller } from "../guards/stay.ts";
import type { Origins } from "../request/cors.ts";
import { linkFrom } from "../request/host.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import { roomNameOf } from "../shared/room-schemas.ts";

const BODY_MAX_BYTES = 1024;
const ID_MAX_CHARS = 64;

const wanted = lazily(() =>
  z
    .object({
      source: z.enum(RECORDING_SOURCES).describe("camera: also with a microphone; it decides the recording's type"),
      startedMsAgo: z
        .number()
        .min(0, "must be 0 or more")
        .max(STAY_UPLOAD_STARTED_AGO_MAX_MS, `must be at most ${STAY_UPLOAD_STARTED_AGO_MAX_MS}`)
        .optional()
        .describe("How long ago the recorder was started, in milliseconds; 0 if absent"),
    })
    .meta({ examples: [{ source: "camera" }] }),
);

const begun = lazily(() =>
  z
    .object({
      _id: z.string().describe("Id of the upload, and later of the recording"),
      uploadUrl: z.string().describe("Accepts the bytes with PUT, without another credential"),
      offset: z.int().describe("How many bytes are stored"),
    })
    .meta({ id: "BegunStayUpload" }),
);

interface StayRecordingParts {
  readonly recorders: StayRecorders;
  readonly links: Links;
  readonly guard: (name: string) => Guard<StayCaller>;
  readonly frameOrigins: Origins;
}

export function stayRecordingEndpoints({
  recorders,
  links,
  guard,
  frameOrigins: origins,
}: StayRecordingParts): Endpoint[] {
  const base = { tag: "meetings", origins, path: "/api/v1/room/:roomName/recording" } as const;
  return [
    endpoint({
      ...base,
      guard: guard("recording-begin"),
      method: "POST",
      summary: "Start an upload for what a stay's page records; the Bearer is the connect token of the stay",
      body: wanted,
      bodyMaxBytes: BODY_MAX_BYTES,
      response: begun,
      problems: [
        "invalid_token",
        "token_expired",
        "action_not_permitted",
        "room_not_found",
        "not_recording",
        "too_many_uploads",
        "internal_error",
        "insufficient_storage",
      ],
      handle: async (call, { caller: { app, token }, body }): Promise<BegunStayUpload> => {
        const address = holderDigest(call.client);
        const { id, generation } = await recorders.begin(app.id, roomNameOf(call), { token, address }, body);
        const proof = links.uploadProof(app.id, id, generation);
        const url = `${call.origin}/api/v1/upload/${id}?proof=${proof}&gen=${generation}`;
        return { _id: id, uploadUrl: linkFrom(call, url), offset: 0 };
      },
    }),
    // DELETE ends the run of the recorder, not the recording.
    endpoint({
      ...base,
      guard: guard("recording-end"),
      method: "DELETE",
      summary: "Complete an upload of one's own stay: it becomes a recording",
      body: () =>
        z.object({ _id: z.string().min(1).max(ID_MAX_CHARS, `must have at most ${ID_MAX_CHARS} characters`) }),
      bodyMaxBytes: BODY_MAX_BYTES,
      response: () => z.object({ success: z.literal(true) }),
      problems: [
        "invalid_token",
        "token_expired",
        "action_not_permitted",
        "recording_not_found",
        "upload_busy",
        "internal_error",
        "insufficient_storage",
      ],
      handle: async (call, { caller: { app, token }, body }) => {
        await recorders.sentAll(app.id, roomNameOf(call), token, body._id);
        return { success: true };
      },
    }),
  ];
}
