/** Control plane: the recordings of an application, under the rules of the application API, and their bytes. */
import { z } from "zod";
import type { Operator } from "../../access/operators/operator.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import { Problem } from "../../protocol/codes.ts";
import { RECORDINGS_PAGE_DEFAULT, RECORDINGS_PAGE_MAX } from "../../recordings/budgets/limits.ts";
import type { Span } from "../../recordings/files/range.ts";
import { FOLDER_PIECE_BYTES, type Recordings } from "../../recordings/recordings.ts";
import type { MeetingRow } from "../../store/contract/meetings.ts";
import type { RecordingRow } from "../../store/contract/recordings.ts";
import { FILE_PIECE_BYTES } from "../limits.ts";
import type { Call } from "../request/call.ts";
import { queryOf } from "../request/query.ts";
import type { FileDownloads } from "../response/file-downloads.ts";
import type { LogIncomplete } from "../response/streamed-array.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import type { Audit } from "../shared/audit.ts";
import { FILE_ANSWER, fileResponse } from "../shared/recording-files.ts";
import { checkFilters, filters, idOf, recording, recordingFields } from "../shared/recording-schemas.ts";
import { limit, toSeconds, unixSeconds } from "../shared/schemas.ts";
import type { AppIn } from "./app-in.ts";
import { ID_FORM, inControlPlane, NO_CURSOR } from "./application-calls.ts";

/** Recordings that one call deletes by their ids. */
const IDS_MAX = 100;

const listing = lazily(() =>
  filters().extend({
    limit: limit(RECORDINGS_PAGE_MAX, RECORDINGS_PAGE_DEFAULT),
    after: z.string().regex(ID_FORM, NO_CURSOR).optional().describe("next of the previous page"),
    order: z.enum(["asc", "desc"]).default("desc").describe("By completion: desc is newest first"),
  }),
);

const listed = lazily(() =>
  recording()
    .extend({
      roomName: z.string().nullable().describe("The present or last name of the room"),
      completed: unixSeconds().describe("When the upload was completed: retention counts from then"),
    })
    .meta({ id: "ListedRecording" }),
);

const detail = lazily(() =>
  listed()
    .extend({
      roomArchived: z.boolean(),
      meeting: z
        .object({ _id: z.string().describe("The meetingSession"), active: z.boolean(), startTime: unixSeconds() })
        .nullable()
        .describe("null: no meeting has this meetingSession, or it is not kept any more"),
    })
    .meta({ id: "RecordingDetail" }),
);

const listedFields = (row: RecordingRow, names: ReadonlyMap<string, string>): Infer<typeof listed> => ({
  ...recordingFields(row),
  roomName: names.get(row.room) ?? null,
  completed: toSeconds(row.completed),
});

const list = lazily(() =>
  z
    .object({
      data: z.array(listed()),
      next: z.string().nullable().describe("after of the next page; null at the end"),
      total: z.int().describe("How many recordings the filters match"),
      storage: z
        .object({ recordings: z.int(), bytes: z.int(), uploading: z.int().describe("Bytes of open uploads") })
        .describe("The size of all the application's recordings and open uploads, regardless of the filters"),
    })
    .meta({ id: "RecordingList" }),
);

const deletion = lazily(() =>
  filters().extend({
    id: z.string().optional().describe(`Instead of filters: the id of a recording, up to ${IDS_MAX} times`),
  }),
);

interface AdminRecordingParts {
  readonly appIn: AppIn;
  readonly recordings: Recordings;
  /** The meeting of a recording, if there is one. */
  readonly meetingOf: (recording: RecordingRow) => Promise<MeetingRow | undefined>;
  /** Whether its room exists and is not archived. */
  readonly isRoom: (recording: RecordingRow) => Promise<boolean>;
  readonly fileDownloads: { readonly ofBucket: FileDownloads; readonly ofFolder: FileDownloads };
  readonly audit: Audit;
  readonly nowMs: () => number;
  readonly logIncomplete: LogIncomplete;
}

export interface AdminRecordingGuards {
  readonly admin: Guard<Operator>;
  readonly operator: Guard<Operator>;
  readonly stream: Guard<Operator>;
}

