/**
 * How a channel is shown who is in it: rosters to newcomers, changes to everybody else. What is shown is the difference between
 * what was shown last and what is so now, as far as damping lets it through.
 */
import type { Engine } from "../engine/engine.ts";
import { announce } from "./announce.ts";
import { type Audience, isJoin, isReceived } from "./audience.ts";
import type { Change, Channel, Member, Subscription } from "./channel.ts";
import type { Damping } from "./damping.ts";
import type { RosterQueue } from "./roster-queue.ts";
import { changeFrames, writeMissed, writeRest, writeRosters } from "./rosters.ts";
import type { Broadcast } from "./socket.ts";

/** Whom a tick has rosters for: those who get it now, and those who have it and are told what they missed. */
export interface Tick {
  readonly newcomers: readonly Subscription[];
  readonly early: readonly Subscription[];
}

export interface ShowingParts {
  readonly engine: Engine;
  readonly broadcast: Broadcast;
  readonly damping: Damping;
  readonly audience: Audience;
  readonly queue: RosterQueue;
  readonly partMaxBytes: number;
  readonly tidy: (channel: Channel) => void;
  readonly count: { changes(n: number): void; frames(n: number): void };
}

export class Showing {
  constructor(private readonly parts: ShowingParts) {}

  /**
   * Writes rosters to newcomers, then the changes to those who listen, then lets the newcomers listen too; and those who have
   * their roster already, behind what they have missed. A message of `speaker` comes next. Without `tick`, only what is about
   * the speaker is written.
   */
  tell(channel: Channel, members: readonly Member[], speaker: Member | undefined, tick?: Tick): void {
    const { newcomers = [], early = [] } = tick ?? {};
    const held = new Set<Member>();
    const changes = this.show(channel, members, speaker, held);
    if (newcomers.length > 0) this.rosters(channel, newcomers);
    if (changes.length > 0) {
      this.parts.count.changes(changes.length);
      this.toListeners(channel, changes);
    }
    const heldAside = new Set<string>();
    for (const subscription of [...(channel.aside ?? [])])
      this.parts.audience.follow(subscription, changes, heldAside, speaker?.identity.peerId, tick !== undefined);
    for (const subscription of [...newcomers, ...early]) this.advance(subscription);
    announce(this.parts.engine, channel, members);
    for (const member of members) {
      member.settled = undefined;
      if (!held.has(member)) this.told(member);
      else if (!mayOweJoin(member)) stopWaiting(member);
    }
    this.noteHeld(channel, heldAside);
    this.parts.tidy(channel);
  }

  /** The changes that may be shown to the channel now, noted as shown. Members whose change must wait are added to `held`. */
  private show(
    channel: Channel,
    members: readonly Member[],
    speaker: Member | undefined,
    held: Set<Member>,
  ): readonly Change[] {
    const changes: Change[] = [];
    for (const member of members) {
      const { peerId } = member.identity;
      const before = member.shown;
      const after = member.entry();
      if (after === before) continue;
      if (!this.parts.damping.allows(channel, peerId, before, after, member === speaker)) {
        held.add(member);
        continue;
      }
      const change = { peerId, before, after };
      if (isReceived(member, change)) this.parts.damping.shown(channel, peerId, before, after);
      else this.parts.damping.unseen(channel, peerId);
      changes.push(change);
      member.shown = after;
    }
    return changes;
  }

  /** The rest of a roster, as far as its reader takes it; then what was missed, and from then on changes. */
  advance(subscription: Subscription): void {
    subscription.channel.pictures++;
    const isWritten = writeRest(subscription);
    this.parts.queue.wrote(subscription, isWritten);
    if (!isWritten || subscription.awaitsTick) return;
    writeMissed(subscription, this.parts.partMaxBytes);
    this.parts.audience.listen(subscription);
    const held = new Set<string>();
    this.parts.audience.follow(subscription, [], held);
    this.noteHeld(subscription.channel, held);
  }

  /** A subscription that stands aside does not know of a change of these yet; it must when they send a message. */
  private noteHeld(channel: Channel, peerIds: ReadonlySet<string>): void {
    for (const peerId of peerIds) {
      const member = channel.members.get(peerId);
      if (member && mayOweJoin(member)) note(member);
    }
  }

  /** A join that damping held back is shown when its own peer listens already, which must not be shown itself. */
  private toListeners(channel: Channel, changes: readonly Change[]): void {
    const { audience } = this.parts;
    const own = changes
      .filter(isJoin)
      .flatMap(({ peerId }) => channel.members.get(peerId)?.subscriptions.filter(({ listening }) => listening) ?? []);
    for (const subscription of own) audience.mute(subscription);
    if (channel.listeners > 0) this.broadcast(channel, changes);
    for (const subscription of own) {
      audience.write(subscription, changes);
      audience.listen(subscription);
    }
  }

  private broadcast(channel: Channel, changes: readonly Change[]): void {
    const frames = changeFrames(channel.json, changes, this.parts.partMaxBytes);
    this.parts.count.frames(channel.listeners * frames.length);
    for (const frame of frames) this.parts.broadcast(channel.presenceTopic, frame, undefined);
  }

  rosters(channel: Channel, newcomers: readonly Subscription[]): void {
    this.parts.count.frames(newcomers.length);
    writeRosters(channel, newcomers, this.parts.partMaxBytes);
  }

  /** Nothing about this member waits any more, unless one of its own connections still does. */
  private told(member: Member): void {
    const { channel } = member;
    if (member.isArriving) return;
    channel.changed.delete(member);
    stopWaiting(member);
    if (member.isGone) channel.forget(member);
  }
}

/** The state of this member may differ from what was shown. */
export function note(member: Member): void {
  member.settled = undefined;
  member.identity.waiting ??= new Set();
  member.identity.waiting.add(member);
  member.channel.changed.add(member);
}

/** A message of its peer brings nothing of it to light. */
function stopWaiting(member: Member): void {
  const { identity } = member;
  identity.waiting?.delete(member);
  if (identity.waiting?.size === 0) identity.waiting = undefined;
}

/**
 * Of a member whose change is held back: whether a message of its peer may still make a join necessary, for a receiver that
 * does not know of it. Nothing else of it may be shown before damping releases it (which notes it again), so it need not be
 * looked at with each message: a peer can have held changes in a hundred channels for seconds.
 */
function mayOweJoin(member: Member): boolean {
  return !member.isGone && (member.shown === undefined || member.channel.aside !== undefined);
}
