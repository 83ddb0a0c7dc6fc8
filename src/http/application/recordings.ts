/** Recordings over HTTP: `/api/v1/recording`, `/api/v1/recordings`. Their bytes are written in uploads.ts and read in files.ts. */
import { z } from "zod";
import { lazily } from "../../base/lazily.ts";
import { LINK_MAX_SECONDS } from "../../recordings/budgets/limits.ts";
import type { Disposition } from "../../recordings/files/links.ts";
import type { Recordings } from "../../recordings/recordings.ts";
import type { ApplicationGuards } from "../guards/application.ts";
import { linkFrom } from "../request/host.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";
import { APPLICATION_SECRET, type AppAudit } from "../shared/audit.ts";
import { checkFilters, filters, idOf, listing, recording, recordingFields } from "../shared/recording-schemas.ts";
import { unixSeconds, wholeNumber } from "../shared/schemas.ts";

const page = lazily(() =>
  z
    .object({
      data: z.array(recording()),
      total: z.int().describe("How many recordings the filters match"),
      limit: z.int(),
      currEndId: z.string().describe("endId of the next page; empty on an empty page"),
    })
    .meta({ id: "RecordingPage" }),
);

const link = lazily(() => z.object({ url: z.string(), expiresAt: unixSeconds() }).meta({ id: "RecordingLink" }));
const done = lazily(() => z.object({ success: z.literal(true), message: z.string() }));

interface RecordingParts {
  readonly recordings: Recordings;
  readonly linkSeconds: number;
  readonly audit: AppAudit;
}

export function recordingEndpoints(
  { secretKey: guard }: ApplicationGuards,
  { recordings, linkSeconds, audit }: RecordingParts,
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
      query: () =>
        z.object({
          expiresInSec: wholeNumber(1, LINK_MAX_SECONDS)
            .optional()
            .transform((value) => value ?? linkSeconds),
        }),
      response: link,
      problems: ["recording_not_found"],
      handle: async (call, { caller, query }) => {
        const row = await recordings.get(caller.id, idOf(call));
        const { url, expiresAt } = recordings.link(row, disposition, query.expiresInSec, call.origin);
        return { url: linkFrom(call, url), expiresAt };
      },
    });
  return [
    endpoint({
      ...base,
      method: "GET",
      path: all,
      summary: "List recordings by their completion, newest first, in pages",
      query: listing,
      response: page,
      handle: async (_call, { caller, query: { limit, endId, currEndId, order, ...filter } }) => {
        const list = await recordings.list(caller.id, { filter, limit, order, endId: endId ?? currEndId });
        return { ...list, data: list.data.map(recordingFields) };
      },
    }),
    endpoint({
      ...base,
      method: "DELETE",
      path: all,
      summary: "Delete all recordings that match the filters; at least one filter is required",
      query: filters,
      response: () => done().extend({ deleted: z.int() }),
      handle: async (call, { caller, query }) => {
        checkFilters(call, query, ["secretKey"]);
        const deleted = await recordings.deleteAll(caller.id, query);
        if (deleted > 0)
          audit(call, APPLICATION_SECRET, {
            what: "recordings deleted",
            on: `${deleted} recordings`,
            app: caller.id,
            after: { filters: Object.keys(query) },
          });
        return { success: true, message: "Recordings successfully deleted", deleted };
      },
    }),
    endpoint({
      ...base,
      method: "GET",
      path: one,
      summary: "One recording",
      response: recording,
      problems: ["recording_not_found"],
      handle: async (call, { caller }) => recordingFields(await recordings.get(caller.id, idOf(call))),
    }),
    endpoint({
      ...base,
      method: "DELETE",
      path: one,
      summary: "Delete a recording, or cancel an open upload",
      response: done,
      problems: ["recording_not_found", "upload_busy"],
      handle: async (call, { caller }) => {
        await recordings.delete(caller.id, idOf(call));
        audit(call, APPLICATION_SECRET, { what: "recording deleted", on: idOf(call), app: caller.id });
        return { success: true, message: "Recording successfully deleted" };
      },
    }),
    linkEndpoint("view", "A signed link that shows the file"),
    linkEndpoint("download", "A signed link that downloads the file"),
  ];
}
