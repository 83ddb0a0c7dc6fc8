/**
 * Which of a peer's connections is the newest, and so decides its metadata and its state. Every node MUST choose the same, or they
 * would show different things for good: rosters, states, lists over REST and of operators all compare with this.
 *
 * The order is total: times are unique on one node (Connections.connect), and the name of the node decides between connections that
 * two nodes have accepted at the same time. Names of nodes are the same everywhere, unlike the ids under which nodes know each other.
 */
import type { MemberState } from "../../engine/engine.ts";

/**
 * A connection, or what is left of it while its member lingers. A member that lingers is shown as its last connection: one that ended
 * while another was left counts after that other, or the metadata of a tab that was closed long ago would be shown again.
 */
export interface Aged {
  /** When it was made, Unix ms. */
  readonly since: number;
  readonly node: string;
  /** Present if it has ended. */
  readonly lingers?: { readonly hadOther?: true | undefined } | undefined;
}

/** It has a connection. */
export const isLive = ({ lingers }: Aged): boolean => lingers === undefined;

const hadOther = ({ lingers }: Aged): boolean => lingers?.hadOther === true;

/** A connection counts before none, however old it is. */
export function isNewer(one: Aged, than: Aged): boolean {
  if (isLive(one) !== isLive(than)) return isLive(one);
  if (hadOther(one) !== hadOther(than)) return hadOther(than);
  if (one.since !== than.since) return one.since > than.since;
  return one.node > than.node;
}

export const newestFirst = (one: Aged, other: Aged): number =>
  Number(isNewer(other, one)) - Number(isNewer(one, other));

/** The newest of these states of each peer. */
export function newestOfEach(states: Iterable<MemberState>): MemberState[] {
  const found = new Map<string, MemberState>();
  for (const state of states) {
    const known = found.get(state.peerId);
    if (!known || isNewer(state, known)) found.set(state.peerId, state);
  }
  return [...found.values()];
}
