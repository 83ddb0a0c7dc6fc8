/** Everything that the client rejects with, ends with, or reports. */
import type { Code } from "../../../src/protocol/codes.ts";

/** Codes that the service sends over HTTP or on the socket. */
export type ServiceCode = Exclude<Code, "crash" | "body_too_large">;

/**
 * Codes of the client itself.
 * - `not_connected`: there is no connection at the moment, and no queue.
 * - `connection_lost`: the connection ended before the answer came; it is not known whether the service has accepted the message.
 * - `timeout`: the service did not answer in time.
 * - `queue_full`: too much waits already.
 * - `message_expired`: the message waited longer than its `ttl`.
 * - `slow_reader`: a loop over a channel read more slowly than messages came.
 * - `message_too_large`: the service would end the connection for it.
 * - `token_failed`: the function that gets tokens has failed.
 * - `no_token`: it has returned `null`.
 * - `closed`: `close()` was called; or the channel was left before its subscription was accepted.
 * - `key_revoked`, `kicked`, `put_out`: the service has ended the connection for good.
 * - `over_connection_limit`: the application has as many connections as its plan allows.
 * - `unreachable`: there was no answer from the service.
 */
export type ClientCode =
  | "not_connected"
  | "connection_lost"
  | "timeout"
  | "queue_full"
  | "message_expired"
  | "slow_reader"
  | "message_too_large"
  | "token_failed"
  | "no_token"
  | "closed"
  | "key_revoked"
  | "kicked"
  | "put_out"
  | "over_connection_limit"
  | "unreachable";

export type ErrorCode = ServiceCode | ClientCode;

export class ParleyError extends Error {
  override readonly name = "ParleyError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
  }
}
