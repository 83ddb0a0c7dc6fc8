/** The bytes of recordings, for holders of a signed link. */
import { Problem } from "../../protocol/codes.ts";
import { type Disposition, type Links, NO_APP } from "../../recordings/files/links.ts";
import type { Recordings } from "../../recordings/recordings.ts";
import type { ApplicationGuards } from "../guards/application.ts";
import { queryOf } from "../request/query.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";
import { FILE_ANSWER, fileResponse } from "../shared/recording-files.ts";
import { idOf } from "../shared/recording-schemas.ts";

/** Each time has one spelling, without leading zeros and sign: else one link would have several addresses. */
const EXPIRES_FORM = /^[1-9]\d{0,14}$/;

interface FileParts {
  readonly recordings: Recordings;
  readonly links: Links;
  readonly nowMs: () => number;
}

export function fileEndpoints({ signed }: ApplicationGuards, { recordings, links, nowMs }: FileParts): Endpoint[] {
  const fileEndpoint = (disposition: Disposition): Endpoint =>
    endpoint({
      tag: "recordings",
      guard: signed,
      method: "GET",
      path: `/api/v1/file/:id/${disposition}`,
      summary: `The bytes behind a link to ${disposition}, whole or in part (Range)`,
      ...FILE_ANSWER,
      problems: ["link_not_valid", "link_expired", "recording_not_found", "range_not_satisfiable"],
      handle: async (call, { caller }) => {
        const query = queryOf(call.request);
        const text = query.get("expires") ?? "";
        const link = { app: caller?.id ?? NO_APP, recording: idOf(call), disposition, expires: Number(text) };
        if (!EXPIRES_FORM.test(text) || !links.isFileProof(link, query.get("proof") ?? "") || !caller)
          throw new Problem("link_not_valid");
        if (nowMs() >= link.expires * 1000) throw new Problem("link_expired");
        call.isAuthenticated = true;
        const row = await recordings.get(caller.id, link.recording);
        const file = await recordings.file(row);
        // Deleted between the two reads, or moved to another storage, which has links of its own.
        if (!file) throw new Problem("recording_not_found");
        return fileResponse(call, row, disposition, async ({ first, last }, type) => file.slice(first, last + 1, type));
      },
    });
  return [fileEndpoint("view"), fileEndpoint("download")];
}
