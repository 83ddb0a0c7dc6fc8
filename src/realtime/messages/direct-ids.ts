/**
 * Ids of direct messages that were handed to a peer's connections on this node lately. A sender that got `backend_error` does not
 * know whether its message was delivered: it repeats the message with the same id, and this node delivers it only to connections
 * that were made after that.
 */
import type { Clock } from "../../base/clock.ts";
import type { SpaceId } from "../../base/ids.ts";
import type { Envelope } from "../../engine/engine.ts";
import { MESSAGE_ID_REMEMBERED_MS } from "../../protocol/limits.ts";
import { DIRECT_IDS_MAX, DIRECT_IDS_PER_APP_MAX } from "./limits.ts";

const SWEEP_MS = 10_000;

export class DirectIds {
  /**
   * By application: receiver, scope and id, with the monotonic ms at which it was delivered; oldest first. Bound:
   * DIRECT_IDS_PER_APP_MAX and DIRECT_IDS_MAX in all, for two minutes; the oldest is forgotten.
   */
  private readonly bySpace = new Map<SpaceId, Map<string, number>>();
  private count = 0;
  private isTimerSet = false;

  constructor(private readonly clock: Clock) {}

  get size(): number {
    return this.count;
  }

  /** When a message with the same id was last handed to this peer here, monotonic ms; `undefined` if it was not. */
  deliveredMs(spaceId: SpaceId, to: string, envelope: Envelope): number | undefined {
    const deliveredMs = this.bySpace.get(spaceId)?.get(keyOf(to, envelope));
    if (deliveredMs === undefined) return undefined;
    return this.clock.monotonicMs() - deliveredMs < MESSAGE_ID_REMEMBERED_MS ? deliveredMs : undefined;
  }

  add(spaceId: SpaceId, to: string, envelope: Envelope): void {
    let ids = this.bySpace.get(spaceId);
    if (!ids) {
      ids = new Map();
      this.bySpace.set(spaceId, ids);
    }
    const key = keyOf(to, envelope);
    // Behind all others, also if it was there: the map is in the order of times.
    if (ids.delete(key)) this.count--;
    if (ids.size >= DIRECT_IDS_PER_APP_MAX) this.forgetOldest(ids);
    else if (this.count >= DIRECT_IDS_MAX) this.forgetOldest(this.largest());
    ids.set(key, this.clock.monotonicMs());
    this.count++;
    this.setTimer();
  }

  private forgetOldest(ids: Map<string, number>): void {
    for (const key of ids.keys().take(1)) {
      ids.delete(key);
      this.count--;
    }
  }

  /** Those of the application that has the most: the others keep theirs. */
  private largest(): Map<string, number> {
    let largest = new Map<string, number>();
    for (const ids of this.bySpace.values()) if (ids.size > largest.size) largest = ids;
    return largest;
  }

  private setTimer(): void {
    if (this.isTimerSet || this.count === 0) return;
    this.isTimerSet = true;
    this.clock.after(SWEEP_MS, () => {
      this.isTimerSet = false;
      const beforeMs = this.clock.monotonicMs() - MESSAGE_ID_REMEMBERED_MS;
      for (const [spaceId, ids] of this.bySpace) this.sweep(spaceId, ids, beforeMs);
      this.setTimer();
    });
  }

  private sweep(spaceId: SpaceId, ids: Map<string, number>, beforeMs: number): void {
    for (const [key, deliveredMs] of ids) {
      if (deliveredMs > beforeMs) break;
      ids.delete(key);
      this.count--;
    }
    if (ids.size === 0) this.bySpace.delete(spaceId);
  }
}

/** Unambiguous: none of the three contains a line end. A node of an earlier version sends no scope. */
const keyOf = (to: string, { id, idScope, from }: Envelope): string => `${to}\n${idScope ?? `peer ${from}`}\n${id}`;
