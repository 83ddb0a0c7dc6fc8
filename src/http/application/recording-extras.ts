/** Thumbnails of recordings, and when people spoke: sent with the address of the upload, read with the secret key. */
import { z } from "zod";
import { lazily } from "../../base/lazily.ts";
import type { RecordingExtras } from "../../recordings/extras/extras.ts";
import { THUMBNAIL_MAX_BYTES } from "../../recordings/extras/jpeg.ts";
import type { Links } from "../../recordings/files/links.ts";
import type { Recordings } from "../../recordings/recordings.ts";
import type { ApplicationGuards } from "../guards/application.ts";
import { uploadGuard } from "../guards/upload.ts";
import type { UploadRates } from "../guards/upload-rates.ts";
import { SPEECH_BODY_MAX_BYTES } from "../limits.ts";
import { readBytes } from "../request/input.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";
import {
  speech,
  spokenFields,
  spokenIntervals,
  THUMBNAIL_ANSWER,
  thumbnailResponse,
} from "../shared/recording-extras.ts";
import { idOf } from "../shared/recording-schemas.ts";

const sentSpeech = lazily(() =>
  z.object({ intervals: spokenIntervals() }).meta({
    examples: [
      {
        intervals: [
          [1200, 3400],
          [9000, 12_500],
        ],
      },
    ],
  }),
);

interface RecordingExtraParts {
  readonly extras: RecordingExtras;
  readonly recordings: Pick<Recordings, "get">;
  readonly links: Links;
  readonly rates: UploadRates;
  readonly nowMs: () => number;
}

export function recordingExtraEndpoints(
  guards: ApplicationGuards,
  { extras, recordings, links, rates, nowMs }: RecordingExtraParts,
): Endpoint[] {
  const tag = "recordings";
  const guard = uploadGuard(guards, links, nowMs);
  const sent = { tag, guard, method: "PUT" } as const;
  const read = { tag, guard: guards.secretKey, method: "GET", problems: ["recording_not_found"] } as const;
  const problems = ["invalid_request", "link_not_valid", "action_not_permitted", "recording_not_found"] as const;
  return [
    endpoint({
      ...sent,
      path: "/api/v1/upload/:id/thumbnail",
      summary: `Set the thumbnail of a recording while its upload is open: a JPEG of at most ${THUMBNAIL_MAX_BYTES / 1024} KiB. Only the image itself is kept`,
      bodyType: "image/jpeg",
      response: () => z.object({ bytes: z.int().describe("How many bytes are kept") }).meta({ id: "KeptThumbnail" }),
      problems: [...problems, "upload_complete", "body_too_large"],
      handle: (call, { caller: { app, upload }, recheck }) =>
        rates.counted(call, upload, 0, async () => {
          const bytes = await readBytes(call.request, THUMBNAIL_MAX_BYTES);
          recheck();
          return { bytes: await extras.putThumbnail(app.id, upload, bytes) };
        }),
    }),
    endpoint({
      ...sent,
      path: "/api/v1/upload/:id/speech",
      summary: "Set when the person of a recording spoke, while its upload is open. Replaces what was sent before",
      body: sentSpeech,
      bodyMaxBytes: SPEECH_BODY_MAX_BYTES,
      response: () => z.object({ success: z.literal(true) }),
      problems: [...problems, "upload_complete"],
      handle: (call, { caller: { app, upload }, body }) =>
        rates.counted(call, upload, 0, async () => {
          await extras.putSpeech(app.id, upload, body.intervals);
          return { success: true };
        }),
    }),
    endpoint({
      ...read,
      path: "/api/v1/recording/:id/thumbnail",
      summary: "The thumbnail of a recording",
      ...THUMBNAIL_ANSWER,
      handle: async (call, { caller }) => thumbnailResponse(await extras.thumbnail(caller.id, idOf(call))),
    }),
    endpoint({
      ...read,
      path: "/api/v1/recording/:id/speech",
      summary: "When the person of a recording spoke; `null` if this was not measured",
      response: speech,
      handle: async (call, { caller }) => {
        const row = await recordings.get(caller.id, idOf(call));
        return spokenFields(row, await extras.speech(caller.id, [row.id]));
      },
    }),
  ];
}
