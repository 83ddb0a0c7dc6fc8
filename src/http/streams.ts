/**
 * Answers that are sent in pieces and are under way: how many at once, and at what pace they must be read. Each holds a page of
 * its list in memory for as long as its reader takes, so both have a bound.
 */
import { Problem } from "../protocol/codes.ts";
import {
  STREAM_GRACE_MS,
  STREAM_MIN_CHARS_PER_SECOND,
  STREAMS_PER_CREDENTIAL_MAX,
  STREAMS_PER_NODE_MAX,
} from "./limits.ts";

const RETRY_SECONDS = 1;
const CHECK_EVERY_MS = 1000;

interface StreamClock {
  monotonicMs(): number;
  after(ms: number, callback: () => void): void;
}

interface Open {
  /** The key or the application that reads it. */
  readonly owner: string;
  /** Ends it, because its reader is too slow. */
  readonly cut: (reason: Problem) => void;
  /** Each piece that the reader has taken moves it further. */
  deadlineMs: number;
}

/** One answer's place among those under way. */
export interface Stream {
  /** A further piece of so many characters goes out: the reader has taken those before it. */
  sent(chars: number): void;
  /** Its place is free. May be called more than once. */
  end(): void;
}

export class Streams {
  /** Bound: STREAMS_PER_NODE_MAX. */
  private readonly open = new Set<Open>();
  private isChecking = false;

  constructor(private readonly clock: StreamClock) {}

  /** Throws 429 where there are too many. `cut` is called once if the reader falls behind. */
  begin(owner: string, cut: (reason: Problem) => void): Stream {
    const own = [...this.open].filter((one) => one.owner === owner).length;
    if (own >= STREAMS_PER_CREDENTIAL_MAX || this.open.size >= STREAMS_PER_NODE_MAX)
      throw new Problem("rate_limited", "Too many long lists are being read at once; try again later.", RETRY_SECONDS);
    const one: Open = { owner, cut, deadlineMs: this.clock.monotonicMs() + STREAM_GRACE_MS };
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

  /** Looks at all of them from time to time, as long as there are any. */
  private check(): void {
    if (this.isChecking || this.open.size === 0) return;
    this.isChecking = true;
    this.clock.after(CHECK_EVERY_MS, () => {
      this.isChecking = false;
      try {
        this.cutLate();
      } finally {
        this.check();
      }
    });
  }

  private cutLate(): void {
    const now = this.clock.monotonicMs();
    for (const one of this.open) {
      if (one.deadlineMs > now) continue;
      this.open.delete(one);
      one.cut(new Problem("rate_limited", "The list was read too slowly."));
    }
  }
}
