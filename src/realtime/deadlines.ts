/**
 * Closes connections at their deadline, with one timer wheel for all of them. Tokens expire by the wall clock, so the wheel turns
 * by it: after a machine was suspended, the first turn closes every connection that is overdue.
 */

import type { Boundary } from "./boundary.ts";
import type { Clock } from "./clock.ts";
import type { ConnectionObserver, Connections } from "./connections.ts";
import { EXPIRY_LEAD_MS } from "./limits.ts";
import type { Peer } from "./peer.ts";

const SLOT_MS = 50;
const NEVER = Number.POSITIVE_INFINITY;

export class Deadlines implements ConnectionObserver {
  /** Slot n holds the peers that are due by n × SLOT_MS. A peer knows its index there, so that removing it takes constant time. */
  private readonly slots = new Map<number, Peer[]>();
  private earliest = NEVER;
  private turning = false;

  constructor(
    private readonly clock: Clock,
    private readonly boundary: Boundary,
    private readonly connections: Connections,
  ) {
    connections.observe(this);
  }

  connected(peer: Peer): void {
    this.set(peer);
  }

  /** A connection that has ended is not kept until its token would have expired. */
  disconnected(peer: Peer): void {
    this.remove(peer);
  }

  /** Called for a new connection, and again when its deadline may have changed. */
  set(peer: Peer): void {
    this.remove(peer);
    const expiry = peer.expiresAtMs === null ? NEVER : peer.expiresAtMs - EXPIRY_LEAD_MS;
    peer.deadlineMs = Math.min(expiry, peer.secretEndsMs ?? NEVER);
    if (peer.deadlineMs === NEVER) return;
    const slot = slotOf(peer);
    const peers = this.slots.get(slot);
    peer.deadlineIndex = peers ? peers.push(peer) - 1 : 0;
    if (!peers) this.slots.set(slot, [peer]);
    this.earliest = Math.min(this.earliest, slot);
    this.turn();
  }

  private remove(peer: Peer): void {
    const slot = slotOf(peer);
    const peers = this.slots.get(slot);
    if (peers?.[peer.deadlineIndex] !== peer) return;
    const last = peers.pop();
    if (last && last !== peer) {
      peers[peer.deadlineIndex] = last;
      last.deadlineIndex = peer.deadlineIndex;
    }
    if (peers.length === 0) this.slots.delete(slot);
  }

  private turn(): void {
    if (this.turning || this.slots.size === 0) return;
    this.turning = true;
    this.clock.after(SLOT_MS, () => {
      this.turning = false;
      try {
        const now = this.clock.nowMs();
        if (this.earliest * SLOT_MS <= now) this.serve(now);
      } finally {
        // Even after an exception: without the next turn no token would expire any more.
        this.turn();
      }
    });
  }

  private serve(now: number): void {
    this.earliest = NEVER;
    for (const [slot, peers] of this.slots) {
      if (slot * SLOT_MS > now) {
        this.earliest = Math.min(this.earliest, slot);
        continue;
      }
      this.slots.delete(slot);
      for (const peer of peers)
        if (peer.open) this.boundary.forPeer("timer", peer, () => this.connections.expire(peer));
    }
  }
}

const slotOf = (peer: Peer): number => Math.ceil(peer.deadlineMs / SLOT_MS);
