/** Recordings over HTTP: `/api/v1/recording`, `/api/v1/recordings`. Their bytes come and go in uploads.ts and files.ts. */
import { z } from "zod";
import { Problem } from "../protocol/codes.ts";
import { hasControl, isWellFormed } from "../protocol/names.ts";
import {
  LINK_MAX_SECONDS,
  RECORDING_SESSION_MAX_CHARS,
  RECORDING_USERNAME_MAX_CHARS,
  RECORDINGS_PAGE_DEFAULT,
  RECORDINGS_PAGE_MAX,
} from "../recordings/limits.ts";
import type { Disposition } from "../recordings/links.ts";
import type { Recordings } from "../recordings/recordings.ts";
import type { RecordingFilter, RecordingRow } from "../store/recordings.ts";
import type { ApplicationGuards } from "./application.ts";
import { type Call, queryOf } from "./call.ts";
import { type Endpoint, endpoint } from "./endpoint.ts";
import { limit, unixSeconds, wholeNumber } from "./schemas.ts";

/** The last second of the year 9999. */
const TIME_MAX_SECONDS = 253_402_300_799;

const text = (maxChars: number) =>
  z
    .string()
    .min(1, "must not be empty")
    .max(maxChars, `must have at most ${maxChars} characters`)
    .refine((value) => !hasControl(value) && isWellFormed(value), "must be text without control characters");

const types = ["video", "audio", "screen", "composition"] as const;
const room = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,128}$/, "must be the id or the name of a room")
  .describe("Id or name of a room: 24 hex digits are tried as an id first");
const session = text(RECORDING_SESSION_MAX_CHARS);
const username = text(RECORDING_USERNAME_MAX_CHARS);
export const seconds = z
  .number()
  .min(0)
  .max(TIME_MAX_SECONDS, `must be Unix seconds from 0 to ${TIME_MAX_SECONDS}`)
  .transform(Math.floor)
  .describe("Unix seconds; fractions are cut off");

export const newUpload = z.object({
  room,
  participantUsername: username,
  type: z.enum(types),
  startTime: seconds.optional().describe("Unix seconds; now if absent"),
  meetingSession: session.optional().describe("A fresh id if absent"),
  participantSession: session.optional().describe("A fresh id if absent"),
});

const filters = z.object({
  room: room.optional(),
  meetingSession: session.optional(),
  participantSession: session.optional(),
  participantUsername: username.optional(),
  type: z.enum(types).optional(),
  startedAfter: wholeNumber(0, TIME_MAX_SECONDS).optional().describe("Unix seconds: started then or later"),
  startedBefore: wholeNumber(0, TIME_MAX_SECONDS).optional().describe("Unix seconds: started before then"),
});

const listing = filters.extend({
  limit: limit(RECORDINGS_PAGE_MAX, RECORDINGS_PAGE_DEFAULT),
  endId: z.string().optional().describe("currEndId of the page before"),
  currEndId: z.string().optional().describe("The same as endId"),
  order: z.enum(["asc", "desc"]).default("desc").describe("By completion: desc is newest first"),
});

export const recording = z
  .object({
    _id: z.string(),
    app: z.string(),
    room: z.string(),
    participantSession: z.string(),
    meetingSession: z.string(),
    participantUsername: z.string(),
    fileName: z.string(),
    sizeInBytes: z.int(),
    type: z.enum(types),
    startTime: unixSeconds,
    endTime: unixSeconds,
  })
  .meta({ id: "Recording" });

const page = z
  .object({
    data: z.array(recording),
    total: z.int().describe("Of all that the filters match"),
    limit: z.int(),
    currEndId: z.string().describe("endId of the next page; empty on an empty page"),
  })
  .meta({ id: "RecordingPage" });

const link = z.object({ url: z.string(), expiresAt: unixSeconds }).meta({ id: "RecordingLink" });
const done = z.object({ success: z.literal(true), message: z.string() });

