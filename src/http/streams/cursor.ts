/** Cursors of live reads. A CDN keeps an empty response under the address that was asked for; the next one has another cursor. */
import { CURSOR_EPOCH_MS, CURSOR_INTERVAL_MS, CURSOR_JITTER_MAX } from "./limits.ts";

/** Always above the one that the client has sent. */
export function cursorFor(given: number | undefined, nowMs: number): number {
  const current = Math.floor((nowMs - CURSOR_EPOCH_MS) / CURSOR_INTERVAL_MS);
  return given === undefined || given < current ? current : given + 1 + Math.floor(Math.random() * CURSOR_JITTER_MAX);
}
