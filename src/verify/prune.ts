/**
 * Removes what has ended, after a final verdict on it: its sequences, its subscriptions and what they have received. Of a connection
 * only a small record remains, because marks name it by its number, and the times at which its subscriptions ended.
 */
import type { Connection, Destination, Subscription } from "./destinations.ts";
import type { Findings } from "./findings.ts";
import { judgeCursor } from "./history.ts";
import { judgeLeaves, judgeTrack, trackExpected } from "./judge.ts";
import type { MessageSequence, Track } from "./sequence.ts";

export function pruneEnded(
  destination: Destination,
  findings: Findings,
  all: readonly Connection[],
  beforeMs: number,
): void {
  // With history, a message whose outcome is unknown may be stored and delivered much later.
  const hasEnded = (sequence: MessageSequence): boolean =>
    endedBefore(all[sequence.connection - 1], beforeMs) && (!destination.order || sequence.open.isEmpty);
  const ended = destination.sequences.filter(hasEnded);
  if (ended.length > 0) {
    for (const subscription of destination.subscriptions)
      if (subscription.isOpen) judgeSenders(subscription, ended, findings, all);
    for (const sequence of ended) all[sequence.connection - 1]?.sequences.delete(destination);
    destination.sequences = destination.sequences.filter((sequence) => !hasEnded(sequence));
  }
  const decided = destination.subscriptions.filter(
    (subscription) => endedBefore(subscription, beforeMs) && isDecided(subscription, all),
  );
  if (decided.length === 0) return;
  for (const subscription of decided) judgeSubscription(subscription, findings, all);
  const dropped = new Set(decided);
  destination.subscriptions = destination.subscriptions.filter((subscription) => !dropped.has(subscription));
}

const endedBefore = (one: { readonly endedMs: number | undefined } | undefined, beforeMs: number): boolean =>
  one?.endedMs !== undefined && one.endedMs < beforeMs;

/** Judges what an open subscription has received from senders whose connections ended. */
function judgeSenders(
  subscription: Subscription,
  ended: readonly MessageSequence[],
  findings: Findings,
  all: readonly Connection[],
): void {
  for (const sequence of ended) {
    trackExpected(subscription, sequence);
    const track = subscription.tracks.get(sequence);
    if (!track) continue;
    judgeTrack(subscription, sequence, track, findings, all);
    subscription.tracks.delete(sequence);
  }
}

/** A pending answer could still make a message lost or undone. A connection that has ended gets no more answers. */
function isDecided({ tracks }: Subscription, all: readonly Connection[]): boolean {
  const isFinal = (sequence: MessageSequence, track: Track): boolean =>
    !all[sequence.connection - 1]?.isOpen || sequence.unanswered.within(1, track.newest).isEmpty;
  for (const [sequence, track] of tracks) if (!isFinal(sequence, track)) return false;
  return true;
}

function judgeSubscription(subscription: Subscription, findings: Findings, all: readonly Connection[]): void {
  const { connection, destination, tracks } = subscription;
  for (const [sequence, track] of tracks) judgeTrack(subscription, sequence, track, findings, all);
  judgeCursor(subscription, findings, all);
  judgeLeaves(subscription, findings);
  tracks.clear();
  // An open connection keeps its ended subscription, because messages in flight at the unsubscribe may still arrive.
  if (!connection.isOpen) connection.subscriptions.delete(destination);
}
