/**
 * Removes what has ended, after a final verdict on it, so that the memory of a long run depends on what is open and not on its
 * length.
 */
import type { Connection, Destination, Subscription } from "./destinations.ts";
import type { Findings } from "./findings.ts";
import { judgeCursor } from "./history.ts";
import { judgeLeaves, judgeTrack, trackExpected } from "./judge.ts";
import type { Stream, Track } from "./stream.ts";

export function pruneEnded(
  destination: Destination,
  findings: Findings,
  all: readonly Connection[],
  beforeMs: number,
): void {
  // With history, a message whose outcome is unknown may be stored and delivered much later.
  const hasEnded = (stream: Stream): boolean =>
    endedBefore(all[stream.connection - 1], beforeMs) && (!destination.order || stream.open.isEmpty);
  const ended = destination.streams.filter(hasEnded);
  if (ended.length > 0) {
    for (const subscription of destination.subscriptions)
      if (subscription.isOpen) judgeSenders(subscription, ended, findings, all);
    for (const stream of ended) all[stream.connection - 1]?.streams.delete(destination);
    destination.streams = destination.streams.filter((stream) => !hasEnded(stream));
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
  ended: readonly Stream[],
  findings: Findings,
  all: readonly Connection[],
): void {
  for (const stream of ended) {
    trackExpected(subscription, stream);
    const track = subscription.tracks.get(stream);
    if (!track) continue;
    judgeTrack(subscription, stream, track, findings, all);
    subscription.tracks.delete(stream);
  }
}

/** A pending answer could still make a message lost or undone. A connection that has ended gets no more answers. */
function isDecided({ tracks }: Subscription, all: readonly Connection[]): boolean {
  const isFinal = (stream: Stream, track: Track): boolean =>
    !all[stream.connection - 1]?.isOpen || stream.unanswered.within(1, track.newest).isEmpty;
  for (const [stream, track] of tracks) if (!isFinal(stream, track)) return false;
  return true;
}

function judgeSubscription(subscription: Subscription, findings: Findings, all: readonly Connection[]): void {
  const { connection, destination, tracks } = subscription;
  for (const [stream, track] of tracks) judgeTrack(subscription, stream, track, findings, all);
  judgeCursor(subscription, findings, all);
  judgeLeaves(subscription, findings);
  tracks.clear();
  // An open connection keeps its ended subscription, because messages in flight at the unsubscribe may still arrive.
  if (!connection.isOpen) connection.subscriptions.delete(destination);
}
