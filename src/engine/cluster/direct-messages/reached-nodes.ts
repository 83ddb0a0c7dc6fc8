/**
 * On which other nodes a peer has connections, as far as their receipts have said. The servers deliver a direct message to the nodes
 * that are connected to them at that moment: one that reconnects misses it, and no one would notice. So a message is not known to be
 * delivered to all connections of its receiver before each of these nodes has answered.
 */

/** Bound: receivers whose nodes are remembered; the oldest is forgotten first. */
const REACHED_MAX = 20_000;

/** Names of nodes. Never changed, so that messages that wait can share one. */
export type NodeNames = readonly string[];

/** Bound: it never grows. */
const NO_NODES: NodeNames = [];

export class ReachedNodes {
  /** By subject of the receiver. Bound: REACHED_MAX; the oldest is forgotten. */
  private readonly bySubject = new Map<string, NodeNames>();

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
    if (!names && this.bySubject.size >= REACHED_MAX)
      for (const oldest of this.bySubject.keys().take(1)) this.bySubject.delete(oldest);
    this.bySubject.set(subject, names ? [...names.filter(this.isThere), name] : [name]);
  }

  /** It has no connection of the peer any more. */
  remove(subject: string, name: string): void {
    const names = this.bySubject.get(subject);
    if (!names?.includes(name)) return;
    if (names.length > 1) this.bySubject.set(subject, without(names, name));
    else this.bySubject.delete(subject);
  }
}

export const without = (names: NodeNames, name: string): NodeNames =>
  names.length === 1 && names[0] === name ? NO_NODES : names.filter((one) => one !== name);
