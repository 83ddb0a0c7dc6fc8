/** Calls of the control plane. The cookie alone decides nothing there: every call carries the dashboard's own header. */
import { noteServiceTime } from "./now.ts";
import { signedOut } from "./session.ts";

const ROOT = "/api/internal/v1";
export const HEADER = { "X-Parley-Dashboard": "1" };

/** What a call was refused with: `message` is a sentence for the operator. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** A read without an answer after this time has failed: a connection can be lost without any sign of it. */
const READ_MAX_MS = 15_000;

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

async function send<T>(url: string, method: Method, body?: object | string, signal?: AbortSignal): Promise<T> {
  let response: Response;
  const late = method === "GET" ? [AbortSignal.timeout(READ_MAX_MS)] : [];
  const signals = [...late, ...(signal ? [signal] : [])];
  try {
    response = await fetch(url, {
      method,
      headers: body ? { ...HEADER, "Content-Type": "application/json" } : HEADER,
      ...(body && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", unreachable());
  }
  noteServiceTime(response.headers.get("date"));
  const answer = await response.json().catch(() => undefined);
  if (response.ok) {
    if (answer !== undefined) return answer as T;
    signal?.throwIfAborted();
    // The connection was lost before all of the body had come.
    throw new ApiError(0, "unreachable", unreachable());
  }
  const { error = "internal_error", message = `The service answered ${response.status}.` } = answer ?? {};
  if (response.status === 401 && url.startsWith(ROOT)) signedOut("Your session has ended. Sign in again.");
  throw new ApiError(response.status, error, message);
}

const unreachable = (): string =>
  navigator.onLine
    ? "The service is not responding. Is it running, and is the network up?"
    : "This browser is offline. The service may be running.";

/** `path` begins after `/api/internal/v1`. */
export const get = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  send(`${ROOT}${path}`, "GET", undefined, signal);
/** A body that is a text is JSON already. */
export const post = <T>(path: string, body: object | string = {}): Promise<T> => send(`${ROOT}${path}`, "POST", body);
export const put = <T>(path: string, body: object): Promise<T> => send(`${ROOT}${path}`, "PUT", body);
export const patch = <T>(path: string, body: object): Promise<T> => send(`${ROOT}${path}`, "PATCH", body);
export const remove = <T>(path: string): Promise<T> => send(`${ROOT}${path}`, "DELETE");

export const sessions = {
  current: <T>() => send<T>("/dashboard/session", "GET"),
  open: <T>(token: string) => send<T>("/dashboard/session", "POST", { token }),
  close: () => send("/dashboard/session", "DELETE"),
};

/** A name as one segment of a path. */
export const segment = (name: string): string => encodeURIComponent(name);

/** Parameters that are undefined or empty are left out. */
export function query(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** The address of something that a browser loads itself: the tail, a recording's file. */
export const addressOf = (path: string): string => `${ROOT}${path}`;
