/** The bytes of a recording as a response, whole or in part, with headers that keep browsers from running what is in the file. */
import { z } from "zod";
import { Problem } from "../../protocol/codes.ts";
import type { Disposition } from "../../recordings/files/links.ts";
import { type Span, spanOf } from "../../recordings/files/range.ts";
import { servedAs } from "../../recordings/recordings.ts";
import type { RecordingRow } from "../../store/contract/recordings.ts";
import type { Call } from "../request/call.ts";

/** How an endpoint that returns a file declares its response. */
export const FILE_ANSWER = {
  response: () => z.unknown().meta({ type: "string", format: "binary" }),
  responseType: "application/octet-stream",
  otherStatuses: [206],
} as const;

type Body = Blob | ReadableStream | null;

/** `bodyOf` returns the bytes of a part of the file; one that was asked for with Range is cut to `partMaxBytes`. */
export async function fileResponse(
  call: Call,
  row: RecordingRow,
  wanted: Disposition,
  bodyOf: (span: Span, contentType: string) => Promise<Body>,
  partMaxBytes = Number.POSITIVE_INFINITY,
): Promise<Response> {
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
  const part =
    span === "all"
      ? { first: 0, last: size - 1 }
      : { first: span.first, last: Math.min(span.last, span.first + partMaxBytes - 1) };
  const body = await bodyOf(part, contentType);
  call.allowPauses();
  if (span === "all") return new Response(body, { headers });
  return new Response(body, {
    status: 206,
    headers: { ...headers, "Content-Range": `bytes ${part.first}-${part.last}/${size}` },
  });
}

/** If-Range asks for a part only if the file is unchanged (RFC 9110 13.1.5). Ours never changes, so only the tag is compared. */
function rangeHeader({ headers }: Request, etag: string): string | null {
  const condition = headers.get("if-range");
  return condition === null || condition === etag ? headers.get("range") : null;
}
