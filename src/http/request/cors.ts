/** Pages of other origins that may call an endpoint without a secret: only those that the application names. */
import { originAllowed } from "../../protocol/origin.ts";
import type { Call } from "./call.ts";

/** The origins that may call, in normal form; wildcard hosts are possible. */
export type Origins = (call: Call) => readonly string[];

const PREFLIGHT_MAX_AGE_SECONDS = 600;

/** Adds the headers that let the calling page read the response, also that of a refusal. false: the page may not. */
export function addCorsHeaders(call: Call, origins: Origins): boolean {
  const { headers, request } = call;
  headers.Vary = "Origin";
  const origin = request.headers.get("origin");
  if (origin === null || !originAllowed(origin, origins(call))) return false;
  headers["Access-Control-Allow-Origin"] = origin;
  headers["Access-Control-Expose-Headers"] = "Retry-After, X-Request-Id";
  return true;
}

/** What a browser asks before it sends such a call. */
export function preflightResponse({ headers }: Call, methods: readonly string[]): Response {
  headers["Access-Control-Allow-Methods"] = methods.join(", ");
  headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type, X-Parley-App";
  headers["Access-Control-Max-Age"] = String(PREFLIGHT_MAX_AGE_SECONDS);
  return new Response(null, { status: 204 });
}
