/** What people call the peers that this tab has shown: the service forgets the name of a peer that has left. */

/** Bound: PEER_NAMES_MAX; then the one that was shown first is forgotten. */
const names = new Map<string, string>();
const PEER_NAMES_MAX = 1000;

/** No name of an application has a line break. */
const keyOf = (app: string, peer: string): string => `${app}\n${peer}`;

export function rememberPeer(app: string, peer: string, name: string | undefined): void {
  if (name === undefined || name === peer) return;
  names.delete(keyOf(app, peer));
  const [first] = names.keys();
  if (first !== undefined && names.size >= PEER_NAMES_MAX) names.delete(first);
  names.set(keyOf(app, peer), name);
}

export const peerName = (app: string, peer: string): string | undefined => names.get(keyOf(app, peer));
