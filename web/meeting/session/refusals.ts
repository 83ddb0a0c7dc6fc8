/** What a refusal of the service means for a person. */
import { Refused } from "../page/api.ts";
import type { Ending } from "../room/contract.ts";
import type { TextKey } from "../texts/en.ts";
import type { Closed, Stage } from "./session.ts";

const BY_CODE: Readonly<Record<string, Closed>> = {
  token_required: "invitation",
  declined: "declined",
  room_not_open: "not_open",
  room_over: "over",
  room_full: "full",
  room_locked: "locked",
  lobby_full: "lobby_full",
  room_not_found: "missing",
  not_found: "missing",
  rate_limited: "busy",
};

export function closedBy({ status, code, more }: Refused): Closed {
  if (code === "room_over" && more.over === "token") return "stale";
  const known = Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined;
  if (known) return known;
  if (code.includes("token")) return "stale";
  if (status === 404) return "missing";
  if (status === 429) return "busy";
  return status === 0 || status >= 500 ? "failed" : "refused";
}

/** When another try has another answer, if the service says so; Unix seconds. */
export const changesAt = ({ more: { opensAt, retryAfterSec } }: Refused): number | undefined =>
  opensAt ?? (retryAfterSec === undefined ? undefined : Date.now() / 1000 + retryAfterSec);

/** Trying again changes nothing. */
export const isFinal = (error: unknown): error is Refused =>
  error instanceof Refused && error.status >= 400 && error.status < 500 && error.status !== 429;

/** A refusal that ends the visit: the person was inside before. */
export function endingBy({ code, more }: Refused): Ending | undefined {
  if (code === "removed") return "removed";
  return code === "room_over" && more.over === "stay" ? "time" : undefined;
}

/** Why a stay that was away cannot go on; undefined: no one knows. */
export const stayEndedBy = (refusal: Refused): Ending | undefined =>
  endingBy(refusal) ?? (refusal.code === "room_not_found" ? "ended" : undefined);

/** What a person is shown whose message for the chat was not accepted. */
export function unsent(error: unknown): TextKey {
  const { code } = error as { readonly code?: string };
  if (code === "rate_limited") return "sentTooMuch";
  return code === "not_connected" || code === "connection_lost" ? "notSent" : "somethingFailed";
}

/** What an admin is shown about an act that was refused; undefined: nothing, because the list of who waits shows it already. */
export function refusedAct(error: unknown): TextKey | undefined {
  if (!(error instanceof Refused)) return "somethingFailed";
  // Another admin was faster.
  if (error.code === "ticket_not_found") return undefined;
  return error.status === 429 ? "busyText" : "somethingFailed";
}

type ClosedStage = Extract<Stage, { readonly at: "closed" }>;

/** Looked at by itself, and nothing has changed. After too many looks, a page still says when its room opens. */
export const isAsBefore = (before: Stage, { why, timeMs }: ClosedStage): boolean =>
  before.at === "closed" &&
  (before.why === why ? before.timeMs === timeMs : why === "busy" && before.why === "not_open");
