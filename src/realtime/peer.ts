/** A peer of an application on this node: all connections with one peer id. */
import type { Connection } from "./connection.ts";
import type { Member } from "./member.ts";
import type { Space } from "./space.ts";

export class Peer {
  readonly connections: Connection[] = [];
  /** The peer id as JSON. */
  readonly json: string;
  /** Memberships with a change that not every member was shown; undefined is the usual case, checked with each message. */
  pending: Set<Member> | undefined;
  /** How many channels the peer is a member of, through this node or another. */
  memberships = 0;

  constructor(
    readonly space: Space,
    readonly peerId: string,
  ) {
    this.json = JSON.stringify(peerId);
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
