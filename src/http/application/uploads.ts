/** Uploads over HTTP: begun and completed with the secret key, written through a signed address without it. */
import { z } from "zod";
import { lazily } from "../../base/lazily.ts";
import type { StayRecorders } from "../../meetings/stays/recorders.ts";
import { Problem } from "../../protocol/codes.ts";
import type { Links } from "../../recordings/files/links.ts";
import { type ContentRange, parseContentRange } from "../../recordings/files/range.ts";
import type { Recordings } from "../../recordings/recordings.ts";
import type { StayUploads } from "../../recordings/uploads/stay-uploads.ts";
import type { Sent, Uploads } from "../../recordings/uploads/uploads.ts";
import type { ApplicationGuards } from "../guards/application.ts";
import { type StayCaller, serverOrStay } from "../guards/stay.ts";
import { uploadGuard } from "../guards/upload.ts";
import type { UploadRates } from "../guards/upload-rates.ts";
import { COMPLETE_BODY_MAX_BYTES } from "../limits.ts";
import type { Call } from "../request/call.ts";
import { linkFrom } from "../request/host.ts";
import { queryOf } from "../request/query.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import { idOf, newUpload, recording, recordingFields, seconds } from "../shared/recording-schemas.ts";

const begun = lazily(() =>
  z
    .object({
      _id: z.string().describe("Id of the upload, and later of the recording"),
      uploadUrl: z.string().describe("Accepts the bytes with PUT, without the secret key"),
    })
    .meta({ id: "BegunUpload" }),
);

const offset = lazily(() =>
  z.object({ offset: z.int().describe("How many bytes are stored") }).meta({ id: "UploadOffset" }),
);

interface UploadParts {
  readonly uploads: Uploads;
  readonly recordings: Recordings;
  readonly links: Links;
  readonly stayUploads: Pick<StayUploads, "sentAllByServer">;
  readonly recorders: Pick<StayRecorders, "sentAll">;
  readonly stay: Guard<StayCaller>;
  readonly rates: UploadRates;
  readonly nowMs: () => number;
}

export function uploadEndpoints(guards: ApplicationGuards, parts: UploadParts): Endpoint[] {
  const { uploads, recordings, links, stayUploads, recorders, rates, nowMs } = parts;
  const tag = "recordings";
  return [
    endpoint({
      tag,
      guard: guards.secretKey,
      method: "POST",
      path: "/api/v1/recording",
      summary: "Begin an upload",
      body: newUpload,
      response: begun,
      problems: ["room_not_found", "too_many_uploads", "internal_error", "insufficient_storage"],
      handle: async (call, { caller, body }) => {
        const { id } = await uploads.begin(caller.id, body);
        const proof = links.uploadProof(caller.id, id);
        return { _id: id, uploadUrl: linkFrom(call, `${call.origin}/api/v1/upload/${id}?proof=${proof}`) };
      },
    }),
    endpoint({
      tag,
      guard: uploadGuard(guards, links, nowMs),
      method: "PUT",
      path: "/api/v1/upload/:id",
      summary:
        "Write the bytes: all of them, or the range that Content-Range names, with `*` for a total that is not known yet; `bytes */T` asks how many are held",
      bodyType: "application/octet-stream",
      response: offset,
      problems: [
        "invalid_request",
        "link_not_valid",
        "action_not_permitted",
        "recording_not_found",
        "upload_stalled",
        "offset_mismatch",
        "upload_complete",
        "recording_too_large",
        "body_too_large",
        "upload_busy",
        "internal_error",
        "insufficient_storage",
      ],
      handle: async (call, { caller: { app, upload }, recheck }) => {
        // The generation of an upload of a stay may end while a body is being sent.
        const check = queryOf(call.request).has("gen") ? () => void recheck() : undefined;
        const sent = { ...sentIn(call), check };
        try {
          const write = (): Promise<number> => uploads.write(app.id, upload, sent);
          return { offset: await rates.counted(call, upload, bytesOf(sent), write) };
        } finally {
          call.restoreIdleTimeout();
        }
      },
    }),
    endpoint({
      tag,
      guard: serverOrStay(guards, parts.stay),
      method: "POST",
      path: "/api/v1/recording/:id/complete",
      summary:
        "Complete an upload, which then appears in lists. An upload from a meeting's page appears a moment later; its stay's connect token can complete it too",
      bodyMaxBytes: COMPLETE_BODY_MAX_BYTES,
      body: () =>
        z.object({
          endTime: seconds().optional().describe("Unix seconds; now if absent"),
          total: z
            .int()
            .min(0)
            .optional()
            .describe("How many bytes were sent; needed where no Content-Range has named the total"),
        }),
      response: () => z.union([recording(), z.object({ success: z.literal(true) })]),
      problems: [
        "invalid_token",
        "token_expired",
        "action_not_permitted",
        "recording_not_found",
        "upload_incomplete",
        "upload_busy",
        "internal_error",
        "insufficient_storage",
      ],
      handle: async (call, { caller, body }) => {
        const id = idOf(call);
        if (caller.by === "stay") {
          await recorders.sentAll(caller.app.id, undefined, caller.token, id, body.total);
          return { success: true };
        }
        if (await stayUploads.sentAllByServer(caller.app.id, id, body.total)) return { success: true };
        return recordingFields(await recordings.complete(caller.app.id, id, body));
      },
    }),
  ];
}

/** What the request brings. A question for the offset brings nothing, whatever length it announces: its body is not read. */
const bytesOf = ({ range, length = 0 }: Sent): number => (range?.kind === "query" ? 0 : length);

function sentIn(call: Call): Sent {
  const { request } = call;
  // Only once the body is accepted: a refused one keeps the listener's idle timeout.
  const onTaken = (): void => call.suspendIdleTimeout();
  const range = contentRange(request.headers.get("content-range"));
  const length = request.headers.get("content-length");
  if (length !== null) return { range, length: Number(length), body: request.body, onTaken };
  // Neither a length nor chunks: there is no body.
  return { range, length: request.headers.has("transfer-encoding") ? undefined : 0, body: request.body, onTaken };
}

function contentRange(header: string | null): ContentRange | undefined {
  if (header === null) return undefined;
  const range = parseContentRange(header);
  if (range) return range;
  const message = "must be `bytes first-last/total`, or `bytes */total` to ask; total can be `*`";
  throw new Problem("invalid_request", `Content-Range: ${message}`, undefined, {
    details: [{ field: "Content-Range", message }],
  });
}
