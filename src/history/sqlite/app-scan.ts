/**
 * Finds the largest or the least recently used streams of a space: of an application, or of its rooms. An index for that would cost every
 * publish; this looks at some streams per call instead, and has a result when it has seen them all.
 */
import type { Database } from "bun:sqlite";
import type { SpaceId } from "../../base/ids.ts";

const SCAN_STREAMS = 250;
/** How many streams one scan finds; the next ones need another scan. */
export const FOUND_MAX = 1000;

type Order = "largest" | "most dispensable";

export interface Found {
  readonly id: number;
  readonly bytes: number;
  readonly used: number;
}

interface Running {
  readonly spaceId: SpaceId;
  readonly order: Order;
  channel: string;
  found: Found[];
  isDone: boolean;
}

const better: Readonly<Record<Order, (a: Found, b: Found) => number>> = {
  largest: (a, b) => b.bytes - a.bytes,
  // A client that may only subscribe can make streams; these must not push out the messages of others.
  "most dispensable": (a, b) => Number(a.bytes > 0) - Number(b.bytes > 0) || a.used - b.used,
};

export class AppScan {
  private running: Running | undefined;
  private readonly slice;

  constructor(db: Database) {
    this.slice = db.prepare<Found & { channel: string }, [string, string]>(
      `SELECT id, channel, bytes, used FROM streams WHERE app = ? AND channel > ? ORDER BY channel LIMIT ${SCAN_STREAMS}`,
    );
  }

  /** The largest streams, the largest first, as they were when the scan found them; `undefined`: call again. */
  largest(spaceId: SpaceId): readonly Found[] | undefined {
    return this.advance(spaceId, "largest");
  }

  /** Streams without messages, then the others, those first that were used least recently; at most 1,000. `undefined`: call again. */
  mostDispensable(spaceId: SpaceId): readonly Found[] | undefined {
    return this.advance(spaceId, "most dispensable");
  }

  /** Whether the largest streams of this space are being looked for, or the result is not used up. */
  isAt(spaceId: SpaceId): boolean {
    return this.running?.spaceId === spaceId && this.running.order === "largest";
  }

  /** Its result was used up. */
  restart(): void {
    this.running = undefined;
  }

  private advance(spaceId: SpaceId, order: Order): readonly Found[] | undefined {
    if (this.running?.spaceId !== spaceId || this.running.order !== order)
      this.running = { spaceId, order, channel: "", found: [], isDone: false };
    const { running } = this;
    if (running.isDone) return running.found;
    const rows = this.slice.all(spaceId, running.channel);
    running.found = [...running.found, ...rows].sort(better[order]).slice(0, FOUND_MAX);
    running.channel = rows.at(-1)?.channel ?? running.channel;
    running.isDone = rows.length < SCAN_STREAMS;
    return running.isDone ? running.found : undefined;
  }
}
