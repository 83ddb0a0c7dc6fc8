/** Uploads over HTTP: begun and completed with the secret key, written to with the address that the beginning gave. */
import { z } from "zod";
import { Problem } from "../protocol/codes.ts";
import type { Links } from "../recordings/links.ts";
import { type ContentRange, parseContentRange } from "../recordings/range.ts";
import type { Recordings } from "../recordings/recordings.ts";
import type { Sent, Uploads } from "../recordings/uploads.ts";
import type { ApplicationGuards } from "./application.ts";
import { type Call, queryOf } from "./call.ts";
import { type Endpoint, endpoint } from "./endpoint.ts";
import { idOf, newUpload, recording, seconds, shown } from "./recordings.ts";

const begun = z
  .object({
    _id: z.string().describe("Of the upload, and then of the recording"),
    uploadUrl: z.string().describe("Takes the bytes with PUT, without the secret key"),
  })
  .meta({ id: "BegunUpload" });

const offset = z.object({ offset: z.int().describe("How many bytes are held") }).meta({ id: "UploadOffset" });

export function uploadEndpoints(
  guards: ApplicationGuards,
  uploads: Uploads,
  recordings: Recordings,
  links: Links,
): Endpoint[] {
  const tag = "recordings";
  return [
    endpoint({
      tag,
      guard: guards.secretKey,
      method: "POST",
      path: "/api/v1/recording",
      summary: "Begin an upload",
      body: newUpload,
      answer: begun,
      problems: ["room_not_found", "too_many_uploads", "internal_error", "insufficient_storage"],
      handle: async (call, { who, body }) => {
        const { id } = await uploads.begin(who.id, body);
        const proof = links.uploadProof(who.id, id);
        return { _id: id, uploadUrl: guards.link(call, `${call.origin}/api/v1/upload/${id}?proof=${proof}`) };
      },
    }),
    endpoint({
      tag,
      guard: guards.signed,
      method: "PUT",
      path: "/api/v1/upload/:id",
      summary: "The bytes: all of them, or those that Content-Range names; `bytes */T` asks how many are held",
      bodyType: "application/octet-stream",
      answer: offset,
      problems: [
        "invalid_request",
        "link_not_valid",
        "recording_not_found",
        "upload_stalled",
        "offset_mismatch",
        "upload_complete",
        "recording_too_large",
        "upload_busy",
        "internal_error",
        "insufficient_storage",
      ],
      handle: async (call, { who }) => {
        const proof = queryOf(call.request).get("proof") ?? "";
        if (!links.isUploadProof(who?.id ?? "", idOf(call), proof) || !who) throw new Problem("link_not_valid");
        call.standing.isKnown = true;
        try {
          return { offset: await uploads.write(who.id, idOf(call), sentIn(call)) };
        } finally {
          // The connection may live on; from here on it is one like any other.
          call.limitSilence();
        }
      },
    }),
    endpoint({
      tag,
      guard: guards.secretKey,
      method: "POST",
      path: "/api/v1/recording/:id/complete",
      summary: "Complete an upload: from here on it is listed",
      body: z.object({ endTime: seconds.optional().describe("Unix seconds; now if absent") }),
      answer: recording,
      problems: ["recording_not_found", "upload_incomplete", "upload_busy", "internal_error", "insufficient_storage"],
      handle: async (call, { who, body }) => shown(await recordings.complete(who.id, idOf(call), body.endTime)),
    }),
  ];
}

function sentIn(call: Call): Sent {
  const { request } = call;
  // Only a body that is wanted may take its time: one that is refused keeps to the limits of the listener.
  const onTaken = (): void => call.expectSilence();
  const range = contentRange(request.headers.get("content-range"));
  const length = request.headers.get("content-length");
  if (length !== null) return { range, length: Number(length), body: request.body, onTaken };
  // No length and no chunks: there is no body at all.
  return { range, length: request.headers.has("transfer-encoding") ? undefined : 0, body: request.body, onTaken };
}

function contentRange(header: string | null): ContentRange | undefined {
  if (header === null) return undefined;
  const range = parseContentRange(header);
  if (range) return range;
  const message = "must be `bytes first-last/total`, or `bytes */total` to ask";
  throw new Problem("invalid_request", `Content-Range: ${message}`, undefined, {
    details: [{ field: "Content-Range", message }],
  });
}