/** service.md 2.5, and nothing else of the row. */
export const shown = (row: RecordingRow): z.infer<typeof recording> => ({
  _id: row.id,
  app: row.app,
  room: row.room,
  participantSession: row.participantSession,
  meetingSession: row.meetingSession,
  participantUsername: row.participantUsername,
  fileName: row.fileName,
  sizeInBytes: row.sizeInBytes,
  type: row.type,
  startTime: row.startTime,
  endTime: row.endTime,
});

export const idOf = (call: Call): string => call.params.id ?? "";

export function recordingEndpoints(
  { secretKey: guard, link: linkTo }: ApplicationGuards,
  recordings: Recordings,
  linkSeconds: number,
): Endpoint[] {
  const base = { tag: "recordings", guard } as const;
  const all = "/api/v1/recordings";
  const one = "/api/v1/recording/:id";
  const linkEndpoint = (disposition: Disposition, summary: string): Endpoint =>
    endpoint({
      ...base,
      method: "GET",
      path: `${one}/${disposition}`,
      summary,
      query: z.object({
        expiresInSec: wholeNumber(1, LINK_MAX_SECONDS)
          .optional()
          .transform((value) => value ?? linkSeconds),
      }),
      answer: link,
      problems: ["recording_not_found"],
      handle: async (call, { who, query }) => {
        const row = await recordings.get(who.id, idOf(call));
        const { url, expiresAt } = recordings.link(row, disposition, query.expiresInSec, call.origin);
        return { url: linkTo(call, url), expiresAt };
      },
    });
  return [
    endpoint({
      ...base,
      method: "GET",
      path: all,
      summary: "List recordings by their completion, newest first, in pages",
      query: listing,
      answer: page,
      handle: async (_call, { who, query: { limit, endId, currEndId, order, ...filter } }) => {
        const list = await recordings.list(who.id, { filter, limit, order, endId: endId ?? currEndId });
        return { ...list, data: list.data.map(shown) };
      },
    }),
    endpoint({
      ...base,
      method: "DELETE",
      path: all,
      summary: "Delete all recordings that the filters match; at least one is required",
      query: filters,
      answer: done.extend({ deleted: z.int() }),
      handle: async (call, { who, query }) => {
        checkFilters(call, query);
        const deleted = await recordings.deleteAll(who.id, query);
        return { success: true, message: "Recordings successfully deleted", deleted };
      },
    }),
    endpoint({
      ...base,
      method: "GET",
      path: one,
      summary: "One recording",
      answer: recording,
      problems: ["recording_not_found"],
      handle: async (call, { who }) => shown(await recordings.get(who.id, idOf(call))),
    }),
    endpoint({
      ...base,
      method: "DELETE",
      path: one,
      summary: "Delete a recording, or end an upload that is open",
      answer: done,
      problems: ["recording_not_found", "upload_busy"],
      handle: async (call, { who }) => {
        await recordings.delete(who.id, idOf(call));
        return { success: true, message: "Recording successfully deleted" };
      },
    }),
    linkEndpoint("view", "A signed link that shows the file"),
    linkEndpoint("download", "A signed link that downloads the file"),
  ];
}

/** A filter that is misspelt must not delete more than was meant. */
function checkFilters(call: Call, filter: RecordingFilter): void {
  const given = [...queryOf(call.request).keys()];
  const unknown = given.find((name) => name !== "secretKey" && !Object.hasOwn(filters.shape, name));
  const twice = given.find((name, at) => given.indexOf(name) !== at);
  const refuse = (name: string, message: string): Problem => {
    const field = name.slice(0, 100).toWellFormed();
    return new Problem("invalid_request", `${field}: ${message}`, undefined, { details: [{ field, message }] });
  };
  if (unknown !== undefined) throw refuse(unknown, "there is no such filter, and nothing was deleted");
  if (twice !== undefined) throw refuse(twice, "it is given twice, and nothing was deleted");
  if (Object.values(filter).every((value) => value === undefined))
    throw new Problem("invalid_request", `At least one filter is required: ${Object.keys(filters.shape).join(", ")}.`);
}
