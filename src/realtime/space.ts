/** One application on this node: the peers that are connected, and the channels in use. */
import type { Channel } from "./channel.ts";
import type { Member } from "./member.ts";
import type { Peer } from "./peer.ts";

/** All connections of one peer id. */
export class Identity {
  readonly peers: Peer[] = [];
  /** The peer id as JSON. */
  readonly json: string;
  /** Memberships with a change that not every member was shown; undefined is the usual case, checked with each message. */
  pending: Set<Member> | undefined;
  /** Channels it is a member of, through this node or another. */
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

export class Space {
  readonly identities = new Map<string, Identity>();
  readonly channels = new Map<string, Channel>();
  connections = 0;

  constructor(readonly app: string) {}

  identity(peerId: string): Identity {
    let identity = this.identities.get(peerId);
    if (!identity) {
      identity = new Identity(this, peerId);
      this.identities.set(peerId, identity);
    }
    return identity;
  }

  /** Forgets a peer id with no connection here and no membership. */
  forgetIfUnused(identity: Identity): void {
    if (identity.peers.length === 0 && identity.memberships === 0) this.identities.delete(identity.peerId);
  }

  get isEmpty(): boolean {
    return this.connections === 0 && this.channels.size === 0 && this.identities.size === 0;
  }
}
