/** Why a service did not take a connection: a WebSocket does not tell, a plain GET on the same address does. */
import { CODES } from "../protocol/codes.ts";
import { isObject } from "../protocol/json.ts";

const ANSWER_WITHIN_MS = 5000;

export interface Refusal {
  /** The address is shown without its token. */
  readonly sentence: string;
  /** It was for the rate of connects: after so long there is room for another one. */
  readonly retryAfterSeconds?: number;
  /** Asked now, it would have been taken: the reason is over, or lies beyond the handshake. */
  readonly isOver?: true;
}

export async function whyRefused(address: string): Promise<Refusal> {
  const http = new URL(address.replace(/^ws/, "http"));
  const shown = new URL(address).origin;
  try {
    const response = await fetch(http, { redirect: "manual", signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const answer: unknown = await response.json().catch(() => undefined);
    const { error, message } = isObject(answer) ? answer : {};
    if (error === "upgrade_required")
      return { sentence: `${shown} ended a connection before it was of use`, isOver: true };
    if (typeof error !== "string" || !(error in CODES))
      return { sentence: `${shown} answered ${response.status}, and not as Parley does` };
    const sentence = `${shown} refused a connection: ${error}: ${message}`;
    if (error !== "rate_limited") return { sentence };
    return {
      sentence: `${sentence}: use fewer clients, or raise PARLEY_CONNECTS_PER_MINUTE_PER_IP`,
      retryAfterSeconds: Number(response.headers.get("retry-after") ?? Number.POSITIVE_INFINITY),
    };
  } catch (error) {
    return { sentence: `${shown} cannot be reached: ${error instanceof Error ? error.message : String(error)}` };
  }
}
