/** Errors on the way from the server to a worker: those of the contracts keep their class, because callers look at it. */
import { TooManyWaiting } from "../base/fair-queue.ts";
import { HistoryUnavailable } from "../history/contract/history.ts";
import { LeaseLost } from "../store/contract/leases.ts";
import { StoreError, StoreUnreachable } from "../store/contract/store.ts";

const CLASSES = { StoreUnreachable, StoreError, HistoryUnavailable, LeaseLost, TooManyWaiting } as const;
type Kind = keyof typeof CLASSES;

export interface WireError {
  /** Absent: an error that the contracts do not name. */
  readonly kind?: Kind;
  readonly message: string;
  /** That of the driver, such as SQLITE_FULL. */
  readonly code?: string;
}

export function encodeError(error: unknown): WireError {
  if (!(error instanceof Error)) return { message: String(error) };
  const kind = (Object.keys(CLASSES) as Kind[]).find((name) => error instanceof CLASSES[name]);
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  return { message: error.message, ...(kind && { kind }), ...(code !== undefined && { code }) };
}

export function decodeError({ kind, message, code }: WireError): Error {
  const error = kind === undefined ? new Error(message) : new CLASSES[kind](message);
  return code === undefined ? error : Object.assign(error, { code });
}
