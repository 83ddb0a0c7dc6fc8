/**
 * Which pages may read what is answered: with a token those of any origin, with a publishable key those that the key names, with a secret
 * key none. Preflights cannot tell which credential will follow, and are always answered.
 */
import { originAllowed } from "../../protocol/origin.ts";
import type { Call } from "../request/call.ts";

const EXPOSED = [
  "Stream-Next-Offset",
  "Stream-Cursor",
  "Stream-Up-To-Date",
  "Stream-Closed",
  "Stream-TTL",
  "Stream-Expires-At",
  "Stream-SSE-Data-Encoding",
  "Producer-Epoch",
  "Producer-Seq",
  "Producer-Expected-Seq",
  "Producer-Received-Seq",
  "Parley-Trimmed",
  "ETag",
  "Location",
  "Retry-After",
  "X-Request-Id",
].join(", ");

const ALLOWED_HEADERS = [
  "Authorization",
  "Content-Type",
  "If-None-Match",
  "Last-Event-ID",
  "Producer-Epoch",
  "Producer-Id",
  "Producer-Seq",
  "Stream-Closed",
  "Stream-Expires-At",
  "Stream-Fork-Offset",
  "Stream-Fork-Sub-Offset",
  "Stream-Forked-From",
  "Stream-Seq",
  "Stream-TTL",
].join(", ");

const PREFLIGHT_MAX_AGE_SECONDS = 600;

export function allowOrigins({ headers }: Call, origin: string): void {
  headers["Access-Control-Allow-Origin"] = origin;
  headers["Access-Control-Expose-Headers"] = EXPOSED;
}

/** Only the pages that the key names, from now on. */
export function allowKey(call: Call, origins: readonly string[]): void {
  if (origins.includes("*")) return;
  const origin = call.request.headers.get("origin");
  call.headers.Vary = "Origin";
  if (origin !== null && originAllowed(origin, origins)) allowOrigins(call, origin);
  else delete call.headers["Access-Control-Allow-Origin"];
}

export function preflight({ headers }: Call): Response {
  headers["Access-Control-Allow-Origin"] = "*";
  headers["Access-Control-Allow-Methods"] = "GET, HEAD, POST, PUT, DELETE";
  headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS;
  headers["Access-Control-Max-Age"] = String(PREFLIGHT_MAX_AGE_SECONDS);
  return new Response(null, { status: 204 });
}
