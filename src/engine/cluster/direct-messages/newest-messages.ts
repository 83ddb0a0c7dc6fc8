/**
 * The newest direct message that each peer here has got from each node. It outlives the last connection of the peer for a while:
 * repeats of a message may still be on their way when the peer comes back to this node.
 */
import type { SpaceId } from "../../../base/ids.ts";
import type { TransportSubscription } from "../../transport/transport.ts";

export interface NewestMessage {
  /** The newest that was delivered. */
  readonly number: number;
  readonly atMs: number;
  /** Until then messages that were answered as deferred are expected again. */
  readonly owedUntilMs: number;
  /** The newest of them; 0: none. */
  readonly owed: number;
}

type ByNode = Map<string, NewestMessage>;

interface Aside {
  readonly newest: ByNode;
  readonly untilMs: number;
}

/** Longer than messages wait in the queue of a node that is suspended for a while, and than one is sent again. */
export const ASIDE_MS = 30_000;
/** Bound: peers without a connection whose newest messages are remembered; the oldest is forgotten first. */
const ASIDE_MAX = 20_000;

export class NewestMessages {
  /** By sending node, for peers that have received any. Bound: one number per connected peer and sending node. */
  private readonly current = new Map<TransportSubscription, ByNode>();
  /** The same of peers without a connection, by application and peer, oldest first. Bound: ASIDE_MAX for ASIDE_MS, then forgotten. */
  private readonly aside = new Map<string, Aside>();

  constructor(private readonly nowMs: () => number) {}

  of(subscription: TransportSubscription): ByNode {
    let newest = this.current.get(subscription);
    if (!newest) {
      newest = new Map();
      this.current.set(subscription, newest);
    }
    return newest;
  }

  restore(subscription: TransportSubscription, spaceId: SpaceId, peerId: string): void {
    if (this.aside.size === 0) return;
    const key = keyOf(spaceId, peerId);
    const one = this.aside.get(key);
    if (!one) return;
    this.aside.delete(key);
    if (one.untilMs > this.nowMs()) this.current.set(subscription, one.newest);
  }

  putAside(subscription: TransportSubscription, spaceId: SpaceId, peerId: string): void {
    const newest = this.current.get(subscription);
    if (!newest) return;
    this.current.delete(subscription);
    const nowMs = this.nowMs();
    for (const [key, { untilMs }] of this.aside) {
      if (untilMs > nowMs && this.aside.size < ASIDE_MAX) break;
      this.aside.delete(key);
    }
    this.aside.set(keyOf(spaceId, peerId), { newest, untilMs: nowMs + ASIDE_MS });
  }
}

/** Unambiguous: an application's id contains no space. */
const keyOf = (spaceId: SpaceId, peerId: string): string => `${spaceId} ${peerId}`;
