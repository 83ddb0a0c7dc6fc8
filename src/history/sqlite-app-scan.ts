/**
 * Finds the largest streams of an application and its rooms, or the least recently used ones of a space. An index for that would cost every publish; this looks at
 * some streams per call instead, and has a result when it has seen them all.
 */
import type { Database } from "bun:sqlite";
import { roomSpaceOf } from "../access/room-space.ts";

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
  readonly name: string;
  readonly order: Order;
  /** Spaces that are still to be scanned; the first one is under way. */
  readonly spaces: string[];
  channel: string;
  found: Found[];
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
  largest(app: string): readonly Found[] | undefined {
    return this.advance(app, "largest", [app, roomSpaceOf(app)]);
  }

  /** Streams without messages, then the others, those first that were used least recently; at most 1,000. `undefined`: call again. */
  mostDispensable(app: string): readonly Found[] | undefined {
    return this.advance(app, "most dispensable", [app]);
  }

  /** Its result was used up. */
  restart(): void {
    this.running = undefined;
  }

  private advance(name: string, order: Order, spaces: readonly string[]): readonly Found[] | undefined {
    if (this.running?.name !== name || this.running.order !== order)
      this.running = { name, order, spaces: [...spaces], channel: "", found: [] };
    const { running } = this;
    const [space] = running.spaces;
    if (space === undefined) return running.found;
    const rows = this.slice.all(space, running.channel);
    running.found = [...running.found, ...rows].sort(better[order]).slice(0, FOUND_MAX);
    running.channel = rows.at(-1)?.channel ?? running.channel;
    if (rows.length < SCAN_STREAMS) {
      running.spaces.shift();
      running.channel = "";
    }
    return running.spaces.length === 0 ? running.found : undefined;
  }
}
