/**
 * On which other nodes a peer has connections, as far as their receipts have said. The servers deliver a direct message to the nodes
 * that are connected to them at that moment: one that reconnects misses it, and no one would notice. So a message is not known to be
 * delivered to all connections of its receiver before each of these nodes has answered.
 */
import { SharedMap } from "../../../base/shared-map.ts";
import { spaceOfPeer } from "../wire/subjects.ts";

/** Receivers whose nodes are remembered. */
export const REACHED_MAX = 20_000;

/** Names of nodes. Never changed, so that messages that wait can share one. */
export type NodeNames = readonly string[];

/** Bound: it never grows. */
const NO_NODES: NodeNames = [];

export class ReachedNodes {
  /** By subject of the receiver. Bound: REACHED_MAX; the oldest of the application that has the most is forgotten. */
  private readonly bySubject = new SharedMap<NodeNames>(REACHED_MAX);

  constructor(
    /** Whether the node is there. */
    private readonly isThere: (name: string) => boolean,
  ) {}

  get size(): number {
    return this.bySubject.size;
  }

  of(subject: string): NodeNames {
    const names = this.bySubject.get(subject);
    if (!names) return NO_NODES;
    // Those that were only silent come back under the same name.
    return names.every(this.isThere) ? names : names.filter(this.isThere);
  }

  /** It has delivered a message to connections of the peer. */
  add(subject: string, name: string): void {
    const names = this.bySubject.get(subject);
    if (names?.includes(name) || !this.isThere(name)) return;
    this.bySubject.set(spaceOfPeer(subject), subject, names ? [...names.filter(this.isThere), name] : [name]);
  }

  /** It has no connection of the peer any more. */
  remove(subject: string, name: string): void {
    const names = this.bySubject.get(subject);
    if (!names?.includes(name)) return;
    if (names.length > 1) this.bySubject.set(spaceOfPeer(subject), subject, without(names, name));
    else this.bySubject.delete(spaceOfPeer(subject), subject);
  }
}

export const without = (names: NodeNames, name: string): NodeNames =>
  names.length === 1 && names[0] === name ? NO_NODES : names.filter((one) => one !== name);
