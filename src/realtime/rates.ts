/** How fast a connection may send: token buckets for frames, pings and WebSocket control frames, refilled together. */
import {
  CONTROL_FRAMES_BURST,
  CONTROL_FRAMES_PER_SECOND,
  PING_FRAMES_BURST,
  PING_FRAMES_PER_SECOND,
} from "./limits.ts";
import type { Peer } from "./peer.ts";

export interface Rates {
  /** 0: no limit, neither for frames nor for control frames. */
  readonly framesPerSecond: number;
  readonly framesBurst: number;
}

export function refill(peer: Peer, rates: Rates, nowMs: number): void {
  const seconds = (nowMs - peer.refilledMs) / 1000;
  if (seconds <= 0) return;
  peer.refilledMs = nowMs;
  peer.frames = Math.min(rates.framesBurst, peer.frames + seconds * rates.framesPerSecond);
  peer.pings = Math.min(PING_FRAMES_BURST, peer.pings + seconds * PING_FRAMES_PER_SECOND);
  peer.controls = Math.min(CONTROL_FRAMES_BURST, peer.controls + seconds * CONTROL_FRAMES_PER_SECOND);
}

export function takeFrame(peer: Peer, rates: Rates): boolean {
  if (rates.framesPerSecond === 0) return true;
  if (peer.frames < 1) return false;
  peer.frames -= 1;
  return true;
}

/** For a ping frame, which is paid from its own bucket instead. */
export function giveFrameBack(peer: Peer): void {
  peer.frames += 1;
}

export function takePing(peer: Peer): boolean {
  if (peer.pings < 1) return false;
  peer.pings -= 1;
  return true;
}

/** For a WebSocket ping, or an unsolicited pong. */
export function takeControl(peer: Peer, rates: Rates): boolean {
  if (rates.framesPerSecond === 0) return true;
  if (peer.controls < 1) return false;
  peer.controls -= 1;
  return true;
}
