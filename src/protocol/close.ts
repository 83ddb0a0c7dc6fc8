/** Why the service ends a connection: the close code and its short reason. */
export interface Closing {
  readonly code: number;
  readonly reason: string;
}

/**
 * How a connection has ended (history 4). `goodbye`: the client wanted it, or must not come back. `lost`: it ended otherwise, and may
 * come back. `held`: the service itself ended it and asks the client to come back at once.
 */
export type Departure = "goodbye" | "lost" | "held";

// Marked as pure, so that the client's package leaves out what it does not use.
const closing = (code: number, reason: string): Closing => ({ code, reason });

export const GOING_AWAY = /* @__PURE__ */ closing(1001, "going away");
export const RESYNC = /* @__PURE__ */ closing(1001, "resynchronise");
/** The service threw an exception on this connection; the log has the cause. */
export const FAULT = /* @__PURE__ */ closing(1011, "internal error");
export const KEY_REVOKED = /* @__PURE__ */ closing(4001, "key revoked");
export const TOKEN_EXPIRED = /* @__PURE__ */ closing(4002, "token expired");
export const OVER_CONCURRENT = /* @__PURE__ */ closing(4010, "over concurrent limit");
export const OVER_RATE = /* @__PURE__ */ closing(4011, "over message rate");
export const KICKED = /* @__PURE__ */ closing(4020, "disconnected by backend or operator");
