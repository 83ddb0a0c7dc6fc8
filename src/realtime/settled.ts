/**
 * Which receivers have been shown everything that may be shown of a member at present. A member can wait for seconds (for a pong,
 * or because damping holds its change back) while its peer sends hundreds of messages: without this, each of them would look at
 * every connection of its receiver again, in every channel where something waits.
 *
 * It is void when the member changes, when damping releases it, when the channel is shown a change of it (all of these set
 * `member.settled` to undefined), and when a subscription of the channel has got a roster (`channel.pictures`).
 *
 * Bound: TARGETS_MAX per member that waits.
 */
import type { Member } from "./channel.ts";
import type { Identity } from "./space.ts";

/** With more, all are forgotten and looked at once more. */
const TARGETS_MAX = 64;

export interface Settled {
  /** `channel.pictures` at that time. */
  readonly pictures: number;
  /** The peers whose connections know; undefined: all subscribers do. */
  readonly targets: Set<Identity> | undefined;
}

export function isSettledForAll({ settled, channel }: Member): boolean {
  return settled !== undefined && settled.targets === undefined && settled.pictures === channel.pictures;
}

export function isSettledFor({ settled, channel }: Member, target: Identity): boolean {
  if (settled?.pictures !== channel.pictures) return false;
  return settled.targets === undefined || settled.targets.has(target);
}

export function settleForAll(member: Member): void {
  member.settled = { pictures: member.channel.pictures, targets: undefined };
}

export function settleFor(member: Member, target: Identity): void {
  const { settled, channel } = member;
  const known = settled?.pictures === channel.pictures ? settled.targets : undefined;
  if (known && known.size < TARGETS_MAX) known.add(target);
  else member.settled = { pictures: channel.pictures, targets: new Set([target]) };
}
