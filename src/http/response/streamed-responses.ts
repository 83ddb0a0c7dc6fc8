/**
 * Streamed responses in progress: how many there may be, and how fast clients must read them. Each holds a page of its list in
 * memory until the client has read it, so both have a bound.
 */
import type { Clock } from "../../base/clock.ts";
import { Problem } from "../../protocol/codes.ts";
import { STREAM_GRACE_MS, STREAM_MIN_CHARS_PER_SECOND, STREAMS_PER_APP_MAX, STREAMS_PER_NODE_MAX } from "../limits.ts";

const RETRY_SECONDS = 1;
const CHECK_EVERY_MS = 1000;

type StreamClock = Pick<Clock, "monotonicMs" | "after">;

interface OpenStream {
  /** The application whose list is read. */
  readonly owner: string;
  /** Ends the stream because its client reads too slowly. */
  readonly cut: (reason: Problem) => void;
  /** Extended with each piece that the client has read. */
  deadlineMs: number;
}

/** One streamed response. */
export interface StreamedResponse {
  /** A piece of this length is sent next; the client has read the pieces before it. */
  sent(chars: number): void;
  /** Frees its place. May be called more than once. */
  end(): void;
}

export class StreamedResponses {
  /** Bound: STREAMS_PER_NODE_MAX, and STREAMS_PER_APP_MAX of one key or application. */
  private readonly open = new Set<OpenStream>();
  private isChecking = false;

  constructor(private readonly clock: StreamClock) {}

  /** Throws rate_limited if there are too many. `cut` is called at most once, if the client reads too slowly. */
  begin(owner: string, cut: (reason: Problem) => void): StreamedResponse {
    const own = [...this.open].filter((one) => one.owner === owner).length;
    if (own >= STREAMS_PER_APP_MAX || this.open.size >= STREAMS_PER_NODE_MAX)
      throw new Problem("rate_limited", "Too many long lists are being read at once. Try again later.", RETRY_SECONDS);
    const one: OpenStream = { owner, cut, deadlineMs: this.clock.monotonicMs() + STREAM_GRACE_MS };
    this.open.add(one);
    this.check();
    return {
      sent: (chars) => {
        one.deadlineMs += (chars / STREAM_MIN_CHARS_PER_SECOND) * 1000;
      },
      end: () => void this.open.delete(one),
    };
  }

  get size(): number {
    return this.open.size;
  }

  /** Checks the deadlines every second while there are streams. */
  private check(): void {
    if (this.isChecking || this.open.size === 0) return;
    this.isChecking = true;
    this.clock.after(CHECK_EVERY_MS, () => {
      this.isChecking = false;
      try {
        this.cutSlow();
      } finally {
        this.check();
      }
    });
  }

  private cutSlow(): void {
    const now = this.clock.monotonicMs();
    for (const one of this.open) {
      if (one.deadlineMs > now) continue;
      this.open.delete(one);
      one.cut(new Problem("rate_limited", "The list was read too slowly."));
    }
  }
}
