/** What a refusal of the service means for a visitor. */
import type { Closed } from "../session.ts";
import type { TextKey } from "../texts/en.ts";
import { Refused } from "./api.ts";

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

/** What an admin is shown about an act that was refused; undefined: nothing, because the list of who waits shows it already. */
export function refusedAct(error: unknown): TextKey | undefined {
  if (!(error instanceof Refused)) return "somethingFailed";
  // Another admin was faster.
  if (error.code === "ticket_not_found") return undefined;
  return error.status === 429 ? "busyText" : "somethingFailed";
}
