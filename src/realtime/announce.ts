/** What this node announces to other nodes: the members that a channel has through its own connections. */
import type { Engine, MemberState } from "../engine/engine.ts";
import type { Channel } from "./channel.ts";
import type { Member } from "./member.ts";

/**
 * In place of what was announced of a member while there is no other node: it would have been. What, is found out when a node comes
 * and asks (occupancy.ts).
 */
export const SENT_TO_NO_ONE: MemberState = { peerId: "", metadataJson: undefined, since: 0 };

/** Announces those of these members that differ from what was announced of them last. */
export function announce(engine: Engine, channel: Channel, members: readonly Member[]): void {
  if (engine.isAlone) {
    for (const member of members)
      member.announced = member.hasSubscription && !member.stay ? SENT_TO_NO_ONE : member.toAnnounce();
    return;
  }
  const joined: MemberState[] = [];
  const left: string[] = [];
  for (const member of members) {
    const state = member.toAnnounce();
    if (state ? sameState(state, member.announced) : !member.announced) continue;
    if (state) joined.push(state);
    else left.push(member.peer.peerId);
    member.announced = state;
  }
  if (joined.length + left.length > 0) engine.announce(channel.space.app, channel.name, joined, left);
}

const sameState = (a: MemberState, b: MemberState | undefined): boolean =>
  b !== undefined &&
  a.metadataJson === b.metadataJson &&
  a.since === b.since &&
  a.isArriving === b.isArriving &&
  a.isReturning === b.isReturning &&
  a.stateJson === b.stateJson &&
  a.keyId === b.keyId &&
  a.lingers?.why === b.lingers?.why &&
  a.lingers?.untilMs === b.lingers?.untilMs;
