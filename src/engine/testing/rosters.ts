/** For tests: members of a channel by node, in a form that can be compared. */
import type { MemberState, NodeId } from "../engine.ts";

const byPeer = (a: MemberState, b: MemberState): number => (a.peerId < b.peerId ? -1 : 1);

/** A roster that can be compared: without empty nodes, in a fixed order. */
export const plain = (members: Iterable<readonly [NodeId, Map<string, MemberState> | readonly MemberState[]]>) =>
  Object.fromEntries(
    [...members]
      .map(([node, states]) => [node, [...states.values()].sort(byPeer)] as const)
      .filter(([, states]) => states.length > 0)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  ) as Record<NodeId, MemberState[]>;
