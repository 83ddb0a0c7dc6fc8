/** Peers that may not connect for a while, in memory; the store keeps them over a restart. */
import type { BlockRow } from "../store/store.ts";

const key = (app: string, peerId: string): string => `${app} ${peerId}`;

export class Blocks {
  private readonly until = new Map<string, number>();

  load(rows: readonly BlockRow[]): void {
    for (const row of rows) this.add(row);
  }

  /** false: it was known already. */
  add({ app, peerId, untilMs }: BlockRow): boolean {
    const id = key(app, peerId);
    if (this.until.get(id) === untilMs) return false;
    this.until.set(id, untilMs);
    return true;
  }

  isBlocked(app: string, peerId: string, nowMs: number): boolean {
    if (this.until.size === 0) return false;
    const id = key(app, peerId);
    const until = this.until.get(id);
    if (until === undefined) return false;
    if (until > nowMs) return true;
    this.until.delete(id);
    return false;
  }
}
