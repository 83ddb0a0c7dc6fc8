/** Rates of channels and connections, where they are counted. */
import type { Channel } from "../channel.ts";
import type { Connection } from "../connection.ts";

interface Counted {
  readonly ratePerSec?: (nowMs: number) => number;
  readonly bytesPerSec?: (nowMs: number) => number;
  readonly framesPerSec?: (nowMs: number) => number;
}

export const ratePerSec = (channel: Channel, nowMs: number): number => (channel as Counted).ratePerSec?.(nowMs) ?? 0;

export const bytesPerSec = (channel: Channel, nowMs: number): number => (channel as Counted).bytesPerSec?.(nowMs) ?? 0;

export const framesPerSec = (connection: Connection, nowMs: number): number =>
  (connection as Counted).framesPerSec?.(nowMs) ?? 0;
