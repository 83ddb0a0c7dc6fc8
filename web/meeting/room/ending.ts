/** Why a stay is over, by the end of its connection. */

import type { ParleyError } from "../../../client/src/events/errors.ts";
import { STAY_OVER } from "../../../src/protocol/put-out.ts";
import type { Ending } from "./contract.ts";

const REASONS: readonly Ending[] = ["time", "ended", "removed", "replaced"];

/** Answers to a connect that do not change by trying again. */
const REFUSALS: Readonly<Record<string, Ending>> = {
  removed: "removed",
  room_over: "ended",
  not_found: "ended",
  room_not_open: "lost",
  room_full: "lost",
  room_locked: "lost",
  token_required: "lost",
  stay_over: "lost",
};

export const isFinalRefusal = ({ code }: ParleyError): boolean => code in REFUSALS;

/** The service took the stay for lost while this page was connected. A page that was away, perhaps for hours with the computer asleep, gets another close. */
export function isStayLost(error: ParleyError | undefined): boolean {
  const { code, reason } = (error?.cause ?? {}) as { readonly code?: number; readonly reason?: string };
  return code === STAY_OVER.lost.code && reason === STAY_OVER.lost.reason;
}

/** `lost`: the stay could not be continued; the page may join anew, and then gets the reason if it may not. */
export function endingOf(error: ParleyError | undefined): Ending {
  if (!error) return "lost";
  const { reason } = (error.cause ?? {}) as { readonly reason?: Ending };
  if (error.code === "put_out") return REASONS.find((one) => one === reason) ?? "ended";
  return REFUSALS[error.code] ?? "lost";
}
