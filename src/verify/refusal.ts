/** Finds out why a service refused a connection: a WebSocket client does not get the reason, so this sends a plain GET to the same address. */
import { CODES } from "../protocol/codes.ts";
import { isObject } from "../protocol/json.ts";

const ANSWER_TIMEOUT_MS = 5000;

export interface Refusal {
  /** Contains the address without its token. */
  readonly sentence: string;
  /** Refused by the connect rate, which allows another connect after this time. */
  readonly retryAfterSeconds?: number;
  /** The service would accept a connect now: the reason has passed, or came after the handshake. */
  readonly hasPassed?: true;
}

export async function whyRefused(address: string): Promise<Refusal> {
  const http = new URL(address.replace(/^ws/, "http"));
  const shown = new URL(address).origin;
  try {
    const response = await fetch(http, { redirect: "manual", signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
    const answer: unknown = await response.json().catch(() => undefined);
    const { error, message } = isObject(answer) ? answer : {};
    if (error === "upgrade_required")
      return { sentence: `${shown} closed a connection before its welcome`, hasPassed: true };
    if (typeof error !== "string" || !(error in CODES))
      return { sentence: `${shown} answered ${response.status}, but not in the way Parley does` };
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
