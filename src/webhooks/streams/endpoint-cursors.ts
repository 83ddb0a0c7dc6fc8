/** How far the messages of channels were given to one endpoint, and which channels have more. */
import type { WebhookCursorRow } from "../../store/contract/webhooks.ts";
import type { WebhookEntry } from "../endpoints/book.ts";
import { CURSORS_MAX, HEADS_SKEW_MS } from "./limits.ts";

/** No channel has this name: its cursor says up to when the ends of all streams are known. */
const ALL_CHANNELS = "";
/** It is never the one that was used longest ago. */
const ALWAYS_USED = Number.MAX_SAFE_INTEGER;

export interface Position {
  readonly epoch: string;
  readonly offset: number;
}

export class EndpointCursors {
  /** Bound: CURSORS_MAX; beyond it, the one that was used longest ago goes. */
  private readonly positions = new Map<string, Position>();
  /** Channels with messages to read, and from which time on those without a cursor are given. Bound: channels that have changed and match. */
  readonly behind = new Map<string, number>();
  /** Unix ms: up to then the ends of all streams were read, and everything behind them was given. */
  private knownMs: number;
  private notedMs: number;
  /** When they were read last, by both clocks. */
  private readMs: { readonly wallMs: number; readonly monotonicMs: number };

  constructor(
    public entry: WebhookEntry,
    rows: readonly WebhookCursorRow[],
    now: { readonly wallMs: number; readonly monotonicMs: number },
    skewMs: number,
  ) {
    for (const { channel, epoch, position } of rows.toSorted((a, b) => a.used - b.used))
      if (channel !== ALL_CHANNELS) this.positions.set(channel, { epoch, offset: position });
    this.notedMs = rows.find(({ channel }) => channel === ALL_CHANNELS)?.position ?? 0;
    this.knownMs = Math.max(this.notedMs, entry.row.created);
    const agoMs = Math.max(0, now.wallMs - this.knownMs) + skewMs;
    this.readMs = { wallMs: this.knownMs, monotonicMs: now.monotonicMs - agoMs };
  }

  /** Since when the ends of streams are not known; monotonic ms. */
  get unreadMs(): number {
    return this.readMs.monotonicMs;
  }

  position(channel: string): Position | undefined {
    return this.positions.get(channel);
  }

  /** The clock was set back: messages that are new seem older than what is known, and those of that time newer. */
  isAheadOf(wallMs: number): boolean {
    return this.knownMs > wallMs + HEADS_SKEW_MS;
  }

  /** Streams without a position begin with what is new from now on. */
  setBack(wallMs: number, heads: readonly (Position & { readonly channel: string })[]): void {
    for (const { channel, epoch, offset } of heads)
      if (!this.positions.has(channel) && !this.behind.has(channel)) this.advanced(channel, { epoch, offset });
    this.knownMs = wallMs;
    this.notedMs = 0;
  }

  /** The end of a stream that has changed. */
  head(channel: string, { epoch, offset }: Position): void {
    const known = this.positions.get(channel);
    if (known?.epoch === epoch && known.offset === offset) return;
    // One that was never asked for, or not for long, begins with what is new.
    if (!this.behind.has(channel)) this.behind.set(channel, this.knownMs);
  }

  /** It was given so far. */
  advanced(channel: string, position: Position): void {
    this.positions.delete(channel);
    this.positions.set(channel, position);
    if (this.positions.size < CURSORS_MAX) return;
    const [oldest] = this.positions.keys();
    if (oldest !== undefined) this.positions.delete(oldest);
  }

  row(channel: string, { epoch, offset }: Position, usedMs: number): WebhookCursorRow {
    const { id, app } = this.entry.row;
    return { webhook: id, app, channel, epoch, position: offset, used: usedMs };
  }

  /** The ends of all streams were read at that time. */
  read(readMs: { readonly wallMs: number; readonly monotonicMs: number }): void {
    this.readMs = readMs;
  }

  /** Whether another holder of the lease could begin much later than it would. */
  isToBeNoted(everyMs: number): boolean {
    if (this.behind.size === 0) this.knownMs = Math.max(this.knownMs, this.readMs.wallMs);
    return this.knownMs - this.notedMs >= everyMs;
  }

  note(): WebhookCursorRow {
    this.notedMs = this.knownMs;
    return this.row(ALL_CHANNELS, { epoch: "", offset: this.knownMs }, ALWAYS_USED);
  }
}
