/** One application on this node: who is connected, and which channels are in use. */
import type { Channel, Member } from "./channel.ts";
import type { Peer } from "./peer.ts";

let lastInbox = 0;

/** All connections of one peer id. */
export class Identity {
  readonly peers: Peer[] = [];
  /** The native topic of its direct messages, once there was one: most peers never get any. */
  private inboxTopic: string | undefined;
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

  /** The first of its connections if the answer is 1. */
  add(peer: Peer): number {
    if (this.inboxTopic !== undefined) peer.socket.subscribe(this.inboxTopic);
    return this.peers.push(peer);
  }

  remove(peer: Peer): void {
    if (this.inboxTopic !== undefined) peer.socket.unsubscribe(this.inboxTopic);
    this.peers.splice(this.peers.indexOf(peer), 1);
  }

  /** A topic, not its sockets one by one: the runtime then writes all that a turn has for a socket at once. */
  get inbox(): string {
    if (this.inboxTopic === undefined) {
      this.inboxTopic = `d${(++lastInbox).toString(36)}`;
      for (const peer of this.peers) peer.socket.subscribe(this.inboxTopic);
    }
    return this.inboxTopic;
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
