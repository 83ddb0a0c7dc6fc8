/** What a refusal of the service means for a visitor. */
import type { Closed } from "../session.ts";
import type { Refused } from "./api.ts";

const BY_CODE: Readonly<Record<string, Closed>> = {
  token_required: "invitation",
  declined: "declined",
  room_not_open: "not_open",
  room_over: "over",
  room_full: "full",
  room_locked: "locked",
  room_not_found: "missing",
  not_found: "missing",
  rate_limited: "busy",
};

export function closedBy({ status, code }: Refused): Closed {
  const known = Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined;
  if (known) return known;
  if (code.includes("token")) return "stale";
  if (status === 404) return "missing";
  return status === 429 ? "busy" : "failed";
}
