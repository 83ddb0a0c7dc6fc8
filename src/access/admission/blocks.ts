/** Blocked peers, which may not connect for a while. Held in memory; the store keeps them across restarts. */

import { FirstOf } from "../../base/first-of.ts";
import type { AppId } from "../../base/ids.ts";
import { partOf } from "../../base/part-of.ts";
import type { BlockRow } from "../../store/contract/store.ts";
import { BLOCKS_PER_APP_MAX } from "../limits.ts";

/** As the end of a block in what nodes announce: it has ended by every clock, so nodes of earlier versions admit the peer too. */
export const UNBLOCKED_MS = 0;

interface BlockPage {
  readonly after?: string | undefined;
  readonly contains?: string | undefined;
  readonly limit: number;
}

export class Blocks {
  /**
   * Application → peer → Unix ms until which it is blocked. Bound: BLOCKS_PER_APP_MAX per application; `sweep` removes those that
   * have ended, once a minute (block-sweep.ts).
   */
  private readonly byApp = new Map<AppId, Map<string, number>>();
  /** Application and peer of what changes while `replace` reads. Bound: changes during one read of the store. */
  private changed: Set<string> | undefined;

  load(rows: readonly BlockRow[]): void {
    for (const row of rows) this.add(row);
  }

  /**
   * Makes them those of the store, except for what changes while it is read: the rows may be older than that. Returns those that were
   * not known before.
   */
  async replace(read: () => Promise<readonly BlockRow[]>): Promise<BlockRow[]> {
    const changed = new Set<string>();
    this.changed = changed;
    try {
      const rows = (await read()).filter(({ app, peerId }) => !changed.has(changeOf(app, peerId)));
      const stored = new Set(rows.map(({ app, peerId }) => changeOf(app, peerId)));
      for (const [app, peers] of this.byApp)
        for (const peerId of peers.keys()) {
          const one = changeOf(app, peerId);
          if (!stored.has(one) && !changed.has(one)) peers.delete(peerId);
        }
      return rows.filter((row) => this.add(row));
    } finally {
      this.changed = undefined;
    }
  }

  /** false: this block was known already. */
  add({ app, peerId, untilMs }: BlockRow): boolean {
    this.changed?.add(changeOf(app, peerId));
    let peers = this.byApp.get(app);
    if (!peers) {
      peers = new Map();
      this.byApp.set(app, peers);
    }
    if (peers.get(peerId) === untilMs) return false;
    peers.set(peerId, untilMs);
    return true;
  }

  remove(app: AppId, peerId: string): void {
    this.changed?.add(changeOf(app, peerId));
    this.byApp.get(app)?.delete(peerId);
  }

  /** Whether a block for this peer fits the limit; replacing an existing block always does. */
  hasRoomFor(app: AppId, peerId: string, nowMs: number): boolean {
    const peers = this.byApp.get(app);
    if (!peers || peers.size < BLOCKS_PER_APP_MAX || peers.has(peerId)) return true;
    removeEnded(peers, nowMs);
    return peers.size < BLOCKS_PER_APP_MAX;
  }

  isBlocked(app: AppId, peerId: string, nowMs: number): boolean {
    return this.endOf(app, peerId, nowMs) !== undefined;
  }

  /** Unix ms at which the peer's block ends; undefined: it is not blocked. */
  endOf(app: AppId, peerId: string, nowMs: number): number | undefined {
    const until = this.byApp.get(app)?.get(peerId);
    return until !== undefined && until > nowMs ? until : undefined;
  }

  /** Those of an application that have not ended, by peer id, behind `after`, with `contains` in their id. */
  page(app: AppId, { after, contains = "", limit }: BlockPage, nowMs: number): BlockRow[] {
    const isAsked = partOf(contains);
    const first = new FirstOf<BlockRow>(limit, (one, other) => one.peerId < other.peerId);
    for (const [peerId, untilMs] of this.byApp.get(app) ?? [])
      if (untilMs > nowMs && (after === undefined || peerId > after) && isAsked(peerId))
        first.offer({ app, peerId, untilMs });
    return first.sorted();
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

/** Ids of applications have no space in them. */
const changeOf = (app: AppId, peerId: string): string => `${app} ${peerId}`;

function removeEnded(peers: Map<string, number>, nowMs: number): void {
  for (const [peerId, until] of peers) if (until <= nowMs) peers.delete(peerId);
}
