/** Thumbnails and speech of recordings, as both APIs show them. */
import { z } from "zod";
import { type Infer, lazily } from "../../base/lazily.ts";
import { areIntervals, type Interval, SPEECH_INTERVALS_MAX, SPEECH_MAX_MS } from "../../recordings/extras/speech.ts";
import type { RecordingRow } from "../../store/contract/recordings.ts";

const ms = () => z.number().min(0).max(SPEECH_MAX_MS, `must be at most ${SPEECH_MAX_MS} ms`);

export const spokenIntervals = lazily(() =>
  z
    .array(z.tuple([ms(), ms()]))
    .max(SPEECH_INTERVALS_MAX, `must have at most ${SPEECH_INTERVALS_MAX} intervals`)
    .refine(areIntervals, "must be in order, without overlaps, each with its end after its beginning")
    .describe("From and to, in milliseconds from the start of the recording, in order; kept in tenths of a second"),
);

export const speech = lazily(() =>
  z
    .object({
      _id: z.string().describe("The recording"),
      participantSession: z.string(),
      participantUsername: z.string(),
      intervals: z
        .array(z.tuple([z.int(), z.int()]))
        .nullable()
        .describe("From and to, in milliseconds from the start of the recording; null: speech was not measured"),
    })
    .meta({ id: "Speech" }),
);

export const spokenFields = (row: RecordingRow, spoken: ReadonlyMap<string, Interval[]>): Infer<typeof speech> => ({
  _id: row.id,
  participantSession: row.participantSession,
  participantUsername: row.participantUsername,
  intervals: spoken.get(row.id)?.map(([from, to]) => [from, to] as [number, number]) ?? null,
});

/** How an endpoint that returns a thumbnail declares its response. */
export const THUMBNAIL_ANSWER = {
  response: () => z.unknown().meta({ type: "string", format: "binary" }),
  responseType: "image/jpeg",
} as const;

/** With headers that keep browsers from taking it for anything else. A thumbnail never changes. */
export const thumbnailResponse = (jpeg: Uint8Array<ArrayBuffer>): Response =>
  new Response(jpeg, {
    headers: {
      "Content-Type": "image/jpeg",
      "Content-Disposition": "inline",
      "Content-Security-Policy": "default-src 'none'; sandbox",
      "X-Content-Type-Options": "nosniff",
      "Cross-Origin-Resource-Policy": "same-origin",
      "Cache-Control": "private, no-store",
    },
  });
