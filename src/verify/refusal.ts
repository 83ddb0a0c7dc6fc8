/** Why a service did not take a connection: a WebSocket does not tell, a plain GET on the same address does. */
import { CODES } from "../protocol/codes.ts";
import { isObject } from "../protocol/json.ts";

const ANSWER_WITHIN_MS = 5000;

/** A sentence; the address is shown without its token. */
export async function whyRefused(address: string): Promise<string> {
  const http = new URL(address.replace(/^ws/, "http"));
  const shown = new URL(address).origin;
  try {
    const response = await fetch(http, { redirect: "manual", signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const answer: unknown = await response.json().catch(() => undefined);
    const { error, message } = isObject(answer) ? answer : {};
    if (error === "upgrade_required") return `${shown} ended a connection before it was of use`;
    if (typeof error !== "string" || !(error in CODES))
      return `${shown} answered ${response.status}, and not as Parley does`;
    const hint = error === "rate_limited" ? ": use fewer clients, or raise PARLEY_CONNECTS_PER_MINUTE_PER_IP" : "";
    return `${shown} refused a connection: ${error}: ${message}${hint}`;
  } catch (error) {
    return `${shown} cannot be reached: ${error instanceof Error ? error.message : String(error)}`;
  }
}
