/** A peer of an application on this node: all connections with one peer id. */
import { type Few, isList, listOf, withOne, withoutOne } from "../../base/few.ts";
import type { Connection } from "./connection.ts";
import type { Member } from "./member.ts";
import type { Space } from "./space.ts";

/** More than take part in one call. */
export const RECEIVERS_MAX = 64;

/** Peers that a peer has sent direct messages to, as far as this node knows of both. */
interface Receivers {
  /** Compared with each message, so that the set is looked at rarely. */
  last: string;
  /** Bound: RECEIVERS_MAX, the first goes first. */
  readonly all: Set<string>;
}

export class Peer {
  /** Bound: connections of the application. */
  private own: Few<Connection>;
  private idJson: string | undefined;
  /**
   * Memberships with a change that not every member was shown; undefined is the usual case, checked with each message. One is
   * kept by itself: a peer that subscribes to one channel, as most do, needs no set for a moment. Bound: the memberships of this
   * peer.
   */
  pending: Member | Set<Member> | undefined;
  /** How many channels the peer is a member of, through this node or another. */
  memberships = 0;
  /** How many of them have no connection, or one without a roster after it had none (presence/returns.ts). */
  lostMemberships = 0;
  private receivers: Receivers | undefined;

  constructor(
    readonly space: Space,
    readonly peerId: string,
  ) {}

  /** The peer id as JSON. Made when it is first shown or sends a message: a peer that does neither needs no second text. */
  get json(): string {
    this.idJson ??= JSON.stringify(this.peerId);
    return this.idJson;
  }

  /** The oldest is first. */
  get connections(): readonly Connection[] {
    return listOf(this.own);
  }

  get isConnected(): boolean {
    return this.own !== undefined;
  }

  /** `undefined` if it has none or several: every direct message asks, and needs no list for one connection. */
  get onlyConnection(): Connection | undefined {
    return isList(this.own) ? undefined : this.own;
  }

  /** The time of its newest connection; 0 if it has none. */
  get newestMs(): number {
    const { own } = this;
    return (isList(own) ? own.at(-1) : own)?.connectedMs ?? 0;
  }

  addConnection(connection: Connection): void {
    this.own = withOne(this.own, connection);
  }

  removeConnection(connection: Connection): void {
    this.own = withoutOne(this.own, connection);
  }

  /** Whether there is an open connection besides this one. Without a list or a closure: every send calls this. */
  hasOther(than: Connection | undefined): boolean {
    const { own } = this;
    if (!isList(own)) return own !== undefined && own !== than && own.open;
    for (const connection of own) if (connection !== than && connection.open) return true;
    return false;
  }

  /** Whether there is an open connection besides this one that was made later, monotonic ms. */
  hasNewer(thanMs: number, than: Connection | undefined): boolean {
    return this.connections.some((one) => one !== than && one.open && one.openedMs > thanMs);
  }

  sentTo(peerId: string): void {
    if (this.receivers?.last === peerId) return;
    this.receivers ??= { last: peerId, all: new Set() };
    const { all } = this.receivers;
    this.receivers.last = peerId;
    if (all.has(peerId)) return;
    if (all.size >= RECEIVERS_MAX) for (const first of all.values().take(1)) all.delete(first);
    all.add(peerId);
  }

  /** Peers of this application on this node with which it has exchanged direct messages: each has sent some to the other. */
  *correspondents(): Generator<Peer> {
    for (const peerId of this.receivers?.all ?? []) {
      const other = this.space.peers.get(peerId);
      if (other && other !== this && other.receivers?.all.has(this.peerId)) yield other;
    }
  }

  addPending(member: Member): void {
    const { pending } = this;
    if (pending === undefined) this.pending = member;
    else if (pending instanceof Set) pending.add(member);
    else if (pending !== member) this.pending = new Set([pending, member]);
  }

  removePending(member: Member): void {
    const { pending } = this;
    if (pending === member) this.pending = undefined;
    else if (pending instanceof Set && pending.delete(member) && pending.size === 0) this.pending = undefined;
  }

  /** A copy: showing them removes them. */
  get pendingMembers(): readonly Member[] {
    const { pending } = this;
    if (pending === undefined) return [];
    return pending instanceof Set ? [...pending] : [pending];
  }
}
