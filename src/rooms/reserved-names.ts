/**
 * Names that no room gets, because they are addresses of the service: a room's page is at `/<roomName>` on its application's host. Rooms that had
 * such a name before keep it; only their page cannot be opened.
 */
import { Problem } from "../protocol/codes.ts";

/** The first segments of all routes, as far as they are legal names (src/node/reserved-names.test.ts). */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  "api",
  "assets",
  "dashboard",
  "docs",
  "healthz",
  "metrics",
  "readyz",
  "tls",
  "v1",
]);

export function refuseReserved(name: string): void {
  if (!RESERVED_NAMES.has(name)) return;
  const message = `"${name}" is reserved for an address of the service: choose another name`;
  throw new Problem("invalid_request", `roomName: ${message}`, undefined, {
    details: [{ field: "roomName", message }],
  });
}
