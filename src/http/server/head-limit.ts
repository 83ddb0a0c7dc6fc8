/**
 * The limit of a request head. Tokens are sent in it, so the longest legal token must fit. Bun buffers an incomplete head for
 * up to 12 seconds, before any credential is checked, so unauthenticated clients can hold that much memory per connection.
 * While very many connections that are not WebSockets are open, the limit is therefore lower; ordinary tokens still fit.
 */
import { closeSync, openSync, statSync } from "node:fs";
import http from "node:http";
import { REQUEST_HEAD_MAX_BYTES } from "../../protocol/limits.ts";
import { LONG_HEAD_CONNECTIONS_MAX, REQUEST_HEAD_SHORT_BYTES } from "../limits.ts";

const CHECK_EVERY_MS = 250;

interface HeadLimitParts {
  /** Number of files that this process has open; each connection is one. */
  readonly openFiles: () => number;
  readonly webSockets: () => number;
  readonly set: (bytes: number) => void;
  /** Wraps a timer's callback so that what it throws is caught and counted. */
  readonly guarded: (callback: () => void) => () => void;
}

export class HeadLimit {
  /** The limit in force. */
  bytes = REQUEST_HEAD_MAX_BYTES;
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly parts: HeadLimitParts) {}

  start(): void {
    const { guarded } = this.parts;
    this.timer = setInterval(
      guarded(() => this.check()),
      CHECK_EVERY_MS,
    );
  }

  stop(): void {
    clearInterval(this.timer);
  }

  check(): void {
    const others = this.parts.openFiles() - this.parts.webSockets();
    const bytes = others > LONG_HEAD_CONNECTIONS_MAX ? REQUEST_HEAD_SHORT_BYTES : REQUEST_HEAD_MAX_BYTES;
    if (bytes === this.bytes) return;
    this.bytes = bytes;
    this.parts.set(bytes);
  }
}

/** Bun reads the limit of all its servers from here, at any time. Its default of 16 KiB is less than a legal token needs. */
export function setHeadLimit(bytes: number): void {
  Object.assign(http, { maxHeaderSize: bytes });
}

/** Exact on Linux 6.2 and later. Elsewhere the lowest free descriptor, which is too low if lower ones were closed. */
export function countOpenFiles(): number {
  const count = statSync("/proc/self/fd", { throwIfNoEntry: false })?.size ?? 0;
  if (count > 0) return count;
  try {
    const free = openSync("/dev/null", "r");
    closeSync(free);
    return free;
  } catch {
    // No descriptor is free.
    return Number.POSITIVE_INFINITY;
  }
}
