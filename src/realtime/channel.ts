/** A channel on this node: who subscribes to it, and who is a member of it here and elsewhere. */
import type { MemberState, NodeId } from "../engine/engine.ts";
import { presenceEntry } from "../protocol/encode.ts";
import type { ShownLately } from "./damping.ts";
import type { Peer } from "./peer.ts";
import type { Settled } from "./settled.ts";
import type { Identity, Space } from "./space.ts";

let lastNumber = 0;

export class Channel {
  /** The name as JSON. */
  readonly json: string;
  /** Native topics. A subscriber is on one of the first two; on the third from its roster on. */
  readonly plainTopic: string;
  readonly metadataTopic: string;
  readonly presenceTopic: string;
  /** By peer id: those that presence shows, here and elsewhere, and those about to be shown. */
  readonly members = new Map<string, Member>();
  subscribers = 0;
  /** Of those, the ones that want the sender's metadata. */
  metadataSubscribers = 0;
  /** On the presence topic. */
  listeners = 0;
  /** Their pong has come: the next tick writes their roster. */
  ready: Subscription[] = [];
  /** Have their roster already: the next tick shows them, tells them what they have missed and lets them listen. */
  early: Subscription[] = [];
  /** Subscriptions off the presence topic that know more than the channel was shown (audience.ts); undefined: none. */
  aside: Set<Subscription> | undefined;
  /** Grows whenever a subscription has got its roster and can be shown changes from then on. */
  pictures = 0;
  /** Members whose state may differ from what was told. */
  changed = new Set<Member>();
  /** By peer id: changes that were shown lately (damping.ts); undefined: none. */
  shownLately: Map<string, ShownLately> | undefined;
  lastTickMs = 0;
  /** Subscriptions that wait for their ack while the engine finds out who is there; undefined: it has. */
  opening: (() => void)[] | undefined = [];

  constructor(
    readonly space: Space,
    readonly name: string,
  ) {
    this.json = JSON.stringify(name);
    const number = (++lastNumber).toString(36);
    this.plainTopic = `m${number}`;
    this.metadataTopic = `x${number}`;
    this.presenceTopic = `p${number}`;
  }

  member(identity: Identity): Member {
    let member = this.members.get(identity.peerId);
    if (!member) {
      member = new Member(this, identity);
      identity.memberships++;
      this.members.set(identity.peerId, member);
    }
    return member;
  }

  forget(member: Member): void {
    // By object: one that was forgotten before must not take its successor of the same peer along.
    if (this.members.get(member.identity.peerId) !== member) return;
    this.members.delete(member.identity.peerId);
    member.identity.memberships--;
    this.space.tidy(member.identity);
  }
}

/** A peer id in a channel. */
export class Member {
  /** This node's connections of it that take part in presence, newest connection first. */
  readonly subscriptions: Subscription[] = [];
  /** What the others here were told last; undefined: nothing. */
  shown: string | undefined;
  /** What other nodes were told last. */
  announced: MemberState | undefined;
  remote: Map<NodeId, MemberState> | undefined;
  /** Who has been shown all that may be shown of it now (settled.ts); undefined: not known. */
  settled: Settled | undefined;

  constructor(
    readonly channel: Channel,
    readonly identity: Identity,
  ) {}

  add(subscription: Subscription): void {
    const at = this.subscriptions.findIndex((other) => other.peer.connectedMs <= subscription.peer.connectedMs);
    this.subscriptions.splice(at < 0 ? this.subscriptions.length : at, 0, subscription);
  }

  remove(subscription: Subscription): void {
    const at = this.subscriptions.indexOf(subscription);
    if (at >= 0) this.subscriptions.splice(at, 1);
  }

  /** What this node's own connections say: the newest that may be shown. */
  local(): MemberState | undefined {
    const newest = this.subscriptions.find((subscription) => subscription.visible)?.peer;
    return newest && stateOf(newest);
  }

