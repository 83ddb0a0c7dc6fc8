/** When peers were kicked, as times of connections: a kick counts for the connections from before it, and not for later ones. */
import type { SpaceId } from "../../base/ids.ts";
import type { ConnectionTimes } from "./connection-times.ts";

/** Within this time after a kick every node has noticed that a node is gone. */
const KICKED_FOR_MS = 60_000;
const KICKS_MAX = 10_000;

export class KickTimes {
  /** Oldest first. Bound: KICKS_MAX, of the last KICKED_FOR_MS. */
  private readonly kicks = new Map<string, number>();

  constructor(private readonly times: Pick<ConnectionTimes, "now">) {}

  note(spaceId: SpaceId, peerId: string): void {
    const nowMs = this.times.now();
    const key = keyOf(spaceId, peerId);
    this.kicks.delete(key);
    for (const [oldest, atMs] of this.kicks) {
      if (this.kicks.size < KICKS_MAX && atMs > nowMs - KICKED_FOR_MS) break;
      this.kicks.delete(oldest);
    }
    this.kicks.set(key, nowMs);
  }

  /** The last kick of the peer; before any connection if there was none. */
  last(spaceId: SpaceId, peerId: string): number {
    return (this.kicks.size > 0 ? this.kicks.get(keyOf(spaceId, peerId)) : undefined) ?? Number.NEGATIVE_INFINITY;
  }
}

/** Unambiguous: an application's id contains no space. */
const keyOf = (spaceId: SpaceId, peerId: string): string => `${spaceId} ${peerId}`;
