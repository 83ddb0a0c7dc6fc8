/** How fast a connection may send: token buckets for frames, pings, states and WebSocket control frames, refilled together. */

import type { Connection } from "./connection.ts";
import {
  CONTROL_FRAMES_BURST,
  CONTROL_FRAMES_PER_SECOND,
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

export function refill(connection: Connection, rates: Rates, nowMs: number): void {
  const seconds = (nowMs - connection.refilledMs) / 1000;
  if (seconds <= 0) return;
  connection.refilledMs = nowMs;
  connection.frames = Math.min(rates.framesBurst, connection.frames + seconds * rates.framesPerSecond);
  connection.pings = Math.min(PING_FRAMES_BURST, connection.pings + seconds * PING_FRAMES_PER_SECOND);
  connection.states = Math.min(STATE_FRAMES_BURST, connection.states + seconds * STATE_FRAMES_PER_SECOND);
  connection.controls = Math.min(CONTROL_FRAMES_BURST, connection.controls + seconds * CONTROL_FRAMES_PER_SECOND);
}

export function takeFrame(connection: Connection, rates: Rates): boolean {
  if (rates.framesPerSecond === 0) return true;
  if (connection.frames < 1) return false;
  connection.frames -= 1;
  return true;
}

/** For a ping frame, which is paid from its own bucket instead. */
export function giveFrameBack(connection: Connection): void {
  connection.frames += 1;
}

export function takePing(connection: Connection): boolean {
  if (connection.pings < 1) return false;
  connection.pings -= 1;
  return true;
}

/** For a `state` frame, besides the one it costs as a frame. Too many are refused, but do not end the connection. */
export function takeState(connection: Connection): boolean {
  if (connection.states < 1) return false;
  connection.states -= 1;
  return true;
}

/** For a WebSocket ping, or an unsolicited pong. */
export function takeControl(connection: Connection, rates: Rates): boolean {
  if (rates.framesPerSecond === 0) return true;
  if (connection.controls < 1) return false;
  connection.controls -= 1;
  return true;
}
