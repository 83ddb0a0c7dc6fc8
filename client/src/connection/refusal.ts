/** Why there is no connection: by the close code, or by the answer of the service to a plain GET. */
import { KEY_REVOKED, KICKED, OVER_CONCURRENT, OVER_RATE, TOKEN_EXPIRED } from "../../../src/protocol/close.ts";
import { PUT_OUT_CODE } from "../../../src/protocol/final-close.ts";
import { type ErrorCode, ParleyError } from "../events/errors.ts";

const CODES: Readonly<Record<number, ErrorCode>> = {
  [KEY_REVOKED.code]: "key_revoked",
  [TOKEN_EXPIRED.code]: "token_expired",
  [OVER_CONCURRENT.code]: "over_connection_limit",
  [OVER_RATE.code]: "rate_limited",
  [KICKED.code]: "kicked",
  [PUT_OUT_CODE]: "put_out",
};

/** Its cause is the close: a program may act on the reason, such as that of a stay in a room. */
export const closeError = (code: number, reason: string): ParleyError =>
  new ParleyError(CODES[code] ?? "connection_lost", `The connection was closed: ${reason || "no reason"} (${code}).`, {
    cause: { code, reason },
  });

export interface Refusal {
  readonly error: ParleyError;
  readonly retryAfterMs: number;
  /** The service does not accept this key or token. */
  readonly isCredential: boolean;
  /** Everything but the WebSocket would do. */
  readonly isUpgrade?: boolean;
}

/** A proxy may send any number. */
const RETRY_AFTER_MAX_MS = 3_600_000;

export const boundedRetryAfter = (ms: number): number => Math.min(Math.max(ms, 0) || 0, RETRY_AFTER_MAX_MS);

/** Browsers do not say why a WebSocket was refused: the same address says it over HTTP. */
export async function whyRefused(url: string, signal: AbortSignal): Promise<Refusal> {
  let response: Response;
  try {
    response = await fetch(url.replace(/^ws/, "http"), { signal });
  } catch {
    // Without the cause: some runtimes put the address into it, and with that the token into logs.
    return { error: new ParleyError("unreachable", "The service cannot be reached."), ...AT_ONCE };
  }
  const { status } = response;
  const after = response.headers.get("Retry-After") ?? "";
  const retryAfterMs = boundedRetryAfter(after.includes(" ") ? Date.parse(after) - Date.now() : Number(after) * 1000);
  const answer: unknown = await response.json().catch(() => null);
  const { error, message } = (answer ?? {}) as { error?: ErrorCode; message?: string };
  if (status === UPGRADE_REQUIRED)
    return {
      error: unreachable("would accept this connection now, but the WebSocket failed"),
      isUpgrade: true,
      ...AT_ONCE,
    };
  if (!error || !message) return { error: unreachable(`gave the answer ${status}`), isCredential: false, retryAfterMs };
  const isCredential = status === UNAUTHORIZED;
  // The service does not know which option of the client it was, and a reader of the message may not know either.
  const option = /[?&]key=/.test(url) ? "key" : "token";
  const text = isCredential ? `The service refused \`${option}\`: ${message}` : message;
  return { error: new ParleyError(error, text), isCredential, retryAfterMs };
}

const UNAUTHORIZED = 401;
const UPGRADE_REQUIRED = 426;
const AT_ONCE = { isCredential: false, retryAfterMs: 0 };

const unreachable = (what: string): ParleyError =>
  new ParleyError("unreachable", `The address ${what}: is it the service's, and does every proxy pass WebSockets on?`);
