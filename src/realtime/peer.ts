/** A peer of an application on this node: all connections with one peer id. */
import type { Connection } from "./connection.ts";
import type { Member } from "./member.ts";
import type { Space } from "./space.ts";

/** More than take part in one call. */
export const RECEIVERS_MAX = 64;

export class Peer {
  readonly connections: Connection[] = [];
  /** The peer id as JSON. */
  readonly json: string;
  /** Memberships with a change that not every member was shown; undefined is the usual case, checked with each message. */
  pending: Set<Member> | undefined;
  /** How many channels the peer is a member of, through this node or another. */
  memberships = 0;
  /** How many of them have no connection, or one without a roster after it had none (lingering/returns.ts). */
  lostMemberships = 0;
  /** The peer that it has sent a direct message to last: compared with each one, so that the set is looked at rarely. */
  lastReceiver: string | undefined;
  /** Peers that it has sent direct messages to, as far as this node knows of both. Bound: RECEIVERS_MAX, the first goes first. */
  private receivers: Set<string> | undefined;

  constructor(
    readonly space: Space,
    readonly peerId: string,
  ) {
    this.json = JSON.stringify(peerId);
  }

  sentTo(peerId: string): void {
    this.lastReceiver = peerId;
    this.receivers ??= new Set();
    if (this.receivers.has(peerId)) return;
    if (this.receivers.size >= RECEIVERS_MAX)
      for (const first of this.receivers.values().take(1)) this.receivers.delete(first);
    this.receivers.add(peerId);
  }

  /** Peers of this application on this node with which it has exchanged direct messages: each has sent some to the other. */
  *correspondents(): Generator<Peer> {
    for (const peerId of this.receivers ?? []) {
      const other = this.space.peers.get(peerId);
      if (other && other !== this && other.receivers?.has(this.peerId)) yield other;
    }
  }

  addPending(member: Member): void {
    this.pending ??= new Set();
    this.pending.add(member);
  }

  removePending(member: Member): void {
    this.pending?.delete(member);
    if (this.pending?.size === 0) this.pending = undefined;
  }
}
