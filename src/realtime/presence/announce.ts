/** What this node announces to other nodes: the members that a channel has through its own connections. */
import type { Clock } from "../../base/clock.ts";
import type { Engine, MemberState } from "../../engine/engine.ts";
import type { Channel } from "../state/channel.ts";
import type { Member } from "../state/member.ts";
import { forOthers } from "./between-nodes.ts";

/**
 * Stands for what would have been announced while there is no other node. The state itself is made when a node comes and asks
 * (occupancy.ts): until then only its `isArriving` is read.
 */
const SHOWN: MemberState = { peerId: "", metadataJson: undefined, since: 0, node: "" };
const ARRIVING: MemberState = { ...SHOWN, isArriving: true };

/** `announced` of a member stands for a state that no node was sent. */
export const isUnsent = (announced: MemberState | undefined): boolean => announced === SHOWN || announced === ARRIVING;

interface AnnounceParts {
  readonly engine: Engine;
  readonly clock: Clock;
}

/** Announces those of these members that differ from what was announced of them last. */
export function announce({ engine, clock }: AnnounceParts, channel: Channel, members: readonly Member[]): void {
  if (engine.isAlone) {
    for (const member of members) member.announced = unsentOf(member);
    return;
  }
  const joined: MemberState[] = [];
  const left: string[] = [];
  for (const member of members) {
    const state = member.toAnnounce();
    if (state ? sameState(state, member.announced) : !member.announced) continue;
    if (state) joined.push(forOthers(state, clock));
    else left.push(member.peer.peerId);
    member.announced = state;
  }
  if (joined.length + left.length > 0) engine.announce(channel.space.id, channel.name, joined, left);
}

function unsentOf(member: Member): MemberState | undefined {
  if (!member.hasSubscription || member.lingeringState) return member.toAnnounce();
  return member.isVisibleHere ? SHOWN : ARRIVING;
}

const sameState = (a: MemberState, b: MemberState | undefined): boolean =>
  b !== undefined &&
  a.metadataJson === b.metadataJson &&
  a.since === b.since &&
  a.node === b.node &&
  a.isArriving === b.isArriving &&
  a.isReturning === b.isReturning &&
  a.stateJson === b.stateJson &&
  a.keyId === b.keyId &&
  a.lingers?.why === b.lingers?.why &&
  a.lingers?.untilMs === b.lingers?.untilMs;
