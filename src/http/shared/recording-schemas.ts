/** Shapes of recordings and uploads, which several endpoints share. */
import { z } from "zod";
import { type Infer, lazily } from "../../base/lazily.ts";
import { Problem } from "../../protocol/codes.ts";
import { hasControl, isWellFormed } from "../../protocol/names.ts";
import {
  RECORDING_SESSION_MAX_CHARS,
  RECORDING_USERNAME_MAX_CHARS,
  RECORDINGS_PAGE_DEFAULT,
  RECORDINGS_PAGE_MAX,
} from "../../recordings/budgets/limits.ts";
import { downloadName } from "../../recordings/files/download-name.ts";
import { ROOM_NAME_MAX_CHARS, UNIX_SECONDS_MAX } from "../../rooms/limits.ts";
import type { RecordingFilter, RecordingRow } from "../../store/contract/recordings.ts";
import type { Call } from "../request/call.ts";
import { queryOf } from "../request/query.ts";
import { limit, unixSeconds, wholeNumber } from "./schemas.ts";

const text = (maxChars: number) =>
  z
    .string()
    .min(1, "must not be empty")
    .max(maxChars, `must have at most ${maxChars} characters`)
    .refine((value) => !hasControl(value) && isWellFormed(value), "must be text without control characters");

const types = ["video", "audio", "screen", "composition"] as const;
const room = lazily(() =>
  z
    .string()
    .regex(new RegExp(`^[A-Za-z0-9_-]{1,${ROOM_NAME_MAX_CHARS}}$`), "must be the id or the name of a room")
    .describe("Id or name of a room: 24 hex digits are tried as an id first"),
);
const session = lazily(() => text(RECORDING_SESSION_MAX_CHARS));
const username = lazily(() => text(RECORDING_USERNAME_MAX_CHARS));
export const seconds = lazily(() =>
  z
    .number()
    .min(0)
    .max(UNIX_SECONDS_MAX, `must be Unix seconds from 0 to ${UNIX_SECONDS_MAX}`)
    .transform(Math.floor)
    .describe("Unix seconds; fractions are dropped"),
);

export const newUpload = lazily(() =>
  z.object({
    room: room(),
    participantUsername: username(),
    type: z.enum(types),
    startTime: seconds().optional().describe("Unix seconds; now if absent"),
    meetingSession: session().optional().describe("A fresh id if absent"),
    participantSession: session().optional().describe("A fresh id if absent"),
  }),
);

export const filters = lazily(() =>
  z.object({
    room: room().optional(),
    meetingSession: session().optional(),
    participantSession: session().optional(),
    participantUsername: username().optional(),
    type: z.enum(types).optional(),
    startedAfter: wholeNumber(0, UNIX_SECONDS_MAX).optional().describe("Unix seconds: started then or later"),
    startedBefore: wholeNumber(0, UNIX_SECONDS_MAX).optional().describe("Unix seconds: started before then"),
  }),
);

export const listing = lazily(() =>
  filters().extend({
    limit: limit(RECORDINGS_PAGE_MAX, RECORDINGS_PAGE_DEFAULT),
    endId: z.string().optional().describe("currEndId of the previous page"),
    currEndId: z.string().optional().describe("The same as endId"),
    order: z.enum(["asc", "desc"]).default("desc").describe("By completion: desc is newest first"),
  }),
);

export const recording = lazily(() =>
  z
    .object({
      _id: z.string(),
      app: z.string(),
      room: z.string(),
      participantSession: z.string(),
      meetingSession: z.string(),
      participantUsername: z.string(),
      fileName: z.string().describe("A random name with the ending of its format"),
      downloadName: z.string().describe("The name that the file is downloaded under: who, what, when, and _id"),
      sizeInBytes: z.int(),
      type: z.enum(types),
      startTime: unixSeconds(),
      startTimeMs: z
        .int()
        .optional()
        .describe("Unix milliseconds; only for recordings made by a meeting's page: it aligns those of one meeting"),
      endTime: unixSeconds(),
      mended: z
        .boolean()
        .optional()
        .describe(
          "Only for recordings made by a meeting's page; false: the file is unchanged, without duration and index",
        ),
      hasThumbnail: z.literal(true).optional().describe("Present if it has a thumbnail"),
      speechMs: z.int().optional().describe("How long its person spoke, in milliseconds; absent: not measured"),
    })
    .meta({ id: "Recording" }),
);

/** The public fields of a row. */
export const recordingFields = (row: RecordingRow): Infer<typeof recording> => ({
  _id: row.id,
  app: row.app,
  room: row.room,
  participantSession: row.participantSession,
  meetingSession: row.meetingSession,
  participantUsername: row.participantUsername,
  fileName: row.fileName,
  downloadName: downloadName(row),
  sizeInBytes: row.sizeInBytes,
  type: row.type,
  startTime: row.startTime,
  ...(row.startedMs != null && { startTimeMs: row.startedMs }),
  endTime: row.endTime,
  ...(row.mended !== null && { mended: row.mended }),
  // Webhooks may have kept a row that an earlier version wrote.
  ...(row.hasThumbnail && { hasThumbnail: true as const }),
  ...(row.speechMs != null && { speechMs: row.speechMs }),
});

export const idOf = (call: Call): string => call.params.id ?? "";

/** Refuses unknown filters: a misspelt one would delete more than was meant. */
export function checkFilters(call: Call, filter: RecordingFilter, alsoKnown: readonly string[] = []): void {
  const given = [...queryOf(call.request).keys()];
  const unknown = given.find((name) => !alsoKnown.includes(name) && !Object.hasOwn(filters().shape, name));
  const twice = given.find((name, at) => given.indexOf(name) !== at);
  const refuse = (name: string, message: string): Problem => {
    const field = name.slice(0, 100).toWellFormed();
    return new Problem("invalid_request", `${field}: ${message}`, undefined, { details: [{ field, message }] });
  };
  if (unknown !== undefined) throw refuse(unknown, "unknown filter; nothing was deleted");
  if (twice !== undefined) throw refuse(twice, "given twice; nothing was deleted");
  if (Object.values(filter).every((value) => value === undefined))
    throw new Problem(
      "invalid_request",
      `At least one filter is required: ${Object.keys(filters().shape).join(", ")}.`,
    );
}
