/** Why the service ends a connection: the close code and its short reason. */
export interface Closing {
  readonly code: number;
  readonly reason: string;
}

const closing = (code: number, reason: string): Closing => ({ code, reason });

export const GOING_AWAY = closing(1001, "going away");
export const RESYNC = closing(1001, "resynchronise");
/** The service threw an exception on this connection; the log has the cause. */
export const FAULT = closing(1011, "internal error");
export const KEY_REVOKED = closing(4001, "key revoked");
export const TOKEN_EXPIRED = closing(4002, "token expired");
export const OVER_CONCURRENT = closing(4010, "over concurrent limit");
export const OVER_RATE = closing(4011, "over message rate");
export const KICKED = closing(4020, "disconnected by the backend");
