/**
 * Which receivers have been shown everything about a member that may be shown at present. A change can stay pending for seconds
 * (until a pong comes, or because damping holds it back) while the peer sends hundreds of messages: without this, each of them
 * would look at every connection of its receiver, in every channel with a pending change.
 *
 * The record is invalidated when the member changes, when damping releases a change of it, when the channel is shown one (all of
 * these set `member.upToDate` to undefined), and when a subscription of the channel gets a roster (`channel.rostersWritten`).
 *
 * Bound: TARGETS_MAX per member with a pending change.
 */
import type { Member } from "./member.ts";
import type { Peer } from "./peer.ts";

/** Above this, the set is cleared and rebuilt. */
const TARGETS_MAX = 64;

export interface UpToDate {
  /** `channel.rostersWritten` at that time. */
  readonly rostersWritten: number;
  /** The peers whose connections are up to date; `undefined` if all subscribers are. Bound: TARGETS_MAX, then it begins anew. */
  readonly targets: Set<Peer> | undefined;
}

export function isUpToDateForAll({ upToDate, channel }: Member): boolean {
  return upToDate !== undefined && upToDate.targets === undefined && upToDate.rostersWritten === channel.rostersWritten;
}

export function isUpToDateFor({ upToDate, channel }: Member, target: Peer): boolean {
  if (upToDate?.rostersWritten !== channel.rostersWritten) return false;
  return upToDate.targets === undefined || upToDate.targets.has(target);
}

export function setUpToDateForAll(member: Member): void {
  member.upToDate = { rostersWritten: member.channel.rostersWritten, targets: undefined };
}

export function setUpToDateFor(member: Member, target: Peer): void {
  const { upToDate, channel } = member;
  const known = upToDate?.rostersWritten === channel.rostersWritten ? upToDate.targets : undefined;
  if (known && known.size < TARGETS_MAX) known.add(target);
  else member.upToDate = { rostersWritten: channel.rostersWritten, targets: new Set([target]) };
}
