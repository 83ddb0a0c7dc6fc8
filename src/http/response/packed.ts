/**
 * Documents that are the same for every reader: scripts, styles, the client, the description of the API. They are compressed once, not
 * per request. Nothing else is compressed: where an answer has a secret and text that someone else chose, its compressed length
 * gives the secret away piece by piece (BREACH).
 */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Call } from "../request/call.ts";

export interface Packed {
  readonly text: string;
  readonly gzip: Uint8Array<ArrayBuffer>;
}

/** Some 60 ms for all pages, and 3 % smaller than the best that zlib does. Higher levels gain nothing more. */
const GZIP = { library: "libdeflate", level: 10 } as const;

export const pack = (text: string): Packed => ({ text, gzip: Bun.gzipSync(text, GZIP) });

const gzipAside = promisify(gzip);

/** The same in another thread, for documents that are made while the service runs: its own would stand still meanwhile. */
export const packAside = async (text: string): Promise<Packed> => ({
  text,
  gzip: new Uint8Array(await gzipAside(text, { level: 9 })),
});

/** Weak, because it is the same for the compressed and for the plain document. */
export const tagOf = (text: string, version: string): string =>
  `W/"${version}-${createHash("sha256").update(text).digest("hex").slice(0, 16)}"`;

// With the weight 0 a client says that it cannot read it.
export const acceptsGzip = ({ request }: Call): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(request.headers.get("accept-encoding") ?? "");

/**
 * Responds 304 without a body to clients that have it already, if `headers` has an ETag. A document that was not compressed is sent
 * as it is.
 */
export function packedResponse(
  call: Call,
  { text, gzip }: Pick<Packed, "text"> & Partial<Packed>,
  headers: Readonly<Record<string, string>>,
): Response {
  const { request } = call;
  const all = { ...headers, Vary: "Accept-Encoding" };
  if (headers.ETag !== undefined && hasTag(request.headers.get("if-none-match"), headers.ETag))
    return new Response(null, { status: 304, headers: all });
  if (!gzip || !acceptsGzip(call)) return new Response(text, { headers: all });
  return new Response(gzip, { headers: { ...all, "Content-Encoding": "gzip" } });
}

/** Whether an If-None-Match names this tag. Proxies that compress make strong tags weak, so that does not count. */
function hasTag(header: string | null, tag: string): boolean {
  if (header === null || header.length > TAGS_MAX_CHARS) return false;
  const wanted = opaqueTag(tag);
  return header.trim() === "*" || header.split(",").some((one) => opaqueTag(one) === wanted);
}

/** A client names the few versions that it has. A longer list is not read, and the client gets the page again. */
const TAGS_MAX_CHARS = 1024;
const opaqueTag = (tag: string): string => tag.trim().replace(/^W\//, "");
