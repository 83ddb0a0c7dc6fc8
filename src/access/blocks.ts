/** Peers that may not connect for a while, in memory; the store keeps them over a restart. */

import type { BlockRow } from "../store/store.ts";
import { BLOCKS_PER_APP_MAX } from "./limits.ts";

export class Blocks {
  /**
   * Application → peer → Unix ms until which it is blocked. Bound: BLOCKS_PER_APP_MAX per application; those that have ended
   * go with `sweep`, once a minute (block-sweep.ts).
   */
  private readonly byApp = new Map<string, Map<string, number>>();

  load(rows: readonly BlockRow[]): void {
    for (const row of rows) this.add(row);
  }

  /** false: it was known already. */
  add({ app, peerId, untilMs }: BlockRow): boolean {
    let peers = this.byApp.get(app);
    if (!peers) {
      peers = new Map();
      this.byApp.set(app, peers);
    }
    if (peers.get(peerId) === untilMs) return false;
    peers.set(peerId, untilMs);
    return true;
  }

  /** Whether that peer may be blocked: one that is blocked already always may. */
  hasRoomFor(app: string, peerId: string, nowMs: number): boolean {
    const peers = this.byApp.get(app);
    if (!peers || peers.size < BLOCKS_PER_APP_MAX || peers.has(peerId)) return true;
    forgetEnded(peers, nowMs);
    return peers.size < BLOCKS_PER_APP_MAX;
  }

  isBlocked(app: string, peerId: string, nowMs: number): boolean {
    const until = this.byApp.get(app)?.get(peerId);
    return until !== undefined && until > nowMs;
  }

  /** Forgets those that have ended. */
  sweep(nowMs: number): void {
    for (const [app, peers] of this.byApp) {
      forgetEnded(peers, nowMs);
      if (peers.size === 0) this.byApp.delete(app);
    }
  }

  get size(): number {
    return this.byApp.values().reduce((sum, peers) => sum + peers.size, 0);
  }
}

function forgetEnded(peers: Map<string, number>, nowMs: number): void {
  for (const [peerId, until] of peers) if (until <= nowMs) peers.delete(peerId);
}
