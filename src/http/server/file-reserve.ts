/**
 * Keeps some open files for everything that is no connection: the store, recordings, backups, NATS. At the limit of open files the
 * system accepts no connection, and clients would wait for an answer that never comes; with the reserve, connects are refused before.
 */
import { FILES_RESERVE_MAX, FILES_RESERVE_SHARE } from "../limits.ts";

const CHECK_EVERY_MS = 250;
/** There is room again when this part of the reserve is free besides it: otherwise each client that leaves would change the state. */
const ROOM_AGAIN_SHARE = 1 / 4;

interface FileReserveParts {
  /** Number of files that this process has open; each connection is one. */
  readonly openFiles: () => number;
  /** Infinite where the system does not say. */
  readonly limit: number;
  readonly changed: (isFull: boolean) => void;
  /** Wraps a timer's callback so that what it throws is caught and counted. */
  readonly guarded: (callback: () => void) => () => void;
}

export const reserveOf = (limit: number): number => Math.min(FILES_RESERVE_MAX, Math.ceil(limit * FILES_RESERVE_SHARE));

export class FileReserve {
  /** Connects are refused. */
  isFull = false;
  /** How many connects may come before files are counted again: counting costs a call into the system. */
  private left = 0;
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly parts: FileReserveParts) {}

  /** Only requests to /v1 ask for room; other connections are noticed by the timer. */
  start(): void {
    const { guarded, limit } = this.parts;
    if (!Number.isFinite(limit)) return;
    this.timer = setInterval(
      guarded(() => this.check()),
      CHECK_EVERY_MS,
    );
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Whether one more connection may stay. While it is full only the timer counts, because a storm of connects may follow. */
  hasRoom(): boolean {
    if (this.left === 0 && !this.isFull) this.check();
    if (this.left === 0) return false;
    this.left--;
    return true;
  }

  check(): void {
    const { openFiles, limit, changed } = this.parts;
    const reserve = reserveOf(limit);
    const room = limit - openFiles() - reserve;
    const isFull = this.isFull ? room < reserve * ROOM_AGAIN_SHARE : room <= 0;
    this.left = isFull ? 0 : room;
    if (isFull === this.isFull) return;
    this.isFull = isFull;
    changed(isFull);
  }
}
