/**
 * How fast a connection may send: token buckets for frames, pings, states and WebSocket control frames. Of each
 * only the time is kept at which it is full again.
 */
import type { Connection } from "../state/connection.ts";
import {
  CONTROL_FRAMES_BURST,
  CONTROL_FRAMES_PER_SECOND,
  LOBBY_FRAMES_BURST,
  LOBBY_FRAMES_PER_SECOND,
  PING_FRAMES_BURST,
  PING_FRAMES_PER_SECOND,
  STATE_FRAMES_BURST,
  STATE_FRAMES_PER_SECOND,
} from "./limits.ts";

export interface Rates {
  /** 0: no limit, neither for frames nor for control frames. */
  readonly framesPerSecond: number;
  readonly framesBurst: number;
}

/** When a bucket is full again after one more was taken from it now; `undefined` if it is empty. */
function fullAgainMs(fullMs: number, nowMs: number, perSecond: number, burst: number): number | undefined {
  const eachMs = 1000 / perSecond;
  const next = Math.max(fullMs, nowMs) + eachMs;
  // Times are sums of fractions: a bucket must not hold one less because of their rounding.
  return next - nowMs > burst * eachMs + 0.01 ? undefined : next;
}

const isInLobby = ({ seat }: Connection): boolean => seat?.claims.kind === "wait";

const perSecondOf = (connection: Connection, { framesPerSecond }: Rates): number =>
  isInLobby(connection) ? Math.min(LOBBY_FRAMES_PER_SECOND, framesPerSecond) : framesPerSecond;

export function takeFrame(connection: Connection, rates: Rates): boolean {
  if (rates.framesPerSecond === 0) return true;
  const { framesFullMs, lastSeenMs } = connection;
  const burst = isInLobby(connection) ? Math.min(LOBBY_FRAMES_BURST, rates.framesBurst) : rates.framesBurst;
  const next = fullAgainMs(framesFullMs, lastSeenMs, perSecondOf(connection, rates), burst);
  if (next === undefined) return false;
  connection.framesFullMs = next;
  return true;
}

/** For a ping frame, which is paid from its own bucket instead. */
export function giveFrameBack(connection: Connection, rates: Rates): void {
  if (rates.framesPerSecond > 0) connection.framesFullMs -= 1000 / perSecondOf(connection, rates);
}

export function takePing(connection: Connection): boolean {
  const { pingsFullMs, lastSeenMs } = connection;
  const next = fullAgainMs(pingsFullMs, lastSeenMs, PING_FRAMES_PER_SECOND, PING_FRAMES_BURST);
  if (next === undefined) return false;
  connection.pingsFullMs = next;
  return true;
}

/** For a `state` frame, besides the one it costs as a frame. Too many are refused, but do not end the connection. */
export function takeState(connection: Connection): boolean {
  const { withExtras, lastSeenMs } = connection;
  const next = fullAgainMs(withExtras.statesFullMs, lastSeenMs, STATE_FRAMES_PER_SECOND, STATE_FRAMES_BURST);
  if (next === undefined) return false;
  withExtras.statesFullMs = next;
  return true;
}

/** For a WebSocket ping, or an unsolicited pong. */
export function takeControl(connection: Connection, rates: Rates): boolean {
  if (rates.framesPerSecond === 0) return true;
  const { controlsFullMs, lastSeenMs } = connection;
  const next = fullAgainMs(controlsFullMs, lastSeenMs, CONTROL_FRAMES_PER_SECOND, CONTROL_FRAMES_BURST);
  if (next === undefined) return false;
  connection.controlsFullMs = next;
  return true;
}