  /** What other nodes are told of those: also of one that is not to be shown yet. */
  toAnnounce(): MemberState | undefined {
    const local = this.local();
    const [newest] = this.subscriptions;
    return local ?? (newest && { ...stateOf(newest.peer), isArriving: true });
  }

  /** The state everybody should see: the newest connection of all nodes gives the metadata. */
  state(): MemberState | undefined {
    let newest = this.local();
    if (this.remote)
      for (const other of this.remote.values()) {
        if (other.isArriving && this.shown === undefined) continue;
        if (!newest || isNewer(other, newest)) newest = other;
      }
    return newest;
  }

  /** Others have been told of it, here or by another node. */
  get isKnown(): boolean {
    return this.shown !== undefined || this.remote?.values().some((state) => !state.isArriving) === true;
  }

  /** Something of it is still to be shown. */
  get isArriving(): boolean {
    return (
      this.subscriptions.some((subscription) => !subscription.visible) ||
      this.remote?.values().some((state) => state.isArriving) === true
    );
  }

  /** It is to be shown now, whatever it waits for. */
  show(): void {
    for (const subscription of this.subscriptions) subscription.visible = true;
    if (!this.remote) return;
    for (const [node, { isArriving, ...state }] of this.remote) if (isArriving) this.remote.set(node, state);
  }

  /** The same as an entry of a presence frame. */
  entry(): string | undefined {
    return entryOf(this.state());
  }

  /** The entry as if connections that are still arriving were shown: what a receiver of its messages must know. */
  arrivedEntry(): string | undefined {
    const [first] = this.subscriptions;
    let newest = first && stateOf(first.peer);
    for (const other of this.remote?.values() ?? []) if (!newest || isNewer(other, newest)) newest = other;
    return entryOf(newest);
  }

  get isGone(): boolean {
    return this.subscriptions.length === 0 && (this.remote === undefined || this.remote.size === 0);
  }
}

export const stateOf = ({ peerId, metadataJson, connectedMs }: Peer): MemberState => ({
  peerId,
  metadataJson,
  since: connectedMs,
});

const entryOf = (state: MemberState | undefined): string | undefined =>
  state && presenceEntry(state.peerId, state.metadataJson);

/** Two nodes may have made a connection in the same instant: every node must still choose the same one. */
function isNewer(one: MemberState, than: MemberState): boolean {
  if (one.since !== than.since) return one.since > than.since;
  return (one.metadataJson ?? "") > (than.metadataJson ?? "");
}

/** What the channel was shown of one peer before and is shown now; undefined: that it is not there. */
export interface Change {
  readonly peerId: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Who was in a channel at one tick. Its newcomers share it: each of their own would be members × newcomers of memory. */
export interface LongRoster {
  readonly parts: readonly RosterPart[];
  /** By peer id, its entry. */
  readonly told: ReadonlyMap<string, string>;
}

export interface RosterPart {
  /** Entries, with commas between. */
  readonly text: string;
  /** By peer id, where its entry stands. */
  readonly starts: ReadonlyMap<string, number>;
}

/** A connection on a channel. */
export class Subscription {
  withMetadata = false;
  /** The ping whose pong opens the roster; 0: no roster is waited for. */
  gate = 0;
  /** The gate its roster was promised with; 0: it has been written. */
  owed = 0;
  /** May be shown to others: its roster is written, or it has spoken already. */
  visible = false;
  /** On the presence topic. */
  listening = false;
  /** By peer id: what it knows where that differs from what the channel was shown; an undefined entry: that the peer left. */
  ahead: Map<string, string | undefined> | undefined;
  /** A roster behind which something is still to be written, and how many of its parts are. */
  roster: LongRoster | undefined;
  partsWritten = 0;
  /** Its roster was written ahead of the tick that shows it. */
  awaitsTick = false;
  open = true;
  /** It ended because the key no longer covers the channel. */
  isRevoked = false;

  constructor(
    readonly peer: Peer,
    readonly channel: Channel,
    /** It has the presence action: it sees, and is seen. Without it this is undefined. */
    public member: Member | undefined,
  ) {}
}
