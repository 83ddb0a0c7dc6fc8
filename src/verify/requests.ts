/** The requests of a client that wait for their answer, and what answers and closes mean for them. */
import type { Retry } from "./retries.ts";
import type { Outcome } from "./sequence.ts";

/** A request without an answer yet. */
export type PendingRequest =
  | { readonly kind: "subscribe" }
  | { readonly kind: "unsubscribe" }
  | { readonly kind: "history" }
  | ({ readonly kind: "publish"; readonly isRetry: boolean } & Retry)
  | { readonly kind: "send"; readonly peer: string; readonly number: number };

/** The key was revoked, or the backend disconnected this peer. */
export const FINAL_CODES: readonly number[] = [4001, 4020];
/** Codes of errors that say that the service could not do it at the moment. */
export const PASSING_CODES: readonly string[] = ["backend_error", "internal_error"];
/** The code of an error that ends a subscription, also if only the action `subscribe` was taken away. */
export const SUBSCRIPTION_ENDING_CODE = "channel_not_authorized";

/** Repetitions are counted separately. */
export const isMessage = (request: PendingRequest): boolean =>
  request.kind === "send" || (request.kind === "publish" && !request.isRetry);

/** `backend_error` of a publish means that nothing was delivered; on a channel with history, that it is not known to be stored. */
export function outcomeOf(code: string, hasHistory: boolean): Outcome {
  if (code === "internal_error" || (hasHistory && code === "backend_error")) return "unknown";
  return "refused";
}
