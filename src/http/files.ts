/** The bytes of recordings, for holders of a signed link. */
import { z } from "zod";
import { Problem } from "../protocol/codes.ts";
import type { Disposition, Links } from "../recordings/links.ts";
import { spanOf } from "../recordings/range.ts";
import { type Recordings, servedAs } from "../recordings/recordings.ts";
import type { RecordingRow } from "../store/recordings.ts";
import type { ApplicationGuards } from "./application.ts";
import type { Call } from "./call.ts";
import { type Endpoint, endpoint } from "./endpoint.ts";
import { queryOf } from "./query.ts";
import { idOf } from "./recording-schemas.ts";

/** Each time has one spelling, without leading zeros and sign: else one link would have several addresses. */
const EXPIRES_FORM = /^[1-9]\d{0,14}$/;

export interface FileParts {
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
      response: z.unknown().meta({ type: "string", format: "binary" }),
      responseType: "application/octet-stream",
      otherStatuses: [206],
      problems: ["link_not_valid", "link_expired", "recording_not_found", "range_not_satisfiable"],
      handle: async (call, { caller }) => {
        const query = queryOf(call.request);
        const text = query.get("expires") ?? "";
        const link = { app: caller?.id ?? "", recording: idOf(call), disposition, expires: Number(text) };
        if (!EXPIRES_FORM.test(text) || !links.isFileProof(link, query.get("proof") ?? "") || !caller)
          throw new Problem("link_not_valid");
        if (nowMs() >= link.expires * 1000) throw new Problem("link_expired");
        call.isAuthenticated = true;
        return serve(call, recordings, await recordings.get(caller.id, link.recording), disposition);
      },
    });
  return [fileEndpoint("view"), fileEndpoint("download")];
}

async function serve(call: Call, recordings: Recordings, row: RecordingRow, wanted: Disposition): Promise<Response> {
  const file = await recordings.file(row);
  // Deleted between the two reads, or moved to another storage, which has links of its own.
  if (!file) throw new Problem("recording_not_found");
  const size = row.sizeInBytes;
  const etag = `"${row.id}"`;
  const { contentType, disposition } = servedAs(row, wanted);
  const headers = {
    "Content-Type": contentType,
    "Content-Disposition": disposition,
    "Content-Security-Policy": "sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-store",
    "Accept-Ranges": "bytes",
    ETag: etag,
  };
  const span = spanOf(rangeHeader(call.request, etag), size);
  if (span === "none") {
    call.headers["Content-Range"] = `bytes */${size}`;
    throw new Problem("range_not_satisfiable", `The file has ${size} bytes.`);
  }
  call.allowPauses();
  if (span === "all") return new Response(file.slice(0, size, contentType), { headers });
  return new Response(file.slice(span.first, span.last + 1, contentType), {
    status: 206,
    headers: { ...headers, "Content-Range": `bytes ${span.first}-${span.last}/${size}` },
  });
}

/** If-Range asks for a part only if the file is unchanged (RFC 9110 13.1.5). Ours never changes, so only the tag is compared. */
function rangeHeader({ headers }: Request, etag: string): string | null {
  const condition = headers.get("if-range");
  return condition === null || condition === etag ? headers.get("range") : null;
}
