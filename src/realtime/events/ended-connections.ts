/** The connections that ended last, and refused connects, by peer. A search goes over all of them: operators ask rarely. */
import type { SpaceId } from "../../base/ids.ts";

export interface EndedConnection {
  /** `Connection.number`. */
  readonly number: number;
  readonly keyId: string;
  /** The number of its last event in the ring. */
  readonly lastEvent: number;
}

export class EndedConnections {
  // Bound: `max` entries each; the oldest is overwritten.
  private readonly spaceIds: SpaceId[] = [];
  private readonly peerIds: string[] = []; // Bound: as `apps`.
  private readonly keyIds: string[] = []; // Bound: as `apps`.
  private readonly numbers: number[] = []; // Bound: as `apps`.
  private readonly lastEvents: number[] = []; // Bound: as `apps`.
  private readonly endedMs: number[] = []; // Bound: as `apps`.
  private next = 0;

  constructor(private readonly max: number) {}

  get size(): number {
    return this.spaceIds.length;
  }

  add(spaceId: SpaceId, peerId: string, keyId: string, number: number, lastEvent: number, nowMs: number): void {
    const at = this.next;
    this.spaceIds[at] = spaceId;
    this.peerIds[at] = peerId;
    this.keyIds[at] = keyId;
    this.numbers[at] = number;
    this.lastEvents[at] = lastEvent;
    this.endedMs[at] = nowMs;
    this.next = (at + 1) % this.max;
  }

  /** Those that ended after `sinceMs`, the newest last. */
  of(spaceId: SpaceId, peerId: string, sinceMs: number): EndedConnection[] {
    const found: EndedConnection[] = [];
    for (let i = 0; i < this.size; i++) {
      const at = this.size < this.max ? i : (this.next + i) % this.max;
      if (this.peerIds[at] !== peerId || this.spaceIds[at] !== spaceId || (this.endedMs[at] as number) <= sinceMs)
        continue;
      const [number, keyId, lastEvent] = [this.numbers[at], this.keyIds[at], this.lastEvents[at]];
      if (number !== undefined && keyId !== undefined && lastEvent !== undefined)
        found.push({ number, keyId, lastEvent });
    }
    return found;
  }
}