export function adminRecordingEndpoints(
  { admin, operator, stream }: AdminRecordingGuards,
  parts: AdminRecordingParts,
): Endpoint[] {
  const { appIn, recordings, meetingOf, isRoom, fileDownloads, audit, nowMs, logIncomplete } = parts;
  const tag = "recordings";
  const all = "/api/internal/v1/apps/:app/recordings";
  const one = `${all}/:id`;
  return [
    endpoint({
      tag,
      guard: operator,
      scope: "app",
      method: "GET",
      path: all,
      summary: "List an application's recordings by completion, with their total size",
      query: listing,
      response: list,
      problems: ["not_found"],
      handle: async (call, { query: { limit: max, after, order, ...filter } }) => {
        const app = await appIn(call);
        // One more than the page has: it says whether there is a next page.
        const request = { filter, limit: max + 1, order, endId: after };
        const { data, total } = await inControlPlane(recordings.list(app.id, request));
        const page = data.slice(0, max);
        const next = data.length > max ? (page.at(-1)?.id ?? null) : null;
        const names = await recordings.roomNames(app.id, page);
        const shown = page.map((row) => listedFields(row, names));
        return { data: shown, next, total, storage: await recordings.stored(app.id) };
      },
    }),
    endpoint({
      tag,
      guard: admin,
      scope: "app",
      method: "DELETE",
      path: all,
      summary: "Delete an application's recordings, by filters or by ids",
      query: deletion,
      response: () => z.object({ deleted: z.int() }),
      problems: ["not_found"],
      handle: async (call, { caller, query: { id: _id, ...filter } }) => {
        const app = await appIn(call);
        const ids = idsIn(call);
        if (!ids) checkFilters(call, filter);
        const deleted = ids ? await recordings.deleteSome(app.id, ids) : await recordings.deleteAll(app.id, filter);
        const which = ids ? { ids } : { filter };
        await audit(call, caller, {
          what: "recordings deleted",
          on: `${deleted} recordings`,
          app: app.id,
          before: which,
        });
        return { deleted };
      },
    }),
    endpoint({
      tag,
      guard: operator,
      scope: "app",
      method: "GET",
      path: one,
      summary: "One recording of an application, with the meeting it is of",
      response: detail,
      problems: ["not_found"],
      handle: async (call) => {
        const app = await appIn(call);
        const row = await inControlPlane(recordings.get(app.id, idOf(call)));
        const meeting = await meetingOf(row);
        return {
          ...listedFields(row, await recordings.roomNames(app.id, [row])),
          roomArchived: !(await isRoom(row)),
          meeting: meeting
            ? { _id: meeting.id, active: meeting.ended === null, startTime: toSeconds(meeting.began) }
            : null,
        };
      },
    }),
    endpoint({
      tag,
      guard: admin,
      scope: "app",
      method: "DELETE",
      path: one,
      summary: "Delete a recording of an application",
      response: () => recording().extend({ deleted: unixSeconds() }).meta({ id: "DeletedRecording" }),
      problems: ["not_found", "conflict"],
      handle: async (call, { caller }) => {
        const app = await appIn(call);
        const row = await inControlPlane(recordings.get(app.id, idOf(call)));
        await inControlPlane(recordings.delete(app.id, row.id));
        const before = { fileName: row.fileName, sizeInBytes: row.sizeInBytes };
        await audit(call, caller, { what: "recording deleted", on: row.id, app: app.id, before });
        return { ...recordingFields(row), deleted: toSeconds(nowMs()) };
      },
    }),
    endpoint({
      tag,
      guard: stream,
      scope: "app",
      method: "GET",
      path: `${one}/file`,
      summary: "The bytes of a recording, whole or in part (Range), from the folder or the bucket; role admin only",
      query: () =>
        z.object({
          download: z.literal("1").optional().describe("1: as a download, not shown in the page"),
          pieces: z
            .literal("1")
            .optional()
            .describe(
              `1: an answer to Range has at most ${FILE_PIECE_BYTES / 1024} KiB. Browsers open six connections, and a player of many files would hold them all`,
            ),
        }),
      ...FILE_ANSWER,
      problems: ["forbidden", "not_found", "range_not_satisfiable"],
      handle: async (call, { caller, query, recheck }) => {
        const check = (operator: Operator): void => {
          if (operator.role !== "admin") throw new Problem("forbidden");
        };
        check(caller);
        const app = await appIn(call);
        const row = await inControlPlane(recordings.get(app.id, idOf(call)));
        const file = await recordings.file(row);
        const streams = file ? fileDownloads.ofFolder : fileDownloads.ofBucket;
        const bodyOf = async (span: Span, contentType: string): Promise<Blob | ReadableStream | null> => {
          const isHead = call.request.method === "HEAD";
          // A part that is as small as a piece is not cut anyway, and so has its length in the response.
          if (file && (isHead || span.last - span.first < FOLDER_PIECE_BYTES))
            return file.slice(span.first, span.last + 1, contentType);
          // The runtime would not read the body, and its place would stay taken.
          if (isHead) return null;
          return inControlPlane(
            streams.begin({
              pieces: recordings.pieces(row, span),
              check: () => check(recheck()),
              until: caller.revoked,
              logIncomplete: (error) => logIncomplete(call, error),
            }),
          );
        };
        const partMaxBytes = query.pieces && FILE_PIECE_BYTES;
        return fileResponse(call, row, query.download ? "download" : "view", bodyOf, partMaxBytes);
      },
    }),
  ];
}

/** The ids to delete; undefined if none are given. Nothing else may be given then: it would be unclear which of them counts. */
function idsIn(call: Call): readonly string[] | undefined {
  const query = queryOf(call.request);
  const ids = [...new Set(query.getAll("id"))];
  if (ids.length === 0) return undefined;
  const refuse = (message: string): Problem =>
    new Problem("invalid_request", `id: ${message}`, undefined, { details: [{ field: "id", message }] });
  if ([...query.keys()].some((name) => name !== "id"))
    throw refuse("is given together with something else, and nothing was deleted");
  if (ids.length > IDS_MAX) throw refuse(`may be given at most ${IDS_MAX} times, and nothing was deleted`);
  if (!ids.every((id) => ID_FORM.test(id))) throw refuse("must be the id of a recording; nothing was deleted");
  return ids;
}
