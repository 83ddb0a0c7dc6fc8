/** One application on this node: who is connected, and which channels are in use. */
import type { Channel, Member } from "./channel.ts";
import type { Peer } from "./peer.ts";

/** All connections of one peer id. */
export class Identity {
  readonly peers: Peer[] = [];
  /** The peer id as JSON. */
  readonly json: string;
  /** Memberships with a change that others have not been told yet; undefined is the usual case. */
  waiting: Set<Member> | undefined;
  /** Channels it is a member of, through this node or another. */
  memberships = 0;

  constructor(
    readonly space: Space,
    readonly peerId: string,
  ) {
    this.json = JSON.stringify(peerId);
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

  /** Forgets a peer id that nothing is known of any more. */
  tidy(identity: Identity): void {
    if (identity.peers.length === 0 && identity.memberships === 0) this.identities.delete(identity.peerId);
  }

  get isEmpty(): boolean {
    return this.connections === 0 && this.channels.size === 0 && this.identities.size === 0;
  }
}
