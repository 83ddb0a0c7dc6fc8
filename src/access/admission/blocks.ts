/** Blocked peers, which may not connect for a while. Held in memory; the store keeps them across restarts. */
import type { AppId } from "../../base/ids.ts";
import type { BlockRow } from "../../store/contract/store.ts";
import { BLOCKS_PER_APP_MAX } from "../limits.ts";

export class Blocks {
  /**
   * Application → peer → Unix ms until which it is blocked. Bound: BLOCKS_PER_APP_MAX per application; `sweep` removes those that
   * have ended, once a minute (block-sweep.ts).
   */
  private readonly byApp = new Map<AppId, Map<string, number>>();

  load(rows: readonly BlockRow[]): void {
    for (const row of rows) this.add(row);
  }

  /** false: this block was known already. */
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

  /** Whether a block for this peer fits the limit; replacing an existing block always does. */
  hasRoomFor(app: AppId, peerId: string, nowMs: number): boolean {
    const peers = this.byApp.get(app);
    if (!peers || peers.size < BLOCKS_PER_APP_MAX || peers.has(peerId)) return true;
    removeEnded(peers, nowMs);
    return peers.size < BLOCKS_PER_APP_MAX;
  }

  isBlocked(app: AppId, peerId: string, nowMs: number): boolean {
    const until = this.endOf(app, peerId);
    return until !== undefined && until > nowMs;
  }

  /** Unix ms at which the peer's block ends, or has ended. */
  endOf(app: AppId, peerId: string): number | undefined {
    return this.byApp.get(app)?.get(peerId);
  }

  sweep(nowMs: number): void {
    for (const [app, peers] of this.byApp) {
      removeEnded(peers, nowMs);
      if (peers.size === 0) this.byApp.delete(app);
    }
  }

  get size(): number {
    return this.byApp.values().reduce((sum, peers) => sum + peers.size, 0);
  }
}

function removeEnded(peers: Map<string, number>, nowMs: number): void {
  for (const [peerId, until] of peers) if (until <= nowMs) peers.delete(peerId);
}
