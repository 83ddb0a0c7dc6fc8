/** What follows from an attempt: whether it has succeeded, when the next one is due, and whether the endpoint wants fewer requests. */
import type { PinnedAnswer } from "../../net/pinned.ts";
import type { WebhookOutcome } from "../../store/contract/webhooks.ts";
import { ORDERED_ATTEMPTS, RETRY_DELAYS_MS, RETRY_JITTER, SLOW_DOWN_MAX_MS, SLOW_DOWN_MS } from "../limits.ts";

/** The endpoint is no more, and says so. */
const GONE = 410;
/** It, or what is before it, has too much to do. */
const TOO_MUCH: readonly number[] = [429, 502, 504];

export interface Judgement
  extends Pick<WebhookOutcome, "isSuccess" | "status" | "error" | "response" | "next" | "isBlocking" | "slowUntil"> {
  readonly isGone: boolean;
}

export interface AttemptMade {
  /** The how manieth of its message: 1 is the first. */
  readonly attempt: number;
  readonly answer: PinnedAnswer;
  readonly nowMs: number;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** How often in a row the endpoint has asked for fewer requests. */
  readonly slowTimes: number;
}

export function judge(made: AttemptMade): Judgement {
  const { answer, attempt } = made;
  const { status, response, error } = shownAnswer(answer);
  const isSuccess = status !== null && status >= 200 && status < 300;
  if (isSuccess)
    return { isSuccess, status, error, response, next: null, isBlocking: false, slowUntil: null, isGone: false };
  const slowUntil = slowUntilOf(made);
  const next = nextOf(made, slowUntil);
  const isBlocking = next !== null && attempt < ORDERED_ATTEMPTS;
  return { isSuccess, status, error, response, next, isBlocking, slowUntil, isGone: status === GONE };
}

export interface ShownAnswer {
  readonly status: number | null;
  readonly response: string | null;
  readonly error: string | null;
}

export function shownAnswer(answer: PinnedAnswer): ShownAnswer {
  if ("error" in answer) return { status: null, response: null, error: answer.error };
  const { status, response } = answer;
  const isRedirect = status >= 300 && status < 400;
  return { status, response, error: isRedirect ? "redirects are not followed: use the final URL" : null };
}

function nextOf({ attempt, nowMs, random }: AttemptMade, slowUntil: number | null): number | null {
  const delayMs = RETRY_DELAYS_MS[attempt - 1];
  if (delayMs === undefined) return null;
  return Math.max(Math.round(nowMs + delayMs * (1 + RETRY_JITTER * random())), slowUntil ?? 0);
}

function slowUntilOf({ answer, nowMs, slowTimes }: AttemptMade): number | null {
  if ("error" in answer) return null;
  if (answer.retryAfterMs !== undefined) return nowMs + answer.retryAfterMs;
  if (!TOO_MUCH.includes(answer.status)) return null;
  return nowMs + Math.min(SLOW_DOWN_MS * 2 ** Math.min(slowTimes, 20), SLOW_DOWN_MAX_MS);
}
