/**
 * How long a request head may be. Tokens travel in it, so the longest legal one must fit. Bun keeps what has come of a head for
 * up to 12 seconds, without a credential and without showing it to us, so that much memory is a stranger's to hold. While very
 * many connections are open that are no WebSockets, heads must therefore be short: ordinary tokens still connect then.
 */
import { closeSync, openSync, statSync } from "node:fs";
import http from "node:http";
import { REQUEST_HEAD_MAX_BYTES } from "../protocol/limits.ts";
import { LONG_HEAD_CONNECTIONS_MAX, REQUEST_HEAD_SHORT_BYTES } from "./limits.ts";

const LOOK_EVERY_MS = 250;

export interface HeadLimitParts {
  /** Files that this process has open; each connection is one. */
  readonly openFiles: () => number;
  readonly webSockets: () => number;
  readonly set: (bytes: number) => void;
  /** The callback inside the boundary of timers. */
  readonly guarded: (callback: () => void) => () => void;
}

export class HeadLimit {
  /** In force now. */
  bytes = REQUEST_HEAD_MAX_BYTES;
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly parts: HeadLimitParts) {}

  start(): void {
    const { guarded } = this.parts;
    this.timer = setInterval(
      guarded(() => this.look()),
      LOOK_EVERY_MS,
    );
  }

  stop(): void {
    clearInterval(this.timer);
  }

  look(): void {
    const others = this.parts.openFiles() - this.parts.webSockets();
    const bytes = others > LONG_HEAD_CONNECTIONS_MAX ? REQUEST_HEAD_SHORT_BYTES : REQUEST_HEAD_MAX_BYTES;
    if (bytes === this.bytes) return;
    this.bytes = bytes;
    this.parts.set(bytes);
  }
}

/** Bun takes the limit of all its servers from here, at any time; its default of 16 KiB is less than a legal token. */
export function setHeadLimit(bytes: number): void {
  Object.assign(http, { maxHeaderSize: bytes });
}

/** Exact on Linux 6.2 and later. Elsewhere the lowest number that is free, which is too low while there are gaps below it. */
export function countOpenFiles(): number {
  const count = statSync("/proc/self/fd", { throwIfNoEntry: false })?.size ?? 0;
  if (count > 0) return count;
  try {
    const free = openSync("/dev/null", "r");
    closeSync(free);
    return free;
  } catch {
    // None is free.
    return Number.POSITIVE_INFINITY;
  }
}
