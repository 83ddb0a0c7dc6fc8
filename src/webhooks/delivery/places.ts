/**
 * Whose turn it is to send: an endpoint of the application with the fewest requests under way, of those the one with the fewest, and of those the one
 * whose last request was longest ago. So no application, however many endpoints it has that hang, keeps those of others from a place.
 */
import { REQUESTS_AT_ONCE_MAX, RESERVED_REQUESTS, UNPROVEN_REQUESTS_MAX } from "../limits.ts";
import type { Lane } from "./lane.ts";

export class Places {
  private readonly lanes: readonly Lane[];
  /** Bound: applications of lanes, for one turn. */
  private readonly byApp = new Map<string, number>();
  private all = 0;
  private unproven = 0;

  constructor(
    lanes: Iterable<Lane>,
    /** Requests that were begun so far. */
    public launches: number,
  ) {
    const found = [...lanes];
    this.lanes = found.filter(({ queue }) => queue.length > 0);
    for (const lane of found) this.count(lane, lane.underWay.size);
  }

  /** undefined: no one has something to send, and may. */
  next(): Lane | undefined {
    if (this.all >= REQUESTS_AT_ONCE_MAX) return undefined;
    let best: Lane | undefined;
    for (const lane of this.lanes)
      if (lane.queue.length > 0 && this.mayHaveOne(lane) && (!best || this.isBefore(lane, best))) best = lane;
    return best;
  }

  /** It has begun a request. */
  taken(lane: Lane): void {
    lane.launch = ++this.launches;
    this.count(lane, 1);
  }

  private count({ app, isProven }: Lane, requests: number): void {
    this.all += requests;
    if (!isProven) this.unproven += requests;
    this.byApp.set(app, this.of(app) + requests);
  }

  private of(app: string): number {
    return this.byApp.get(app) ?? 0;
  }

  /** The last places are for applications, and the ones before for endpoints, that have none. */
  private mayHaveOne(lane: Lane): boolean {
    const isFirstOfApp = this.of(lane.app) === 0;
    const kept = isFirstOfApp ? 0 : lane.underWay.size === 0 ? RESERVED_REQUESTS / 2 : RESERVED_REQUESTS;
    const unprovenMax = UNPROVEN_REQUESTS_MAX - (isFirstOfApp ? 0 : RESERVED_REQUESTS);
    return lane.room > 0 && this.all < REQUESTS_AT_ONCE_MAX - kept && (lane.isProven || this.unproven < unprovenMax);
  }

  private isBefore(one: Lane, other: Lane): boolean {
    const apps = this.of(one.app) - this.of(other.app);
    const requests = one.underWay.size - other.underWay.size;
    return (apps || requests || one.launch - other.launch) < 0;
  }
}
